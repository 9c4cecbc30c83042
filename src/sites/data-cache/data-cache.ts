/** The data cache of functions, by project and environment. docs/data-cache.md. */
import type { Socket } from 'node:net'
import type { Logger } from 'pino'
import { MAX_PURGE_TAG, MAX_PURGE_TAGS } from '../../delivery/protocol/purge-channel.ts'
import type { FactLine } from '../../delivery/protocol/snapshot.ts'
import type { Frame } from '../../launcher/frames.ts'
import type { Pace } from '../../platform/fairness/pace.ts'
import { purgeOf } from '../../platform/verdict/cache-purges.ts'
import type { ContentCache } from '../content/content-cache.ts'
import { ContentUnavailable } from '../content/content-fault.ts'
import { readWhole } from '../content/opened-file.ts'
import { LISTS, storeList, takeList } from '../prerender/page-file.ts'
import { createRenderBudget } from '../prerender/render-budget.ts'
import { storeBody } from '../prerender/store-body.ts'
import { createDataEntries, DATA_BUDGET, type DataBudget, type DataEntries, type DataEntry, idOf } from './entries.ts'
import { createProjectStates, type ProjectStates } from './project-states.ts'
import { openPurging, type Purging } from './purging.ts'
import type { Renew } from './renewals.ts'
import { createDataPace, createDataServing, type DataOwner, type ServedFrame } from './serve.ts'
import { openSizeReports } from './size-reports.ts'

export type DataCache = {
  /** Serves a connection of a process of this owner. */
  serve(socket: Socket, owner: DataOwner): void
  note: ProjectStates['note']
  /** Takes changed facts. */
  take(lines: readonly FactLine[]): void
  close(): Promise<void>
}

/** `folder`: of this process alone, for the entries that are there at the next start. `reportMs`: between reports of sizes, for tests. */
type Options = {
  cache: ContentCache
  folder: string
  origin: string
  token: string
  log: Logger
  budget?: DataBudget
  now?: () => number
  pace?: Pace
  renew?: Renew
  reportMs?: number
}
type State = { cache: ContentCache; entries: DataEntries; projects: ProjectStates; purging: Purging } & {
  now: () => number
  renew: Renew | undefined
}

/** Bytes of requests and answers on their way, in all and of one account. */
const MAX_BYTES = 64 * 1024 ** 2
const OF_ACCOUNT = 16 * 1024 ** 2
/** Of one entry; one request may ask with more, those of its path. */
const MAX_TAGS = 128
const MAX_TAG = 256
const MAX_ASKED = 200
const MAX_TTL_SECONDS = 365 * 24 * 60 * 60

/** Opens the data cache of a sites server, with the entries of its last stop. */
export async function openDataCache(options: Options): Promise<DataCache> {
  const { cache, folder, origin, token, log, budget = DATA_BUDGET, now = Date.now, pace = createDataPace() } = options
  const entries = createDataEntries(budget, (account, digest) => void cache.remove(account, digest).catch(() => {}))
  const projects = createProjectStates(now)
  const purging = openPurging({ origin, token, log, onPurges: projects.learn })
  const sizes = openSizeReports({ origin, token, log, sizes: entries.sizes, periodMs: options.reportMs })
  const state: State = { cache, entries, projects, purging, now, renew: options.renew }
  const before = await takeList<DataEntry>(folder, LISTS.data).catch((error): DataEntry[] => {
    log.warn({ err: error }, 'cannot read the stored list of cached data; functions fetch it again')
    return []
  })
  for (const entry of before) if (cache.has(entry.account, entry.body.digest)) entries.keep(entry)
  const onWay = createRenderBudget(MAX_BYTES, OF_ACCOUNT)
  return {
    serve: createDataServing((owner, frame) => answer(state, owner, frame), onWay, pace),
    note: projects.note,
    take(lines) {
      projects.take(lines)
      const deleted = lines.flatMap((line) => (line.kind === 'gone' && line.of === 'project' ? [line.id] : []))
      if (deleted.length > 0) entries.dropProjects(new Set(deleted))
    },
    async close() {
      await purging.close()
      await storeList(folder, LISTS.data, entries.all()).catch((error) =>
        log.warn({ err: error }, 'cannot store the list of cached data on disk'),
      )
      await sizes.close()
    },
  }
}

type Answer = ServedFrame
type Head = Frame['head']

async function answer(state: State, owner: DataOwner, { head, body }: Frame): Promise<Answer | undefined> {
  switch (head.op) {
    case 'number':
      return { head: { number: numberOf(state, owner) } }
    case 'purge':
      return purge(state, owner, head)
    case 'renew':
      return state.renew?.(owner, head)
  }
  const key = typeof head.key === 'string' && /^[0-9a-f]{64}$/.test(head.key) ? head.key : undefined
  if (key === undefined) return undefined
  const id = idOf(spaceOf(owner), key)
  switch (head.op) {
    case 'get':
      return find(state, owner, id, tagsIn(head.tags, MAX_ASKED))
    case 'set':
      return keep(state, owner, id, head, body)
    case 'delete':
      return drop(state, id)
    default:
      return undefined
  }
}

function spaceOf({ projectId, environment }: DataOwner): string {
  return `${projectId} ${environment}`
}

function numberOf({ projects }: State, { projectId }: DataOwner): number {
  return projects.get(projectId)?.purges?.last ?? 0
}

function tagsIn(value: unknown, max: number, longest = MAX_PURGE_TAG): string[] {
  const all = Array.isArray(value) ? value.slice(0, max) : []
  return all.filter((tag): tag is string => typeof tag === 'string' && tag !== '' && tag.length <= longest)
}

/** What is asked with tags that were purged, such as that of a path, is purged too. */
async function find(state: State, owner: DataOwner, id: string, tags: readonly string[]): Promise<Answer> {
  const { entries, projects, cache, now } = state
  const missing = { head: { found: false, number: numberOf(state, owner) } }
  const project = projects.get(owner.projectId)
  const entry = project === undefined || project.isDisabled ? undefined : entries.use(id)
  if (entry === undefined) return missing
  const made = { number: entry.number, tags: [...entry.tags, ...tags] }
  const compared = made.tags.length
  const purged = project!.purges && purgeOf(project!.purges, made, owner.environment)
  const isOver = entry.expiresAt !== null && entry.expiresAt <= now()
  const value = isOver || purged === 'gone' ? undefined : await readBody(cache, entry)
  if (value === undefined) {
    entries.drop(entry)
    return { ...missing, tags: compared }
  }
  const head = { ...missing.head, found: true, at: entry.at, stale: purged === 'stale' }
  return { head, body: value, tags: compared }
}

/** Undefined where the file cache has evicted it. The control plane does not have it. */
async function readBody(
  cache: ContentCache,
  { account, body: { digest, size } }: DataEntry,
): Promise<Buffer | undefined> {
  if (!cache.has(account, digest)) return undefined
  try {
    const file = await cache.open(account, { sha256: digest, size })
    try {
      return await readWhole(file)
    } finally {
      file.close()
    }
  } catch (error) {
    if (!(error instanceof ContentUnavailable)) throw error
    return undefined
  }
}

async function keep(state: State, owner: DataOwner, id: string, head: Head, bytes: Buffer): Promise<Answer> {
  const { cache, entries, projects, now } = state
  const { account, projectId, environment } = owner
  const project = projects.get(projectId)
  if (project === undefined || project.isDisabled) return { head: { ok: false } }
  const last = project.purges?.last ?? 0
  const number = typeof head.number === 'number' && head.number >= 0 ? Math.min(head.number, last) : last
  const body = await storeBody(cache, entries, account, bytes)
  if (body === undefined) return { head: { ok: false } }
  const at = now()
  entries.keep({
    ...{ id, space: spaceOf(owner), account, projectId, environment, number, at, body },
    tags: tagsIn(head.tags, MAX_TAGS, MAX_TAG),
    expiresAt: typeof head.ttl === 'number' && head.ttl > 0 ? at + Math.min(head.ttl, MAX_TTL_SECONDS) * 1000 : null,
  })
  return { head: { ok: true } }
}

function drop({ entries }: State, id: string): Answer {
  const entry = entries.use(id)
  if (entry !== undefined) entries.drop(entry)
  return { head: { ok: true } }
}

async function purge({ purging }: State, owner: DataOwner, { kind, tags: given }: Head): Promise<Answer> {
  const tags = tagsIn(given, MAX_PURGE_TAGS)
  if (tags.length === 0) return { head: { ok: true } }
  const isSent = await purging.purge(owner, kind === 'stale' ? 'stale' : 'gone', tags)
  return { head: { ok: isSent }, tags: tags.length }
}
