/** Variables that a deployment of a target gets, decrypted. Branch variables override general ones, which override shared ones. */
import type { Static } from 'typebox'
import type { Ctx, Input } from '../../context.ts'
import { environmentsOf, TargetName } from '../../model/environment.ts'
import type { Row } from '../../platform/db/schema.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { Type } from '../../platform/schema/builder.ts'
import { isReadable, isVisible, mustHaveTargetPermission } from '../env/access.ts'
import { findTarget, parseTargets } from '../env/rules.ts'
import { MAX_BRANCH_LENGTH, TARGETS, type Target, targetsIn } from '../env/schema.ts'
import { writeDotenv } from './dotenv.ts'
import { readVariables } from './variables.ts'

const Variables = Type.Unsafe<Record<string, string>>(Type.Object({}, { additionalProperties: Type.String() }))
export const PulledEnv = Type.Object({
  env: Variables,
  buildEnv: Variables,
  omitted: Type.Array(Type.String(), {
    description:
      'keys without a value here: write-only ones, those that the platform sets in a deployment, and those of production ' +
      'that the caller may not decrypt',
  }),
})
export const PullQuery = Type.Object({ source: Type.Optional(Type.String({ maxLength: 256 })) })
export const EnvExportQuery = Type.Object({
  target: TargetName,
  gitBranch: Type.Optional(Type.String({ maxLength: MAX_BRANCH_LENGTH })),
})

/**
 * Returns the decrypted values of a target, by default development. Lists write-only and undecryptable values in `omitted`, and
 * never sends them as "". A variable with production among its targets counts as production. Refuses: not_found 404 (no such
 * target), missing_permission 403 (production), internal_server_error 500 (a value does not open: a response without it would
 * break a deployment).
 */
export async function pullEnv(ctx: Ctx, project: Row<'project'>, { params }: Input): Promise<Static<typeof PulledEnv>> {
  const name = params.target ?? 'development'
  const target = findTarget(project, name)
  if (target === undefined) {
    const names = [...TARGETS, ...environmentsOf(project).map(({ slug }) => slug)]
    refuse('not_found', `There is no environment "${name.slice(0, 100)}"; there are ${names.join(', ')}.`)
  }
  return { ...(await readTarget(ctx, project, target, params.gitBranch ?? '')), buildEnv: {} }
}

/** Returns the same as `.env` text. Refuses as `pullEnv` does, but an unknown environment with bad_request 400. */
export async function exportEnv(
  ctx: Ctx,
  project: Row<'project'>,
  { query }: Input<Static<typeof EnvExportQuery>>,
): Promise<string> {
  const [target] = parseTargets(project, [query.target], 'target')
  const { env, omitted } = await readTarget(ctx, project, target!, query.gitBranch ?? '')
  return writeDotenv(env, omitted)
}

async function readTarget(ctx: Ctx, project: Row<'project'>, target: Target, gitBranch: string) {
  if (gitBranch.length > MAX_BRANCH_LENGTH)
    refuse('bad_request', 'Invalid request: `gitBranch` is at most 250 characters.')
  mustHaveTargetPermission(ctx.caller, [target])
  const variables = await readVariables(ctx, project, target, gitBranch, (row) => isVisible(ctx.caller, row))
  const env: Record<string, string> = Object.create(null)
  const omitted: string[] = []
  for (const { key, row, open } of variables) {
    if (!isReadable(ctx.caller, row)) {
      omitted.push(key)
      continue
    }
    const value = open()
    if (value === undefined) refuse('internal_server_error')
    ctx.recordSecretRead(targetsIn(row))
    env[key] = value
  }
  return { env, omitted }
}
