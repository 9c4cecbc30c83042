/** Reports to the control plane what the data cache keeps: each minute what has changed. docs/data-cache.md: Size. */
import type { Logger } from 'pino'
import { CACHES_PATH, type CacheSize, MAX_LINES, RENEWED_MS } from '../../delivery/protocol/usage-report.ts'
import { openSending } from '../usage/sending.ts'

type SizeReports = {
  /** Reports what has changed since the last report, or was not renewed for long. Never throws. */
  send(): Promise<void>
  /** Reports that this sites server keeps nothing any more, within a few seconds. */
  close(): Promise<void>
}

type Options = {
  origin: string
  token: string
  log: Logger
  sizes: () => Iterable<CacheSize>
  now?: () => number
  periodMs?: number | undefined
}
type Told = CacheSize & { at: number }

const PERIOD_MS = 60_000

/** Starts to report to the control plane at `origin`, with BERTH_SITES_TOKEN. */
export function openSizeReports({ origin, token, log, sizes, now = Date.now, periodMs }: Options): SizeReports {
  const told = new Map<string, Told>()
  let pending: CacheSize[] = []
  let isEnding = false
  const next = () => {
    if (isEnding) {
      isEnding = false
      return { caches: [], ended: true }
    }
    const caches = pending.splice(0, MAX_LINES)
    return caches.length === 0 ? undefined : { caches }
  }
  const sending = openSending({
    ...{ origin, token, path: CACHES_PATH, next, log },
    away: 'cannot report the sizes of data caches to the control plane; they are sent later',
    refused: 'the control plane rejected a report of the sizes of data caches; the next one corrects it',
  })
  const send = () => {
    if (pending.length === 0) pending = changesOf(told, sizes(), now())
    return sending.send()
  }
  const timer = setInterval(() => void send(), periodMs ?? PERIOD_MS)
  return {
    send,
    async close() {
      clearInterval(timer)
      pending = []
      isEnding = told.size > 0
      await sending.close()
    },
  }
}

/** Returns what is to be reported, and notes it. What is gone is reported once, as empty. */
function changesOf(told: Map<string, Told>, sizes: Iterable<CacheSize>, now: number): CacheSize[] {
  const gone = new Map(told)
  const changes: CacheSize[] = []
  for (const size of sizes) {
    const key = `${size.projectId} ${size.environment}`
    const before = told.get(key)
    gone.delete(key)
    const isSame = before?.entries === size.entries && before.bytes === size.bytes
    if (isSame && now - before.at < RENEWED_MS) continue
    told.set(key, { ...size, at: now })
    changes.push(size)
  }
  for (const [key, { projectId, environment }] of gone) {
    told.delete(key)
    changes.push({ projectId, environment, entries: 0, bytes: 0 })
  }
  return changes
}
