/** Loads a server for some seconds, with wrk when the machine has it and else with autocannon, and gives what was seen. */
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { type Asked, fill, luaOf } from './asked.ts'
import { runProgram } from './children.ts'

export type Load = { origin: string; asked: Asked; connections: number; seconds: number }

/**
 * Per second, and milliseconds. `errors`: answers above 399, and requests that got none. `processor`: microseconds of the server for each
 * request, where that was measured.
 */
export type Figures = { perSecond: number; p50: number; p99: number; errors: number; processor?: number | undefined }

/** `script`: the name of the file that wrk reads; loads that run at once have one each. */
export type Loader = { tool: string; run: (load: Load, script?: string) => Promise<Figures> }

/** Picks the tool. `folder` takes the script that wrk reads. */
export function openLoader(folder: string): Loader {
  const wrk = spawnSync('wrk', ['-v']).error === undefined
  return wrk
    ? { tool: 'wrk', run: (load, script = 'load') => runWrk(load, join(folder, `${script}.lua`)) }
    : { tool: 'autocannon', run: (load) => runAutocannon(load) }
}

/** The token stands in the script and not in the parameters, which every user of the machine can read. */
async function runWrk({ asked, connections, seconds, origin }: Load, file: string): Promise<Figures> {
  writeFileSync(file, luaOf(asked, origin) + DONE, { mode: 0o600 })
  const parameters = ['-t1', `-c${connections}`, `-d${seconds}s`, '--timeout', '10s', '-s', file, origin]
  const text = await runProgram('wrk', parameters)
  const said = /^FIGURES (.*)$/m.exec(text)?.[1]
  if (said === undefined) throw new Error(`wrk gave no figures: ${text}`)
  const { requests, duration, p50, p99, errors } = JSON.parse(said) as Record<string, number>
  return { perSecond: requests! / (duration! / 1e6), p50: p50! / 1000, p99: p99! / 1000, errors: errors! }
}

const DONE = `function done(summary, latency)
  local e = summary.errors
  io.write(string.format('FIGURES {"requests":%d,"duration":%d,"p50":%d,"p99":%d,"errors":%d}\\n', summary.requests,
    summary.duration, latency:percentile(50), latency:percentile(99), e.connect + e.read + e.write + e.status + e.timeout))
end
`

type AutocannonResult = {
  requests: { total: number }
  duration: number
  latency: { p50: number; p99: number }
  errors: number
  '4xx': number
  '5xx': number
}
type Autocannon = (options: object) => Promise<AutocannonResult>

/** Sends requests at a fixed rate, with autocannon, because wrk has no rate limit. */
export function runPaced(load: Load, perSecond: number): Promise<Figures> {
  return runAutocannon(load, { overallRate: perSecond })
}

async function runAutocannon(
  { origin, asked, connections, seconds }: Load,
  pace: { overallRate?: number } = {},
): Promise<Figures> {
  const autocannon = createRequire(import.meta.url)('autocannon') as Autocannon
  let i = 0
  const setupRequest = (request: { headers: object }) => {
    const { headers, ...filled } = fill(asked, i++)
    return { ...request, ...filled, headers: { ...request.headers, ...headers } }
  }
  const headers = asked.body === undefined ? {} : { 'content-type': 'application/json' }
  const common = { url: origin, connections, duration: seconds, timeout: 10, ...pace }
  const seen = await autocannon({ ...common, requests: [{ method: asked.method, headers, setupRequest }] })
  return {
    perSecond: seen.requests.total / seen.duration,
    p50: seen.latency.p50,
    p99: seen.latency.p99,
    errors: seen.errors + seen['4xx'] + seen['5xx'],
  }
}
