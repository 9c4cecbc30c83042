/** Password of a protected project, hashed before the transaction. docs/edge.md. */
import type { Ctx, Input } from '../../context.ts'
import type { Row } from '../../platform/db/schema.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { type ConnectedRepository, connectNewProject, undoConnect } from '../links/connect.ts'
import type { CreateProject, UpdateProject } from './schema.ts'

export type PreparedProject = { hash: string | undefined; connected: ConnectedRepository | undefined }

/**
 * Hashes the password of a new project and connects its repository, before the transaction; the external call comes last.
 * Refuses: as `connectNewProject`, and bad_request 400 (a protection without its password).
 */
export async function prepareProject(
  ctx: Ctx,
  _: undefined,
  input: Input<unknown, CreateProject>,
): Promise<PreparedProject> {
  const hash = await hashProjectPassword(ctx, undefined, input)
  return { hash, connected: await connectNewProject(ctx, undefined, input) }
}

/** Undoes the connection of a project that was not written. */
export async function undoProject(ctx: Ctx, prepared: PreparedProject | undefined): Promise<void> {
  await undoConnect(ctx, prepared?.connected)
}

/** Hashes a protection password; undefined without one. Refuses: bad_request 400; rate_limited 429 (platform/adapters/passwords.ts). */
export async function hashProjectPassword(
  ctx: Ctx,
  project: Pick<Row<'project'>, 'password_hash'> | undefined,
  { body }: Input<unknown, Pick<UpdateProject, 'passwordProtection'>>,
): Promise<string | undefined> {
  if (!body.passwordProtection) return undefined
  const { password } = body.passwordProtection
  if (password) return ctx.deps.adapters.passwords.hash(password, { kind: 'account', owner: ctx.account.id })
  mustHavePassword(project)
  return undefined
}

/** Checks that a protected project has a password. Refuses: bad_request 400. */
export function mustHavePassword(project: Pick<Row<'project'>, 'password_hash'> | undefined): void {
  if (project && project.password_hash !== null) return
  refuse('bad_request', 'Invalid request: missing required property `passwordProtection.password`.')
}

/** Removes the password from protection settings. */
export function withoutPassword<T>(protection: { deploymentType: T } | null): { deploymentType: T } | null {
  return protection && { deploymentType: protection.deploymentType }
}
