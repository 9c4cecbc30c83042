/** Loads a server for some seconds, with wrk when the machine has it and else with autocannon, and gives what was seen. */
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { runProgram, type Target } from './children.ts'

type Load = Pick<Target, 'origin' | 'token'> & {
  path: string
  connections: number
  seconds: number
  /** Creates: every request makes a project of a new name that begins with this. Undefined: a GET. */
  names?: string
}

/** Per second, and milliseconds. `errors`: answers above 399, and requests that got none. */
export type Figures = { perSecond: number; p50: number; p99: number; errors: number }

/** `script`: the name of the file that wrk reads; loads that run at once have one each. */
export type Loader = { tool: string; run: (load: Load, script?: string) => Promise<Figures> }

/** Picks the tool. `folder` takes the script that wrk reads. */
export function openLoader(folder: string): Loader {
  const wrk = spawnSync('wrk', ['-v']).error === undefined
  return wrk
    ? { tool: 'wrk', run: (load, script = 'load') => runWrk(load, join(folder, `${script}.lua`)) }
    : { tool: 'autocannon', run: (load) => runAutocannon(load) }
}

const DIGITS = 8

/** The name of create number `n`: all have one length, so that all bodies have. */
export function nameOf(names: string, n: number): string {
  return `${names}-${String(n).padStart(DIGITS, '0')}`
}

/** The token stands in the script and not in the parameters, which every user of the machine can read. */
async function runWrk(load: Load, file: string): Promise<Figures> {
  writeFileSync(file, luaOf(load), { mode: 0o600 })
  const { connections, seconds, origin, path } = load
  const parameters = ['-t1', `-c${connections}`, `-d${seconds}s`, '--timeout', '10s', '-s', file, origin + path]
  const text = await runProgram('wrk', parameters)
  const said = /^FIGURES (.*)$/m.exec(text)?.[1]
  if (said === undefined) throw new Error(`wrk gave no figures: ${text}`)
  const { requests, duration, p50, p99, errors } = JSON.parse(said) as Record<string, number>
  return { perSecond: requests! / (duration! / 1e6), p50: p50! / 1000, p99: p99! / 1000, errors: errors! }
}

function luaOf({ token, path, origin, names }: Load): string {
  const create = `
local n = 0
local head = "POST ${path} HTTP/1.1\\r\\nHost: ${new URL(origin).host}\\r\\nAuthorization: Bearer ${token}\\r\\n"
  .. "Content-Type: application/json\\r\\nContent-Length: ${bodyOf(nameOf(names ?? '', 0)).length}\\r\\n\\r\\n"
function request()
  n = n + 1
  return head .. string.format('${bodyOf(`${names}-%0${DIGITS}d`)}', n)
end`
  return `wrk.headers["Authorization"] = "Bearer ${token}"
${names === undefined ? '' : create}
function done(summary, latency)
  local e = summary.errors
  io.write(string.format('FIGURES {"requests":%d,"duration":%d,"p50":%d,"p99":%d,"errors":%d}\\n', summary.requests,
    summary.duration, latency:percentile(50), latency:percentile(99), e.connect + e.read + e.write + e.status + e.timeout))
end
`
}

function bodyOf(name: string): string {
  return JSON.stringify({ name })
}

type AutocannonResult = {
  requests: { total: number }
  duration: number
  latency: { p50: number; p99: number }
  errors: number
  non2xx: number
}
type AutocannonClient = { setBody(body: string): void; on(event: 'response', listener: () => void): void }
type Autocannon = (options: object) => Promise<AutocannonResult>

/** Sends so many requests a second and no more: by autocannon, for wrk knows no pace. */
export function runPaced(load: Load, perSecond: number): Promise<Figures> {
  return runAutocannon(load, { overallRate: perSecond })
}

async function runAutocannon(
  { origin, token, path, connections, seconds, names }: Load,
  pace: { overallRate?: number } = {},
): Promise<Figures> {
  const autocannon = createRequire(import.meta.url)('autocannon') as Autocannon
  let n = 0
  const nextBody = () => bodyOf(nameOf(names ?? '', ++n))
  const setupClient = (client: AutocannonClient) => {
    client.setBody(nextBody())
    client.on('response', () => client.setBody(nextBody()))
  }
  const create = {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: bodyOf(nameOf(names ?? '', 0)),
    setupClient,
  }
  const read = { method: 'GET', headers: { authorization: `Bearer ${token}` } }
  const common = { url: origin + path, connections, duration: seconds, timeout: 10, ...pace }
  const seen = await autocannon({ ...common, ...(names === undefined ? read : create) })
  return {
    perSecond: seen.requests.total / seen.duration,
    p50: seen.latency.p50,
    p99: seen.latency.p99,
    errors: seen.errors + seen.non2xx,
  }
}
