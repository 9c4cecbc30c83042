/** `npm run bench -- --soak MINUTES`: what a long load does to memory, and how long answers take at half of what the service gives. */
import { memoryOf } from './children.ts'
import { type Figures, runPaced } from './load.ts'
import { type Bench, CASES } from './measure.ts'
import { newNames } from './rounds.ts'

/** A turn of the load, in shares of time: mostly reads, and creates that stay. */
const TURN = { get: 8, list: 3, 'create-64': 1 } as const
const CONNECTIONS = 64

export type SoakResult = {
  capacity: number
  half: Figures
  requests: number
  errors: number
  /** After each turn: requests until then, and MB of memory. */
  turns: { requests: number; memory: number | undefined }[]
}

/** Loads the service with turns of reads and creates for so many minutes. */
export async function measureSoak({ loader, service, say }: Bench, minutes: number): Promise<SoakResult> {
  const { path } = caseOf('get')
  const read = { ...service, path, connections: CONNECTIONS, seconds: 8 }
  const { perSecond: capacity } = await loader.run(read)
  const half = await runPaced(read, Math.round(capacity / 2))
  say(`${Math.round(capacity)} reads/s; at half of that p99 ${half.p99} ms`)
  const found: SoakResult = { capacity, half, requests: 0, errors: 0, turns: [] }
  const end = performance.now() + minutes * 60_000
  while (performance.now() < end) {
    for (const [name, seconds] of Object.entries(TURN)) {
      const { path, creates } = caseOf(name)
      const names = creates ? { names: newNames() } : {}
      const seen = await loader.run({ ...service, path, connections: CONNECTIONS, seconds, ...names })
      found.requests += Math.round(seen.perSecond * seconds)
      found.errors += seen.errors
    }
    found.turns.push({ requests: found.requests, memory: memoryOf(service)?.now })
  }
  return found
}

function caseOf(name: string) {
  return CASES.find((one) => one.name === name)!
}

/** The soak as lines: memory by tenths of the load, so that a slope can be seen. */
export function showSoak({ capacity, half, requests, errors, turns }: SoakResult): string {
  const shown = Array.from({ length: 10 }, (_, tenth) => turns[Math.ceil(((tenth + 1) * turns.length) / 10) - 1])
  return [
    `get project by name: ${Math.round(capacity)}/s at most; at ${Math.round(half.perSecond)}/s p50 ${half.p50} ms, p99 ${half.p99} ms, ${half.errors} errors`,
    `${requests} requests (${(requests / 86_400_000).toFixed(2)} days of 1,000/s), ${errors} errors; memory as they came:`,
    ...shown.map((turn) => turn && `  ${String(turn.requests).padStart(12)} requests  ${turn.memory?.toFixed(0)} MB`),
    '',
  ].join('\n')
}
