/** What tests of builds share: a runner is nothing but HTTP requests of its protocol. docs/building.md: Runner protocol. */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { type BuildError, LEASE_PATH, type Lease, leasePath } from '../../../src/delivery/protocol/runner-protocol.ts'
import { openEdge } from '../../../src/operations/edge/listener.ts'
import type { World } from '../../support/world.ts'
import { SUFFIX } from '../deploys/deploying.ts'

export const RUNNER_TOKEN = 'token-of-the-runners-of-a-test'
export const BUILDS = { ...SUFFIX, BERTH_BUILDS: 'sandboxed', BERTH_RUNNER_TOKEN: RUNNER_TOKEN }
export const RUNNER = 'runnerrunner0001'

/** A source that a runner would build. */
export const SOURCE = [
  { file: 'index.html', data: '<h1>Hello</h1>' },
  { file: 'src/main.js', data: 'console.log(1)' },
  { file: 'package.json', data: '{"name":"web"}' },
]

export const OUTPUT: Readonly<Record<string, string>> = {
  '.vercel/output/config.json': '{"version":3}',
  '.vercel/output/static/index.html': '<h1>Built</h1>',
}

// biome-ignore lint/suspicious/noExplicitAny: tests look at what a body should have
type Body = any

export type Answered = { status: number; text: string; body: Body }

/** Opens the channel of runners of a control plane over the store of a world. */
export async function openRunners(world: World) {
  const edge = await openEdge(world.deps)
  const origin = await edge.listen('127.0.0.1', 0)
  const ask = async (path: string, method: string, token: string | undefined, body?: string | Buffer) => {
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
    const answer = await fetch(`${origin}${path}`, { method, headers, ...(body !== undefined && { body }) })
    const text = await answer.text()
    const isJson = answer.headers.get('content-type') === 'application/json'
    return { status: answer.status, text, body: isJson ? JSON.parse(text) : undefined } as Answered
  }
  const lease = (runner = RUNNER, token: string | undefined = RUNNER_TOKEN) =>
    ask(LEASE_PATH, 'POST', token, JSON.stringify({ runner, hostname: 'test', version: '1' }))
  const take = async (runner = RUNNER): Promise<Lease> => {
    const answer = await lease(runner)
    assert.equal(answer.status, 200, answer.text)
    return answer.body
  }
  return { origin, ask, lease, take, of: (held: Lease) => holderOf(ask, held), close: () => edge.close() }
}

type Ask = (path: string, method: string, token: string | undefined, body?: string | Buffer) => Promise<Answered>

/** The verbs of the holder of a lease. */
function holderOf(ask: Ask, held: Lease) {
  const post = (rest: string, body: object) => ask(leasePath(held, rest), 'POST', held.token, JSON.stringify(body))
  const finish = (report: object) => post('finish', report)
  return {
    post,
    beat: (step = 'building') => post('beat', { step }),
    log: (first: number, ...texts: string[]) =>
      post('log', { first, lines: texts.map((text, at) => ({ type: 'stdout', date: 1000 + first + at, text })) }),
    missing: (...sha256: string[]) => post('missing', { sha256 }),
    source: () => ask(leasePath(held, 'source'), 'GET', held.token),
    file: (sha256: string) => ask(leasePath(held, `source/${sha256}`), 'GET', held.token),
    put: (content: string, sha256 = sha256Of(content)) =>
      ask(leasePath(held, `output/${sha256}`), 'PUT', held.token, Buffer.from(content)),
    finish,
    succeed: (contents = OUTPUT) =>
      finish({ outcome: 'succeeded', builder: 'vercel@64.0.2', entries: entriesOf(contents) }),
    fail: (code: BuildError, message: string) => finish({ outcome: 'failed', code, message }),
  }
}

export function sha256Of(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

export function entriesOf(contents: Readonly<Record<string, string>>) {
  return Object.entries(contents).map(([path, text]) => ({
    ...{ path, kind: 'file', mode: 0o100644 },
    ...{ size: Buffer.byteLength(text), digest: sha256Of(text) },
  }))
}

let creates = 0

/** Asks for a deployment of a source. Each request differs, because equal ones are one for ten seconds. */
export async function createSource(world: World, { meta, ...said }: { meta?: object } & Record<string, unknown> = {}) {
  const body = { name: 'web', files: SOURCE, meta: { ...meta, create: String(++creates) }, ...said }
  const made = await world.call.try('POST', '/v13/deployments?forceNew=1', body)
  assert.equal(made.status, 200, made.text)
  return made.body
}

export async function stateOf(world: World, id: string) {
  return (await world.call('GET', `/v13/deployments/${id}`)).body
}

/** The row of the build, without what a beat of its holder changes. */
export async function buildOf({ deps }: World, id: string) {
  return deps.db.read.selectFrom('build').selectAll().where('deployment_id', '=', id).executeTakeFirstOrThrow()
}
