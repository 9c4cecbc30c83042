/** Rules for variables, from the request to the stored form. docs/spec/decisions.md: Environment variables; docs/spec/reliability.md T11, T12. */
import type { Account, Ctx } from '../../context.ts'
import type { RefusalKey } from '../../errors.ts'
import { environmentOf, environmentsOf } from '../../model/environment.ts'
import { newId } from '../../platform/base/ids.ts'
import type { Row } from '../../platform/db/schema.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { mustHaveTargetPermission } from './access.ts'
import { type EnvType, isStandard, MAX_VARIABLES, type NewVariable, TARGETS, type Target } from './schema.ts'

const KEY_LENGTH = 256
const VALUE_BYTES = 64 * 1024
const KEY = /^[A-Za-z_][A-Za-z0-9_]*$/

/** Variables of the platform: the values that a `system` variable may have, and reserved keys. */
const SYSTEM_VARIABLES = new Set(
  'VERCEL VERCEL_ENV VERCEL_TARGET_ENV VERCEL_URL VERCEL_BRANCH_URL VERCEL_PROJECT_PRODUCTION_URL VERCEL_REGION VERCEL_DEPLOYMENT_ID VERCEL_PROJECT_ID VERCEL_SKEW_PROTECTION_ENABLED VERCEL_AUTOMATION_BYPASS_SECRET VERCEL_OIDC_TOKEN VERCEL_GIT_PROVIDER VERCEL_GIT_REPO_SLUG VERCEL_GIT_REPO_OWNER VERCEL_GIT_REPO_ID VERCEL_GIT_COMMIT_REF VERCEL_GIT_COMMIT_SHA VERCEL_GIT_COMMIT_MESSAGE VERCEL_GIT_COMMIT_AUTHOR_LOGIN VERCEL_GIT_COMMIT_AUTHOR_NAME VERCEL_GIT_PREVIOUS_SHA VERCEL_GIT_PULL_REQUEST_ID'.split(
    ' ',
  ),
)
/** These inject code into every process, or poison an object; library paths do not. docs/spec/decisions.md: Environment variables. */
const DANGEROUS = new Set('__proto__ LD_PRELOAD LD_AUDIT DYLD_INSERT_LIBRARIES'.split(' '))

/** Returns whether a key is a platform variable, which every deployment gets. */
export function isSystemKey(key: string): boolean {
  return SYSTEM_VARIABLES.has(key)
}

export const VARIABLE_REFUSALS = [
  'env_key_characters',
  'env_key_length',
  'env_key_reserved',
  'env_value_length',
  'env_system_value',
  'env_missing_target',
  'bad_request',
] as const satisfies readonly RefusalKey[]

/** Returns the type of a variable: a team policy may force `sensitive`. docs/accounts.md: Team settings. */
export function effectiveType(account: Account, type: EnvType, targets: readonly Target[]): EnvType {
  const isSensitive = account.sensitiveEnv && type !== 'system' && targets.some((target) => target !== 'development')
  return isSensitive ? 'sensitive' : type
}

export const CREATE_ENV_REFUSALS = [
  ...VARIABLE_REFUSALS,
  'missing_permission',
  'env_too_many',
  'env_already_exists',
  'env_limit',
] as const satisfies readonly RefusalKey[]

export type VariableInput = {
  key: string
  value: string
  type: EnvType
  targets: Target[]
  gitBranch: string
}

export type Extras = {
  comment: string | null
  edge_config_id: string | null
  edge_config_token_id: string | null
  content_hint_json: string | null
}

export type Draft = VariableInput & {
  id: string
  extras: Partial<Extras>
  /** The request has no type, so an existing variable keeps its own. */
  keepType: boolean
}

/**
 * Returns the drafts of a request that creates variables. One invalid item refuses the request and is named. `ids`: prepared ids.
 * Refuses: env_too_many 400, what no variable may be, missing_permission 403.
 */
export function createDrafts(
  ctx: Ctx,
  project: Row<'project'>,
  body: NewVariable | readonly NewVariable[],
  ids: readonly string[] = [],
): Draft[] {
  const many = Array.isArray(body)
  const items: readonly NewVariable[] = many ? body : [body as NewVariable]
  if (items.length > MAX_VARIABLES) refuse('env_too_many')
  return items.map((item, at) => {
    const where = many ? `Item ${at}: ` : ''
    const input = draftOf(project, item, where, ids[at])
    const draft = { ...input, type: effectiveType(ctx.account, input.type, input.targets) }
    validateVariable(draft, where)
    mustHaveTargetPermission(ctx.caller, draft.targets)
    return draft
  })
}

/** Returns the draft of an item. The default type is `encrypted`; no or an empty branch means every branch. Refuses as `targetsOf` does. */
export function draftOf(project: Row<'project'>, item: NewVariable, where = '', id: string = newId('env')): Draft {
  return {
    id,
    key: item.key,
    value: item.value,
    type: item.type ?? 'encrypted',
    keepType: item.type === undefined,
    targets: targetsOf(project, item, where),
    gitBranch: item.gitBranch ?? '',
    extras: {
      ...(item.comment !== undefined && { comment: item.comment || null }),
      ...(item.edgeConfigId !== undefined && { edge_config_id: item.edgeConfigId }),
      ...(item.edgeConfigTokenId !== undefined && { edge_config_token_id: item.edgeConfigTokenId }),
      ...(item.contentHint !== undefined && {
        content_hint_json: item.contentHint && JSON.stringify(item.contentHint),
      }),
    },
  }
}

/** Checks the rules for a variable. `where`: its position among several. Refuses: VARIABLE_REFUSALS, all 400, naming key and field. */
export function validateVariable(input: VariableInput, where = ''): void {
  const { key, value, type, targets } = input
  const start = key.slice(0, 100)
  const extra = { key: start, envVarKey: start }
  if (key === '' || key.length > KEY_LENGTH) {
    refuse('env_key_length', `${where}The key of a variable is 1 to ${KEY_LENGTH} characters.`, extra)
  }
  if (!KEY.test(key)) {
    refuse(
      'env_key_characters',
      `${where}The key ${JSON.stringify(start)} should be letters, digits and "_", and not begin with a digit.`,
      extra,
    )
  }
  if (DANGEROUS.has(key) || (isSystemKey(key) && type !== 'system')) {
    refuse('env_key_reserved', `${where}The key "${start}" is reserved.`, extra)
  }
  if (Buffer.byteLength(value) > VALUE_BYTES) {
    refuse('env_value_length', `${where}The value of "${start}" is more than 64 KiB of UTF-8.`, extra)
  }
  if (type === 'system' && !SYSTEM_VARIABLES.has(value)) {
    refuse(
      'env_system_value',
      `${where}The value of "${start}" should be the name of a platform variable such as VERCEL_URL.`,
      extra,
    )
  }
  if (targets.length === 0) refuse('env_missing_target', undefined, extra)
  mustBePlaced(input, where)
}

function mustBePlaced({ key, type, targets, gitBranch }: VariableInput, where: string): void {
  const start = key.slice(0, 100)
  if (gitBranch !== '' && !(targets.length === 1 && targets[0] === 'preview')) {
    refuse('bad_request', `Invalid request: ${where}\`gitBranch\` of "${start}" goes with the target preview only.`)
  }
  if (type === 'sensitive' && targets.includes('development')) {
    refuse(
      'bad_request',
      `Invalid request: ${where}"${start}" is sensitive (by its type, or because the team makes all of production and preview so), which does not go with development.`,
    )
  }
}

type TargetInput = Pick<NewVariable, 'target' | 'customEnvironmentIds' | 'customEnvironmentId'>

/**
 * Returns the distinct targets of a request in a fixed order. A single standard target may be a plain string, and a custom
 * environment its slug. `where`: position among several. Refuses: bad_request 400 (a custom environment that the project does not
 * have).
 */
function targetsOf(
  project: Row<'project'>,
  { target, customEnvironmentIds, customEnvironmentId }: TargetInput,
  where = '',
): Target[] {
  const named = new Set<string>([target ?? []].flat())
  for (const id of [...(customEnvironmentIds ?? []), ...(customEnvironmentId ? [customEnvironmentId] : [])]) {
    const environment = environmentOf(project, id)
    if (environment === undefined) refuseUnknown(`${where}\`customEnvironmentIds\``, id)
    named.add(environment.id)
  }
  return inOrder(project, named)
}

/** Returns the targets of a query; custom environments by slug or id. `field`: the parameter. Refuses: bad_request 400 (unknown target). */
export function parseTargets(project: Row<'project'>, names: readonly string[], field: string): Target[] {
  const named = names.map((name) => findTarget(project, name) ?? refuseUnknown(`\`${field}\``, name))
  return inOrder(project, new Set(named))
}

function refuseUnknown(field: string, name: string): never {
  refuse('bad_request', `Invalid request: ${field} names "${name.slice(0, 100)}", which the project does not have.`)
}

/** Returns a standard target, or a custom environment by slug or id; undefined if unknown. */
export function findTarget(project: Row<'project'>, name: string): Target | undefined {
  return isStandard(name) ? name : environmentOf(project, name)?.id
}

function inOrder(project: Row<'project'>, named: ReadonlySet<string>): Target[] {
  const all = [...TARGETS, ...environmentsOf(project).map(({ id }) => id)]
  return all.filter((target) => named.has(target))
}
