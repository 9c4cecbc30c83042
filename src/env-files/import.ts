/**
 * A whole `.env` text at once: merged into what is there, or in its place. All of it happens or nothing; the answer is the
 * plan, and a dry run gives the plan alone.
 */
import type { Static } from 'typebox'
import type { Ctx, Input } from '../context.ts'
import type { Row } from '../db/schema.ts'
import { findByKeys, giveUp, isSameValue, overlap, type PutDraft, putVariables, typeFor } from '../env/put.ts'
import { isVisible, mustBeVariable, mustChange, mustTouch, targetsNamed, typeIn } from '../env/rules.ts'
import { MOST_VARIABLES, showTargets, TARGETS, type Target, targetsIn } from '../env/schema.ts'
import { fits, readUsage, tally } from '../env/usage.ts'
import { Refusal, refuse } from '../refusal.ts'
import { Type } from '../schema/builder.ts'
import { OneOf } from '../schema/fields.ts'
import { openSafe } from '../secrets/data-keys.ts'
import { type BadLine, parseDotenv, quoted } from './dotenv.ts'

const NAME = '[A-Za-z0-9_-]{1,100}'

export const BulkQuery = Type.Object({
  mode: Type.Optional(OneOf('merge', 'replace')),
  target: Type.String({
    pattern: `^${NAME}(,${NAME}){0,19}$`,
    description:
      'one of production, preview, development and the slugs or ids of custom environments, or several with commas between',
  }),
  gitBranch: Type.Optional(Type.String({ maxLength: 250 })),
  type: Type.Optional(OneOf('plain', 'encrypted', 'sensitive')),
  dryRun: Type.Optional(Type.Boolean({ description: 'answer the plan and change nothing' })),
})
export const EnvFile = Type.String({ description: 'KEY=value lines, as dotenv reads them' })
const Keys = Type.Array(Type.String())
export const BulkAnswer = Type.Object({
  mode: OneOf('merge', 'replace'),
  target: Type.Array(OneOf(...TARGETS)),
  customEnvironmentIds: Type.Array(Type.String()),
  gitBranch: Type.Optional(Type.String()),
  dryRun: Type.Boolean(),
  plan: Type.Object({ created: Keys, updated: Keys, removed: Keys, unchanged: Keys }),
})

type Plan = Static<typeof BulkAnswer>['plan']

/**
 * Merges a `.env` text into the variables of these targets (and branch), or puts it in their place. Variables that other
 * targets share keep their value there. Replacing leaves alone what integrations made. Refuses: bad_request 400 (no such
 * environment; the number of every bad line), what no variable may be, env_already_exists 403, env_limit 400, missing_permission 403.
 */
export async function putEnvFile(
  ctx: Ctx,
  project: Row<'project'>,
  { body, query }: Input<Static<typeof BulkQuery>, string>,
): Promise<Static<typeof BulkAnswer>> {
  const { mode = 'merge', gitBranch = '', dryRun = false } = query
  const targets = targetsNamed(project, query.target.split(','), 'target')
  mustTouch(ctx.who, targets)
  const wanted = await readText(ctx, project, body, targets, query)
  if (wanted.length === 0 && mode === 'replace') {
    refuse(
      'bad_request',
      'Invalid request: an empty text would remove every variable; delete them by their ids instead.',
    )
  }
  const steps = await planFor(ctx, project, wanted, targets, gitBranch, mode)
  await mustFitTogether(ctx, project, steps, targets)
  if (!dryRun) await carryOut(ctx, project, steps, targets)
  const { plan } = steps
  return { mode, ...showTargets(targets), ...(gitBranch !== '' && { gitBranch }), dryRun, plan }
}

/** A draft, and the variables whose places it takes. */
type Step = { draft: PutDraft; holders: Row<'env_var'>[] }
type Steps = { plan: Plan; changed: Step[]; surplus: Row<'env_var'>[] }

/** Refuses what the whole of it would be refused for, so that a dry run says it too: env_limit 400. */
async function mustFitTogether(
  ctx: Ctx,
  project: Row<'project'>,
  { changed, surplus }: Steps,
  targets: Target[],
): Promise<void> {
  const usage = await readUsage(ctx, project.id)
  const leaving = [...surplus, ...changed.flatMap(({ holders }) => holders)]
  for (const row of leaving) tally(usage, overlap(row, targets), row.value_bytes, -1)
  const bytes = changed.reduce((sum, { draft }) => sum + Buffer.byteLength(draft.value), 0)
  if (!fits(usage, targets, bytes, changed.length)) refuse('env_limit')
}

/** What goes and what shrinks comes first: on the way, nothing is over a limit that the end keeps. */
async function carryOut(
  ctx: Ctx,
  project: Row<'project'>,
  { changed, surplus }: Steps,
  targets: Target[],
): Promise<void> {
  ctx.countRows(surplus.length)
  const leaving = surplus.map((row) => ({ row, targets }))
  await giveUp(ctx, project, leaving)
  const shrinks = ({ draft, holders }: Step) =>
    holders.length > 0 && holders.every((row) => Buffer.byteLength(draft.value) <= row.value_bytes)
  for (const part of [changed.filter(shrinks), changed.filter((step) => !shrinks(step))]) {
    const drafts = part.map(({ draft }) => draft)
    for (const end of await putVariables(ctx, project, drafts, true)) {
      if ('failed' in end) refuse(end.failed, undefined, end.error)
    }
  }
}

/**
 * The drafts of a text with what they replace. Who may not touch that is refused before any value is looked at: a plan, or a
 * line that is called wrong, would tell a guesser something. Then every line that is wrong is told at once, of the text and
 * of the rules for keys and values, which go by the type that is kept.
 */
async function readText(
  ctx: Ctx,
  project: Row<'project'>,
  text: string,
  targets: Target[],
  { gitBranch = '', type = 'encrypted' }: Static<typeof BulkQuery>,
): Promise<Step[]> {
  const { entries, bad } = parseDotenv(text)
  if (entries.length > MOST_VARIABLES) refuse('env_too_many')
  const known = await findByKeys(ctx, project.id, entries)
  const byKey = Map.groupBy(
    known.filter((row) => row.git_branch === gitBranch && overlap(row, targets).length > 0),
    (row) => row.key,
  )
  const steps = entries.map(({ key, value }): Step => {
    const holders = byKey.get(key) ?? []
    const kept = typeIn(ctx.account, typeFor({ keepType: true, type }, holders), targets)
    return { draft: { key, value, type: kept, keepType: true, targets, gitBranch, extras: {} }, holders }
  })
  for (const step of steps) mustReplace(ctx, step)
  for (const [at, { line }] of entries.entries()) {
    const message = reasonAgainst(steps[at]!.draft)
    if (message !== undefined) bad.push({ line, message: `is refused: ${message}` })
  }
  if (bad.length > 0) refuseLines(bad)
  return steps
}

function mustReplace(ctx: Ctx, { draft, holders }: Step): void {
  if (holders.some((row) => !isVisible(ctx.who, row))) refuse('env_already_exists', undefined, { key: draft.key })
  for (const row of holders) mustChange(ctx.who, row)
}

function reasonAgainst(draft: PutDraft): string | undefined {
  try {
    mustBeVariable(draft)
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    return error.message.replace(/\.$/, '')
  }
  return undefined
}

function refuseLines(bad: BadLine[]): never {
  const lines = bad.sort((a, b) => a.line - b.line).slice(0, 100)
  const shown = lines.slice(0, 3).map(({ line, message }) => `line ${line} ${message}`)
  const more = bad.length > 3 ? `; and ${bad.length - 3} more` : ''
  const told = lines.map(({ line, message }) => ({ line, message: `${message}.` }))
  refuse('bad_request', `Invalid request: ${shown.join('; ')}${more}.`, { lines: told })
}

async function planFor(
  ctx: Ctx,
  project: Row<'project'>,
  wanted: Step[],
  targets: Target[],
  gitBranch: string,
  mode: 'merge' | 'replace',
): Promise<Steps> {
  const plan: Plan = { created: [], updated: [], removed: [], unchanged: [] }
  const changed: Step[] = []
  const safe = await openSafe(ctx, project.id)
  for (const step of wanted) {
    const { draft, holders } = step
    const held = new Set(holders.flatMap(targetsIn))
    const same =
      targets.every((target) => held.has(target)) && holders.every((row) => isSameValue(safe, row, draft.value))
    plan[same ? 'unchanged' : holders.length > 0 ? 'updated' : 'created'].push(draft.key)
    if (!same) changed.push(step)
  }
  const surplus = mode === 'merge' ? [] : await findSurplus(ctx, project, wanted, targets, gitBranch)
  plan.removed = [...new Set(surplus.map((row) => row.key))]
  return { plan, changed, surplus }
}

/**
 * What a replace removes: the caller's own variables in these places that the text does not name. What an export leaves out
 * stays, or an exported text, edited and put back, would remove what it could never carry.
 */
async function findSurplus(
  ctx: Ctx,
  project: Row<'project'>,
  wanted: Step[],
  targets: Target[],
  gitBranch: string,
): Promise<Row<'env_var'>[]> {
  const named = new Set(wanted.map(({ draft }) => draft.key))
  const rows = await ctx.db
    .selectFrom('env_var')
    .selectAll()
    .where('project_id', '=', project.id)
    .where('git_branch', '=', gitBranch)
    .orderBy('key')
    .execute()
  const own = rows.filter((row) => row.configuration_id === ctx.who.installationId && overlap(row, targets).length > 0)
  const safe = await openSafe(ctx, project.id)
  const carried = ({ type, id, value_version, sealed_value }: Row<'env_var'>) =>
    type !== 'sensitive' &&
    type !== 'system' &&
    quoted(safe.open(id, value_version, sealed_value) ?? '\r"') !== undefined
  const surplus = own.filter((row) => !named.has(row.key) && carried(row))
  for (const row of surplus) mustChange(ctx.who, row)
  return surplus
}
