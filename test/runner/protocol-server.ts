/** A control plane of a test: it speaks the runner protocol over HTTP, and a test sets how it fails. docs/building.md: Runner protocol. */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import type {
  Finish,
  Lease,
  LeaseState,
  LogBatch,
  LogLine,
  SourceEntry,
} from '../../src/delivery/protocol/runner-protocol.ts'

export const RUNNER_TOKEN = 'runner-token-of-a-test'

export type Source = Record<string, string | Buffer | { link: string } | { folder: true }>

export type TestLease = { lease: Lease; source: Source }

export type ProtocolServer = {
  url: string
  /** Builds that wait. */
  waiting: TestLease[]
  /** Reports in the order of arrival. */
  reports: Finish[]
  lines: LogLine[]
  steps: string[]
  /** Files of outputs by SHA-256. */
  files: Map<string, Buffer>
  /** Everything that came, as `METHOD path`. */
  requests: string[]
  state: Omit<LeaseState, 'acknowledged'>
  /** Answers instead of the server where it returns a status. `cut`: half of a body. The test may change it at any time. */
  fault(method: string, path: string): Fault | Promise<Fault>
  close(): Promise<void>
}

type Fault = number | { status: number; code: string; message: string } | 'hang' | 'cut' | undefined

const BUILD_PATH = /^\/runner\/v1\/builds\/([^/]+)\/(\d+)\/(.+)$/

export function sha256(bytes: string | Buffer): string {
  return createHash('sha256').update(bytes).digest('hex')
}

/** A lease of a static project; `changes` are of the test. */
export function leaseOf(changes: Partial<Lease> = {}): Lease {
  return {
    deploymentId: 'dpl_1',
    attempt: 1,
    token: 'lease-token-of-a-test',
    timeLimitMs: 600_000,
    project: { id: 'prj_1', name: 'web', accountId: 'team_1' },
    settings: {
      framework: null,
      buildCommand: null,
      devCommand: null,
      installCommand: null,
      outputDirectory: null,
      rootDirectory: null,
      commandForIgnoringBuildStep: null,
      nodeVersion: '22.x',
      sourceFilesOutsideRootDirectory: true,
    },
    target: 'preview',
    environment: null,
    env: { VERCEL: '1', CI: '1' },
    masked: [],
    ...changes,
  }
}

function entryOf([path, what]: [string, Source[string]]): SourceEntry {
  if (typeof what === 'object' && 'link' in what)
    return { path, kind: 'link', mode: 0o120777, size: what.link.length, target: what.link }
  if (typeof what === 'object' && 'folder' in what) return { path, kind: 'folder', mode: 0o040755, size: 0 }
  return { path, kind: 'file', mode: 0o100644, size: Buffer.byteLength(what), digest: sha256(what) }
}

/** Starts the server on loopback. */
export async function startProtocolServer(t: { after(work: () => unknown): void }): Promise<ProtocolServer> {
  let current: TestLease | undefined
  const server: ProtocolServer = {
    ...{ url: '', waiting: [], reports: [], lines: [], steps: [], files: new Map(), requests: [] },
    state: { leaseMs: 30_000, cancel: false },
    fault: () => undefined,
    async close() {
      http.closeAllConnections()
      http.close()
    },
  }
  const stateNow = () => ({ ...server.state, acknowledged: server.lines.length })
  const below: Record<string, (body: Buffer, rest: string) => unknown> = {
    beat(body) {
      server.steps.push(JSON.parse(body.toString()).step)
      return stateNow()
    },
    log(body) {
      const { first, lines } = JSON.parse(body.toString()) as LogBatch
      if (first > server.lines.length) return 400
      server.lines.push(...lines.slice(server.lines.length - first))
      return stateNow()
    },
    source(_, rest) {
      const source = Object.entries(current!.source)
      if (rest === 'source') return source.map(entryOf)
      const found = source.find(
        ([, what]) => (typeof what === 'string' || Buffer.isBuffer(what)) && rest.endsWith(sha256(what)),
      )
      return found === undefined ? 404 : Buffer.from(found[1] as string)
    },
    missing: (body) => ({
      sha256: JSON.parse(body.toString()).sha256.filter((digest: string) => !server.files.has(digest)),
    }),
    output(body, rest) {
      server.files.set(rest.slice('output/'.length), body)
      return sha256(body) === rest.slice('output/'.length) ? {} : 400
    },
    finish(body) {
      server.reports.push(JSON.parse(body.toString()))
      return {}
    },
  }
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const { method = '', url = '' } = request
    server.requests.push(`${method} ${url}`)
    const body = await buffer(request)
    const fault = await server.fault(method, url)
    if (fault === 'hang') return
    if (fault === 'cut') return cut(response)
    if (typeof fault === 'object') {
      const { status, ...error } = fault
      return void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ error }))
    }
    if (fault !== undefined) return send(response, fault)
    const authorization = request.headers.authorization
    if (url === '/runner/v1/builds/lease') {
      if (authorization !== `Bearer ${RUNNER_TOKEN}`) return send(response, 401)
      const next = server.waiting.shift()
      if (next === undefined) return send(response, 204)
      current = next
      return send(response, next.lease)
    }
    const [, deployment, attempt, rest = ''] = BUILD_PATH.exec(url) ?? []
    const { lease } = current ?? {}
    if (authorization !== `Bearer ${lease?.token}`) return send(response, 401)
    if (deployment !== lease?.deploymentId || Number(attempt) !== lease?.attempt) return send(response, 409)
    send(response, below[rest.split('/')[0]!]?.(body, rest) ?? 404)
  }
  const http = createServer((request, response) => void answer(request, response).catch(() => response.destroy()))
  http.listen(0, '127.0.0.1')
  await once(http, 'listening')
  server.url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`
  t.after(() => server.close())
  return server
}

function cut(response: ServerResponse): void {
  response.writeHead(200, { 'content-length': 2 }).write('<', () => response.destroy())
}

function send(response: ServerResponse, what: unknown): void {
  if (typeof what === 'number')
    response
      .writeHead(what)
      .end(what === 204 ? undefined : `{"error":{"code":"${what === 409 ? 'lease_lost' : 'no'}","message":"no"}}`)
  else if (Buffer.isBuffer(what)) response.writeHead(200, { 'content-length': what.length }).end(what)
  else response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(what))
}
