/** Imports a `.env` text into the variables, merging or replacing, all or nothing. The response is the plan; a dry run only plans. */
import { hash } from 'node:crypto'
import type { Static } from 'typebox'
import type { Ctx, Input } from '../../context.ts'
import { newId } from '../../platform/base/ids.ts'
import { createYielder } from '../../platform/db/chunks.ts'
import type { Row } from '../../platform/db/schema.ts'
import { Refusal, refuse } from '../../platform/refusals/refusal.ts'
import { openSecretBox, openSecretBoxToWrite, type SecretBox } from '../../platform/secrets/data-keys.ts'
import { READERS } from '../../readers.ts'
import { isVisible, mustHaveTargetPermission, mustHaveWritePermission } from '../env/access.ts'
import { type PreparedPlan, planOf, preparePlan } from '../env/prepare.ts'
import { type Draft, effectiveType, isSystemKey, parseTargets, validateVariable } from '../env/rules.ts'
import { MAX_VARIABLES, showTargets, type Target, targetsIn } from '../env/schema.ts'
import {
  conflictingVariables,
  findByKeys,
  isSameValue,
  overlap,
  type Plan,
  planUpsert,
  storePlan,
  upsertedType,
} from '../env/upsert.ts'
import { addIfFits, differenceOf, readUsage } from '../env/usage.ts'
import { type BadLine, parseDotenv, reasonLeftOut } from './dotenv.ts'
import type { ImportAnswer, ImportQuery } from './schema.ts'

type ImportInput = Input<Static<typeof ImportQuery>, string>
type Keys = Static<typeof ImportAnswer>['plan']
type Variable = Row<'env_var'>

type ImportPlan = { targets: readonly Target[]; keys: Keys; digest: string; upsert: Plan | undefined }

/** A value has at most 65,536 bytes, so further lines can only be comments or refused. */
const MAX_LINES = READERS['env file'].parts

/**
 * Reads the variables of a text, its bad lines and skipped keys: `vercel env pull` also writes platform variables, which each
 * deployment gets anyway. Stops reading above the limits. Refuses: env_too_many 400.
 */
function readEntries(text: string): ReturnType<typeof parseDotenv> & { skipped: string[] } {
  const { entries, bad } = parseDotenv(text, { lines: MAX_LINES, variables: MAX_VARIABLES })
  if (entries.length > MAX_VARIABLES) refuse('env_too_many')
  const skipped = entries.filter(({ key }) => isSystemKey(key)).map(({ key }) => key)
  return { entries: entries.filter(({ key }) => !isSystemKey(key)), bad, skipped }
}

/** Plans the import of many lines before its transaction. Refuses: env_too_many 400. */
export async function prepareImport(
  ctx: Ctx,
  project: Row<'project'>,
  { body, query }: ImportInput,
): Promise<PreparedPlan<ImportPlan> | undefined> {
  const ids = readEntries(body).entries.map(() => newId('env'))
  return preparePlan(ctx, project, ids, (box) => planImport(ctx, box, project, body, query, ids))
}

/**
 * Merges a `.env` text into the variables of these targets (and branch), or replaces them. Variables shared with other targets
 * keep their value there. Replacing keeps variables of integrations. Refuses: bad_request 400 (no such environment; the number of
 * every bad line), what no variable may be, env_already_exists 403, env_limit 400, missing_permission 403, env_plan_changed 409
 * (the plan is not the one of `planDigest`).
 */
export async function importEnvFile(
  ctx: Ctx,
  project: Row<'project'>,
  { body, query }: ImportInput,
  prepared: PreparedPlan<ImportPlan> | undefined,
): Promise<Static<typeof ImportAnswer>> {
  const { mode = 'merge', gitBranch = '', dryRun = false } = query
  const box = await (dryRun ? openSecretBox : openSecretBoxToWrite)(ctx, project.id, prepared?.box)
  const make = () => planImport(ctx, box, project, body, query, prepared?.ids)
  const { targets, keys, digest, upsert } = await planOf(ctx, project, box, prepared, make)
  if (!dryRun && query.planDigest !== undefined && query.planDigest !== digest) refuse('env_plan_changed')
  const outcomes = upsert === undefined ? [] : await storePlan(ctx, project, upsert)
  for (const outcome of outcomes) if ('failed' in outcome) refuse(outcome.failed, undefined, outcome.error)
  const answer = { mode, ...showTargets(targets), ...(gitBranch !== '' && { gitBranch }), dryRun, plan: keys }
  return { ...answer, ...(dryRun && { planDigest: digest }) }
}

/** Plans an import. Refuses everything that the import would, so that a dry run reports it too. */
async function planImport(
  ctx: Ctx,
  box: SecretBox,
  project: Row<'project'>,
  body: string,
  query: ImportInput['query'],
  ids: readonly string[] = [],
): Promise<ImportPlan> {
  const { mode = 'merge', gitBranch = '', dryRun = false } = query
  const targets = parseTargets(project, query.target.split(','), 'target')
  mustHaveTargetPermission(ctx.caller, targets)
  const { lines, existing, skipped } = await readLines(ctx, project, body, targets, query, ids)
  if (lines.length === 0 && mode === 'replace') {
    refuse(
      'bad_request',
      'Invalid request: an empty text would remove every variable; delete them by their ids instead.',
    )
  }
  const surplus = mode === 'merge' ? [] : await findSurplus(ctx, box, project, lines, targets, gitBranch)
  const removed = [...new Set(surplus.map((row) => row.key))]
  const keys: Keys = { created: [], updated: [], removed, unchanged: [], ...(skipped.length > 0 && { skipped }) }
  const changed: Line[] = []
  const pace = createYielder()
  for (const line of lines) {
    await pace()
    const same = isSame(box, line, targets)
    keys[same ? 'unchanged' : line.holders.length > 0 ? 'updated' : 'created'].push(line.draft.key)
    if (!same) changed.push(line)
  }
  await mustFitTogether(ctx, project, changed, surplus, targets)
  const digest = digestOf([mode, targets, gitBranch, keys], [...surplus, ...lines.flatMap(({ holders }) => holders)])
  if (dryRun) return { targets, keys, digest, upsert: undefined }
  // Deletions and reductions come first, so that no limit is exceeded temporarily.
  const drafts = [...changed.filter(shrinks), ...changed.filter((line) => !shrinks(line))].map(({ draft }) => draft)
  const withdrawn = surplus.map((row) => ({ row, targets }))
  await ctx.countRows(withdrawn.length + drafts.length)
  const upsert = await planUpsert(ctx, box, project, { drafts, replace: true, existing, withdrawn })
  return { targets, keys, digest, upsert }
}

/** Hashes a plan and the versions of the variables in its slots, which change with every update. It contains no value. */
function digestOf(plan: unknown, places: readonly Variable[]): string {
  const versions = new Set(places.map(({ id, version }) => `${id} ${version}`))
  return hash('sha256', JSON.stringify([plan, [...versions].sort()]), 'base64url')
}

type Line = { draft: Draft; holders: Variable[] }

/** Returns whether existing variables have the line's value in all targets. */
function isSame(box: SecretBox, { draft, holders }: Line, targets: readonly Target[]): boolean {
  const targetsHeld = new Set(holders.flatMap(targetsIn))
  return (
    targets.every((target) => targetsHeld.has(target)) && holders.every((row) => isSameValue(box, row, draft.value))
  )
}

function shrinks({ draft, holders }: Line): boolean {
  return holders.length > 0 && holders.every((row) => Buffer.byteLength(draft.value) <= row.value_bytes)
}

/** Refuses: env_limit 400, if the lines do not fit in place of the variables that they replace. */
async function mustFitTogether(
  ctx: Ctx,
  project: Row<'project'>,
  changed: readonly Line[],
  surplus: readonly Variable[],
  targets: readonly Target[],
): Promise<void> {
  const replaced = [...surplus, ...changed.flatMap(({ holders }) => holders)]
  const leaving = replaced.map(({ targets: all, value_bytes }) => {
    return { before: { targets: overlap({ targets: all }, targets).join(','), value_bytes } }
  })
  const coming = changed.map(({ draft }) => {
    return { after: { targets: targets.join(','), value_bytes: Buffer.byteLength(draft.value) } }
  })
  if (!addIfFits(await readUsage(ctx, project.id), differenceOf([...leaving, ...coming]))) refuse('env_limit')
}

/**
 * Reads the lines of a text with the variables that they replace. Checks permissions before values, because a plan or an error
 * could confirm a guess. Then reports every invalid line by the rules for text, keys and values, which depend on the stored type.
 */
async function readLines(
  ctx: Ctx,
  project: Row<'project'>,
  text: string,
  targets: Target[],
  { gitBranch = '', type = 'encrypted' }: ImportInput['query'],
  ids: readonly string[],
): Promise<{ lines: Line[]; existing: Variable[]; skipped: string[] }> {
  const { entries, bad, skipped } = readEntries(text)
  const existing = await findByKeys(ctx, project.id, entries)
  const byKey = Map.groupBy(existing, (row) => row.key)
  const lines = entries.map(({ key, value }, at): Line => {
    const id = ids[at] ?? newId('env')
    const draft: Draft = { id, key, value, type, keepType: true, targets, gitBranch, extras: {} }
    const holders = conflictingVariables(byKey.get(key), draft)
    return { draft: { ...draft, type: effectiveType(ctx.account, upsertedType(draft, holders), targets) }, holders }
  })
  for (const line of lines) mustReplace(ctx, line)
  for (const [at, { line }] of entries.entries()) {
    const message = reasonAgainst(lines[at]!.draft)
    if (message !== undefined) bad.push({ line, message: `is refused: ${message}` })
  }
  if (bad.length > 0) refuseLines(bad)
  return { lines, existing, skipped }
}

function mustReplace(ctx: Ctx, { draft, holders }: Line): void {
  if (holders.some((row) => !isVisible(ctx.caller, row))) refuse('env_already_exists', undefined, { key: draft.key })
  for (const row of holders) mustHaveWritePermission(ctx.caller, row)
}

function reasonAgainst(draft: Draft): string | undefined {
  try {
    validateVariable(draft)
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    return error.message.replace(/\.$/, '')
  }
  return undefined
}

function refuseLines(bad: BadLine[]): never {
  const lines = bad.sort((a, b) => a.line - b.line).slice(0, 100)
  const sentences = lines.slice(0, 3).map(({ line, message }) => `line ${line} ${message}`)
  const more = bad.length > 3 ? `; and ${bad.length - 3} more` : ''
  const extra = lines.map(({ line, message }) => ({ line, message: `${message}.` }))
  refuse('bad_request', `Invalid request: ${sentences.join('; ')}${more}.`, { lines: extra })
}

/** Visible variables in these slots that the text lacks. Those that an export omits stay, so that exported text can be imported again. */
async function findSurplus(
  ctx: Ctx,
  box: SecretBox,
  project: Row<'project'>,
  lines: readonly Line[],
  targets: Target[],
  gitBranch: string,
): Promise<Variable[]> {
  const named = new Set(lines.map(({ draft }) => draft.key))
  const rows = await ctx.db
    .selectFrom('env_var')
    .selectAll()
    .where('project_id', '=', project.id)
    .where('git_branch', '=', gitBranch)
    .orderBy('key')
    .execute()
  const own = rows.filter(
    (row) => row.configuration_id === ctx.caller.installationId && overlap(row, targets).length > 0,
  )
  const carried = ({ type, id, value_version, sealed_value }: Variable) =>
    type !== 'sensitive' &&
    type !== 'system' &&
    reasonLeftOut(box.open(id, value_version, sealed_value) ?? '\r') === undefined
  const surplus = own.filter((row) => !named.has(row.key) && carried(row))
  for (const row of surplus) mustHaveWritePermission(ctx.caller, row)
  return surplus
}
