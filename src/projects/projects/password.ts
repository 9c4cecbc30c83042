/** The password that protects a project: hashed before the transaction, kept as a hash. docs/edge.md. */
import type { Ctx, Input } from '../../context.ts'
import type { Row } from '../../platform/db/schema.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { type ConnectedRepository, connectNewProject, undoConnect } from '../links/connect.ts'
import type { CreateProject, UpdateProject } from './schema.ts'

/** What a create did before its transaction. */
export type PreparedProject = { hash: string | undefined; connected: ConnectedRepository | undefined }

/**
 * Before the transaction of a create: hashes the password, and connects the repository, which reaches outside and so comes last.
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

/** The project was not written: what was connected for it is not needed. */
export async function undoProject(ctx: Ctx, prepared: PreparedProject | undefined): Promise<void> {
  await undoConnect(ctx, prepared?.connected)
}

/** Hashes a new protection password, before the transaction. Undefined when the request sets none. Refuses: bad_request 400; rate_limited 429 (platform/adapters/passwords.ts). */
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

/** Refuses: bad_request 400. */
export function mustHavePassword(project: Pick<Row<'project'>, 'password_hash'> | undefined): void {
  if (project && project.password_hash !== null) return
  refuse('bad_request', 'Invalid request: missing required property `passwordProtection.password`.')
}

/** What the settings keep of a protection: all but its password. */
export function withoutPassword<T>(protection: { deploymentType: T } | null): { deploymentType: T } | null {
  return protection && { deploymentType: protection.deploymentType }
}
