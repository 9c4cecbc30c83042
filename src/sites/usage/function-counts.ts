/** What functions did by the hour, until it is reported to the control plane. docs/deploying-sites.md: Usage. */
import { MAX_FUNCTION_NAME } from '../../delivery/protocol/log-report.ts'
import { type FunctionLine, HOUR_MS } from '../../delivery/protocol/usage-report.ts'

/** A function, and how long an invocation took. `isError`: it failed, or its answer has a status from 500 on. */
export type Invoked = { deploymentId: string; name: string; ms: number; isError: boolean }

type FunctionCounts = {
  add(invoked: Invoked): void
  /** Removes and returns at most this number of lines. */
  take(max: number): FunctionLine[]
}

/** Names of a deployment in an hour. Others are counted together. */
const MAX_NAMES = 100

/** Creates counts. `max`: lines; what is above is not counted. */
export function createFunctionCounts(max: number, now: () => number = Date.now): FunctionCounts {
  const lines = new Map<string, FunctionLine>()
  const named = new Map<string, Set<string>>()
  let current = 0
  const nameOf = (deploymentId: string, name: string) => {
    const names = named.getOrInsertComputed(deploymentId, () => new Set())
    if (names.size < MAX_NAMES) names.add(name)
    return names.has(name) ? name : ''
  }
  return {
    add({ deploymentId, ms, isError, ...of }) {
      const moment = now()
      const hour = moment - (moment % HOUR_MS)
      if (hour !== current) named.clear()
      current = hour
      const name = nameOf(deploymentId, of.name.slice(0, MAX_FUNCTION_NAME).toWellFormed())
      const key = `${hour} ${deploymentId} ${name}`
      const line = lines.get(key) ?? { deploymentId, name, hour, invocations: 0, errors: 0, ms: 0 }
      if (line.invocations === 0 && lines.size >= max) return
      lines.set(key, line)
      line.invocations++
      line.errors += isError ? 1 : 0
      line.ms += Math.round(ms)
    },
    take(wanted) {
      const batch = [...lines].slice(0, wanted)
      for (const [key] of batch) lines.delete(key)
      return batch.map(([, line]) => line)
    },
  }
}
