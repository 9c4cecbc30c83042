/** Responses of deployments by hour, until they are reported to the control plane. docs/deploying-sites.md: Usage. */
import { HOUR_MS, type UsageLine } from '../../delivery/protocol/usage-report.ts'

/** `status`: undefined if the visitor disconnected before the response began. `bytes`: of the body. */
type Answered = { status: number | undefined; bytes: number }

export type Counts = {
  /** Counts a response. Returns false if another deployment does not fit, and does not count it. */
  add(deploymentId: string, answered: Answered): boolean
  /** Removes and returns at most this number of lines, oldest hour first. */
  take(max: number): UsageLine[]
  size(): number
}

type Hour = { begin: number; lines: Map<string, UsageLine> }

const CLASSES = { 2: '2xx', 3: '3xx', 4: '4xx', 5: '5xx' } as const

/** Creates counts. `max`: lines, one per deployment and hour. */
export function createCounts(max: number, now: () => number = Date.now): Counts {
  const hours = new Map<number, Hour>()
  let size = 0
  let current: Hour | undefined
  const hourOf = (moment: number): Hour => {
    if (current !== undefined && moment >= current.begin && moment < current.begin + HOUR_MS) return current
    const begin = moment - (moment % HOUR_MS)
    current = hours.getOrInsertComputed(begin, () => ({ begin, lines: new Map() }))
    return current
  }
  return {
    size: () => size,
    add(deploymentId, { status, bytes }) {
      const { begin, lines } = hourOf(now())
      let line = lines.get(deploymentId)
      if (line === undefined) {
        if (size >= max) return false
        line = emptyLine(deploymentId, begin)
        lines.set(deploymentId, line)
        size++
      }
      line.requests++
      line.bytes += bytes
      const ofClass = CLASSES[Math.floor((status ?? 0) / 100) as keyof typeof CLASSES]
      if (ofClass !== undefined) line.statuses[ofClass]++
      return true
    },
    take(wanted) {
      const batch: UsageLine[] = []
      for (const [begin, { lines }] of [...hours].sort(([a], [b]) => a - b)) {
        for (const [deploymentId, line] of lines) {
          if (batch.length >= wanted) break
          batch.push(line)
          lines.delete(deploymentId)
        }
        if (lines.size === 0) hours.delete(begin)
      }
      // An hour without remaining lines is no longer in the map, so stop counting into it.
      current = undefined
      size -= batch.length
      return batch
    },
  }
}

function emptyLine(deploymentId: string, hour: number): UsageLine {
  return { deploymentId, hour, requests: 0, statuses: { '2xx': 0, '3xx': 0, '4xx': 0, '5xx': 0 }, bytes: 0 }
}
