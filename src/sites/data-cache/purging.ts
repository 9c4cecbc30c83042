/** Purges by functions, reported to the control plane: those of one environment together, one report at a time. docs/data-cache.md: Purges. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { Pool } from 'undici'
import { MAX_PURGE_TAGS, PURGE_PATH, type PurgeReport } from '../../delivery/protocol/purge-channel.ts'
import { readAtMost } from '../../platform/fairness/bounded-body.ts'
import { createPace, type Pace } from '../../platform/fairness/pace.ts'
import { createSemaphore } from '../../platform/fairness/semaphore.ts'
import type { CachePurges, PurgeKind } from '../../platform/verdict/cache-purges.ts'
import { READERS } from '../../readers.ts'

type Purger = { account: string; projectId: string; environment: string }

export type Purging = {
  /** Purges what has one of these tags. Returns whether the control plane has it: then it holds at every sites server. */
  purge(purger: Purger, kind: PurgeKind, tags: readonly string[]): Promise<boolean>
  close(): Promise<void>
}

export type PurgingOptions = {
  origin: string
  token: string
  log: Logger
  onPurges(projectId: string, purges: CachePurges): void
  /** Between two reports of one environment. */
  pauseMs?: number
  pace?: Pace
}

/** Reports on their way; of one account a part. */
const AT_ONCE = 8
const PAUSE_MS = 250
/** Of an account in a second, over all its projects and environments: each is a write of the control plane, and a line to every sites server. */
const REPORTS = 20
const WAIT_MS = 10_000
/** Reports that a purge waits for, because their tags leave no room for its own. */
const TRIES = 20
const CONNECT_MS = 3000
const { bytes: MAX_BYTES } = READERS['line of the control plane']

/** `tags` is sent once the report before it has ended. */
type Batch = { tags: Set<string>; done: Promise<boolean> }

/** Creates the pace of the reports of accounts. */
export function createPurgePace(now = () => performance.now()): Pace {
  return createPace(REPORTS, now)
}

/** Opens a client of the control plane at `origin`, with BERTH_SITES_TOKEN. */
export function openPurging(options: PurgingOptions): Purging {
  const { origin, pauseMs = PAUSE_MS } = options
  const pool = new Pool(origin, { connections: AT_ONCE, pipelining: 1, connect: { timeout: CONNECT_MS } })
  const stop = new AbortController()
  const wait = (ms: number) => sleep(ms, true, { signal: stop.signal }).catch(() => false)
  const batches = createBatches(openSender(pool, options, wait), () => wait(pauseMs))
  return {
    async purge(purger, kind, tags) {
      for (let left = TRIES; left > 0; left--) {
        const batch = batches(purger, kind)
        const isFull = new Set([...batch.tags, ...tags]).size > MAX_PURGE_TAGS
        if (!isFull) for (const tag of tags) batch.tags.add(tag)
        const isSent = await batch.done
        if (!isFull) return isSent
      }
      return false
    },
    async close() {
      stop.abort()
      await pool.destroy()
    },
  }
}

type SendReport = (report: PurgeReport, account: string) => Promise<boolean>

function openSender(pool: Pool, options: PurgingOptions, wait: (ms: number) => Promise<boolean>): SendReport {
  const { token, log, onPurges, pace = createPurgePace() } = options
  const slots = createSemaphore({ slots: AT_ONCE, canAcquire: (_, inUse, free) => inUse < free })
  return async (report, account) => {
    // What is refused is not charged, so an account that goes on asking is admitted again.
    if (pace(account, 0) > WAIT_MS) return false
    if (!(await wait(pace(account, 1)))) return false
    if (!(await slots.acquire(account, WAIT_MS))) return false
    try {
      onPurges(report.projectId, await post(pool, token, report))
      return true
    } catch (error) {
      log.warn({ err: error, project: report.projectId }, 'a purge by a function could not be reported')
      return false
    } finally {
      slots.release(account)
    }
  }
}

/** Returns the batch of an environment that is not sent yet. */
function createBatches(send: SendReport, pause: () => Promise<unknown>): (purger: Purger, kind: PurgeKind) => Batch {
  const waiting = new Map<string, Batch>()
  const ends = new Map<string, Promise<unknown>>()
  const run = async (key: string, { account, projectId, environment }: Purger, kind: PurgeKind, tags: Set<string>) => {
    await ends.get(key)
    // Later tags are of the next report.
    waiting.delete(key)
    const sent = send({ projectId, environment, kind, tags: [...tags] }, account)
    const end = sent.then(pause).catch(() => {})
    ends.set(key, end)
    void end.then(() => ends.get(key) === end && ends.delete(key))
    return sent
  }
  return (purger, kind) => {
    const key = `${purger.projectId} ${purger.environment} ${kind}`
    return waiting.getOrInsertComputed(key, () => {
      const tags = new Set<string>()
      return { tags, done: Promise.resolve().then(() => run(key, purger, kind, tags)) }
    })
  }
}

async function post(pool: Pool, token: string, report: PurgeReport): Promise<CachePurges> {
  const { statusCode, body } = await pool.request({
    method: 'POST',
    path: PURGE_PATH,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(report),
    headersTimeout: WAIT_MS,
    bodyTimeout: WAIT_MS,
  })
  const text = (await readAtMost(body, MAX_BYTES))?.toString()
  if (text === undefined) throw new Error('the control plane sent too many purges')
  if (statusCode !== 200) throw new Error(`the control plane answered ${statusCode}: ${text.slice(0, 200)}`)
  return JSON.parse(text) as CachePurges
}
