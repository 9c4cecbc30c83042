/** The variables of a project: those to write, and those that the user must set manually. docs/moving-in.md: Variables. */
import { chunksByWeight } from '../../../platform/db/chunks.ts'
import { type Failure, type Step, sendBisecting } from './plan.ts'
import type { ServerItem } from './schemas.ts'
import { type Server, segment, withQuery } from './server.ts'

/** Variables per request, and their bytes: the service accepts 1 MiB. */
const MAX_SENT = 100
const MAX_BYTES = 512 * 1024

/** A variable to write. `environments`: custom ones, by their slugs. */
type Draft = {
  key: string
  value: string
  type: string
  target: string[]
  gitBranch?: string
  comment?: string
  customEnvironmentIds?: string[]
}
/** Slugs of custom environments by their ids. */
export type Slugs = ReadonlyMap<string, string>
type Side = { variables: readonly ServerItem[]; slugs: Slugs }

type VariablesPlan = { create: Draft[]; change: Draft[]; same: number; unread: string[] }

/** Returns the variables of a project, decrypted where the server allows it. */
export function readVariables(server: Server, project: string): Promise<ServerItem[]> {
  const paths = ['v9', 'v10'].map((version) => `/${version}/projects/${segment(project)}/env?decrypt=true&limit=100`)
  return Array.fromAsync(server.list(paths, 'envs'))
}

/** Compares both sides. Values missing in the list are requested one by one. `unread`: names of write-only variables. */
export async function planVariables(there: Server, project: string, from: Side, to: Side): Promise<VariablesPlan> {
  const plan: VariablesPlan = { create: [], change: [], same: 0, unread: [] }
  const here = new Map(to.variables.map((variable) => [placeOf(variable, to.slugs), variable]))
  for (const variable of from.variables) {
    const present = here.get(placeOf(variable, from.slugs))
    const value = await readServerValue(there, project, variable)
    if (value === undefined) {
      if (present === undefined) plan.unread.push(nameOf(variable, from.slugs))
      else plan.same++
      continue
    }
    const draft = draftOf(variable, value, from.slugs)
    if (present === undefined) plan.create.push(draft)
    else if (isSame(draft, present)) plan.same++
    else plan.change.push(draft)
  }
  return plan
}

/** Returns the steps that write the variables of a project, which an earlier step may create. */
export function variableSteps(here: Server, project: string, { create, change }: VariablesPlan): Step[] {
  const path = withQuery(`/v10/projects/${segment(project)}/env`, { upsert: 'true' })
  const what = (draft: Draft) => `${project}: ${named(draft)}`
  const step = (action: Step['action'], drafts: readonly Draft[]): Step => ({
    kind: 'variable',
    action,
    names: drafts.map(what),
    run: () => sendBisecting(drafts, what, async (sent) => failuresIn(project, await here.write('POST', path, sent))),
  })
  return [
    ...slicesOf(create).map((drafts) => step('create', drafts)),
    ...slicesOf(change).map((drafts) => step('change', drafts)),
  ]
}

/** The failed items of a response: the others succeeded. */
function failuresIn(project: string, answer: unknown): Failure[] {
  const failed = ((answer as ServerItem | undefined)?.failed ?? []) as { error: ServerItem }[]
  return failed.map(({ error }) => ({ what: `${project}: ${error.key}`, message: error.message }))
}

/** Returns a value, or undefined when it is write-only. A single variable is decrypted by default (Specification: 18). */
export async function readServerValue(there: Server, project: string, listed: ServerItem): Promise<string | undefined> {
  const { type, decrypted, value } = listed
  if (type === 'sensitive') return undefined
  const isOpen = decrypted === true || type === 'plain' || type === 'system'
  if (isOpen && decrypted !== false && typeof value === 'string') return value
  for (const version of ['v1', 'v10']) {
    const path = `/${version}/projects/${segment(project)}/env/${segment(listed.id)}?decrypt=true`
    const alone = (await there.find(path)) as ServerItem | undefined
    if (alone === undefined) continue
    const isClear = alone.decrypted === true || (alone.decrypted === undefined && alone.value !== '')
    return isClear && typeof alone.value === 'string' ? alone.value : undefined
  }
  return undefined
}

function draftOf(item: ServerItem, value: string, slugs: Slugs): Draft {
  const environments = environmentsOf(item, slugs)
  return {
    key: item.key,
    value,
    type: item.type,
    target: targetsOf(item),
    ...(item.gitBranch && { gitBranch: item.gitBranch }),
    ...(item.comment && { comment: item.comment }),
    ...(environments.length > 0 && { customEnvironmentIds: environments }),
  }
}

/** A sensitive variable on the target cannot be compared, so it is skipped. */
function isSame({ type, value, comment }: Draft, here: ServerItem): boolean {
  if ((comment ?? '') !== (here.comment ?? '')) return false
  return here.type === 'sensitive' || (here.type === type && here.value === value)
}

/** The slot of a variable, unique per project. */
function placeOf(item: ServerItem, slugs: Slugs): string {
  return JSON.stringify([item.key, item.gitBranch ?? '', targetsOf(item).sort(), environmentsOf(item, slugs).sort()])
}

/** Returns the environments of a variable with its branch, as names of `.env` files. */
export function environmentLabels(item: ServerItem, slugs: Slugs): string[] {
  const branch = item.gitBranch ? `@${encodeURIComponent(item.gitBranch)}` : ''
  return [...targetsOf(item), ...environmentsOf(item, slugs)].map((place) => `${place}${branch}`)
}

function targetsOf({ target }: ServerItem): string[] {
  return [target ?? []].flat()
}

function environmentsOf(item: ServerItem, slugs: Slugs): string[] {
  const ids: string[] = item.customEnvironmentIds ?? (item.customEnvironmentId ? [item.customEnvironmentId] : [])
  return ids.map((id) => slugs.get(id)).filter((slug) => slug !== undefined)
}

function nameOf(item: ServerItem, slugs: Slugs): string {
  return named(draftOf(item, '', slugs))
}

function named({ key, target, customEnvironmentIds = [], gitBranch }: Draft): string {
  const branch = gitBranch === undefined ? '' : `, branch ${gitBranch}`
  return `${key} (${[...target, ...customEnvironmentIds].join(', ')}${branch})`
}

function slicesOf(drafts: readonly Draft[]): Draft[][] {
  return chunksByWeight(drafts, (draft) => Buffer.byteLength(JSON.stringify(draft)), MAX_BYTES, MAX_SENT)
}
