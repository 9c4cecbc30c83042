/** A control plane of a test's own, which knows one deployment with files, for tests of what visitors send. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'
import {
  CRON_LEASE_PATH,
  CRON_RESULT_PATH,
  type CronLease,
  type CronResult,
  type CronRun,
  readCronLease,
  readCronResult,
} from '../../../src/delivery/protocol/cron-channel.ts'
import { FUNCTION_ENVIRONMENT_PATH } from '../../../src/delivery/protocol/function-channel.ts'
import { LOGS_PATH, type LogLine, readLogReport } from '../../../src/delivery/protocol/log-report.ts'
import { PURGE_PATH, type PurgeReport, readPurgeReport } from '../../../src/delivery/protocol/purge-channel.ts'
import { type FactLine, type ProjectLine, SNAPSHOT_PROTOCOL } from '../../../src/delivery/protocol/snapshot.ts'
import {
  type FunctionLine,
  readUsageReport,
  USAGE_PATH,
  type UsageLine,
} from '../../../src/delivery/protocol/usage-report.ts'
import { addPurge, type CachePurges } from '../../../src/platform/verdict/cache-purges.ts'
import type { OutputFacts } from '../../../src/platform/verdict/facts.ts'
import { digestOf, validOutput } from '../../delivery/outputs/upload.ts'
import { deployment, name, project } from '../snapshot/lines.ts'

export const SITE = 'site.example'
export const ACCOUNT = 'team_1'

export type Offered = {
  config?: object
  contents?: Record<string, string | Uint8Array>
  protection?: ProjectLine['protection']
  /** The host that is known; SITE where it is not said. */
  host?: string
  /** Answers `check`, and codes. */
  check?: (request: IncomingMessage, response: ServerResponse) => void
  /** The manifest, in the place of that of `config`. */
  manifest?: string
  /** The variables of functions. */
  env?: Record<string, string>
  /** The platform suffix, as the head of each list says it. */
  suffix?: string
}

/** `crons`: the runs of the next lease. `purges`: by functions; what they make is in no line of the snapshot. */
type ControlPlane = {
  origin: string
  output: OutputFacts
  purges: PurgeReport[]
  asked: string[]
  usage: UsageLine[]
  functions: FunctionLine[]
  lines: LogLine[]
  crons: CronRun[]
  leases: CronLease[]
  results: CronResult[]
  /** Is answered to the next question for changes. */
  change(lines: FactLine[]): void
}

/** Listens until the test ends. */
export async function openControlPlane(t: TestContext, offered: Offered = {}): Promise<ControlPlane> {
  const { config = {}, contents = {}, protection, check, host = SITE } = offered
  const { manifest, functionLists } = await validOutput(config, contents)
  const text = offered.manifest ?? JSON.stringify(manifest)
  const stored = [text, ...functionLists.map((list) => list.text), ...Object.values(contents)]
  const files = new Map(stored.map((content) => [digestOf(content), content]))
  const output = { accountId: ACCOUNT, digest: digestOf(text), size: Buffer.byteLength(text) }
  const lines = [
    name(host, 'd1'),
    deployment('d1', { output }),
    project('p1', protection === undefined ? {} : { protection }),
  ]
  const end = { kind: 'end', version: 'abcdefgh.1.abcdefgh.1', lines: lines.length, more: false }
  const head = { kind: 'head', protocol: SNAPSHOT_PROTOCOL, ...(offered.suffix && { suffix: offered.suffix }) }
  const all = [{ ...head, all: true }, ...lines, end]
  const changes: string[] = []
  let changed = 1
  const asked: string[] = []
  const usage: UsageLine[] = []
  const functions: FunctionLine[] = []
  const change = (some: FactLine[]) => {
    const last = { ...end, version: `abcdefgh.1.abcdefgh.${++changed}`, lines: some.length }
    changes.push([{ ...head, all: false }, ...some, last].map((line) => `${JSON.stringify(line)}\n`).join(''))
  }
  const told: Pick<ControlPlane, 'lines' | 'crons' | 'leases' | 'results' | 'purges'> = {
    ...{ lines: [], crons: [], leases: [], results: [], purges: [] },
  }
  const purged = new Map<string, CachePurges>()
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url!, 'http://control')
    asked.push(pathname)
    if (['/edge/v1/check', '/sites/v1/sign-ins'].includes(pathname) && check !== undefined)
      return check(request, response)
    if (pathname.startsWith(FUNCTION_ENVIRONMENT_PATH)) {
      const env = offered.env ?? {}
      return response.end(JSON.stringify({ env, masked: Object.keys(env) }))
    }
    if (pathname === CRON_LEASE_PATH)
      return void take(request, response, readCronLease, (lease) => {
        told.leases.push(lease)
        return JSON.stringify({ runs: told.crons.splice(0) })
      })
    if (pathname === PURGE_PATH)
      return void take(request, response, readPurgeReport, (report) => {
        told.purges.push(report)
        const { projectId, kind, tags, environment } = report
        purged.set(projectId, addPurge(purged.get(projectId), kind, tags, environment))
        return JSON.stringify(purged.get(projectId))
      })
    if (pathname === LOGS_PATH)
      return void take(request, response, readLogReport, ({ lines }) => told.lines.push(...lines))
    if (pathname === CRON_RESULT_PATH)
      return void take(request, response, readCronResult, (result) => told.results.push(result))
    if (pathname === USAGE_PATH)
      return void take(request, response, readUsageReport, (report) => {
        usage.push(...report.usage)
        functions.push(...(report.functions ?? []))
      })
    if (pathname === '/sites/v1/snapshot' && !searchParams.has('since'))
      return response.end(all.map((line) => `${JSON.stringify(line)}\n`).join(''))
    if (pathname === '/sites/v1/snapshot' && changes.length > 0) return response.end(changes.shift())
    if (pathname === '/sites/v1/snapshot') return void setTimeout(() => response.writeHead(304).end(), 500).unref()
    const file = files.get(pathname.split('/').at(-1)!)
    if (file === undefined) return response.writeHead(404).end('nothing here')
    response.writeHead(200, { 'content-length': Buffer.byteLength(file) }).end(file)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    output,
    usage,
    functions,
    change,
    ...told,
  }
}

async function take<R extends object>(
  request: IncomingMessage,
  response: ServerResponse,
  read: (text: string) => R | { sentence: string },
  keep: (report: R) => string | unknown,
): Promise<void> {
  let text = ''
  for await (const piece of request.setEncoding('utf8')) text += piece
  const report = read(text)
  if ('sentence' in report) return void response.writeHead(400).end(report.sentence)
  const kept = keep(report)
  response.end(typeof kept === 'string' ? kept : 'counted')
}
