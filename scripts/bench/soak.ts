/** `npm run bench -- --soak MINUTES`: what a long load does to memory, and how long answers take at half of what the service gives. */

import { CASES } from './cases.ts'
import { memoryOf } from './children.ts'
import { type Figures, runPaced } from './load.ts'
import type { Bench } from './measure.ts'
import { newNames } from './rounds.ts'
import type { Opened } from './stores.ts'

/** A turn of the load, in shares of time: mostly reads, and creates that stay. */
const TURN = { get: 8, list: 3, create: 1 } as const
const CONNECTIONS = 64

export type SoakResult = {
  capacity: number
  half: Figures
  requests: number
  errors: number
  /** After each turn: requests until then, and MB of memory. */
  turns: { requests: number; memory: number | undefined }[]
}

/** Loads the service with alternating reads and creates. */
export async function measureSoak({ loader, say }: Bench, opened: Opened, minutes: number): Promise<SoakResult> {
  const { server, authorization } = opened
  const loadOf = (name: string, seconds: number) => {
    const { asked } = CASES.find((one) => one.name === name)!
    const headers = { authorization: authorization() }
    return { origin: server.origin, asked: { ...asked(newNames()), headers }, connections: CONNECTIONS, seconds }
  }
  const { perSecond: capacity } = await loader.run(loadOf('get', 8))
  const half = await runPaced(loadOf('get', 8), Math.round(capacity / 2))
  say(`${Math.round(capacity)} reads/s; at half of that p99 ${half.p99} ms`)
  const found: SoakResult = { capacity, half, requests: 0, errors: 0, turns: [] }
  const end = performance.now() + minutes * 60_000
  while (performance.now() < end) {
    for (const [name, seconds] of Object.entries(TURN)) {
      const seen = await loader.run(loadOf(name, seconds))
      found.requests += Math.round(seen.perSecond * seconds)
      found.errors += seen.errors
    }
    found.turns.push({ requests: found.requests, memory: memoryOf(server)?.now })
  }
  return found
}

/** The soak as lines: memory by tenths of the load, so that a slope can be seen. */
export function showSoak({ capacity, half, requests, errors, turns }: SoakResult): string {
  const shown = Array.from({ length: 10 }, (_, tenth) => turns[Math.ceil(((tenth + 1) * turns.length) / 10) - 1])
  return [
    `get of a random project: ${Math.round(capacity)}/s at most; at ${Math.round(half.perSecond)}/s p50 ${half.p50} ms, p99 ${half.p99} ms, ${half.errors} errors`,
    `${requests} requests (${(requests / 86_400_000).toFixed(2)} days of 1,000/s), ${errors} errors; memory as they came:`,
    ...shown.map((turn) => turn && `  ${String(turn.requests).padStart(12)} requests  ${turn.memory?.toFixed(0)} MB`),
    '',
  ].join('\n')
}
