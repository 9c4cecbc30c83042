/**
 * What the time of an answer reveals: two kinds of request in random turn, each measured, and Welch's t of what they took. In the full
 * form only: a few samples show nothing. docs/spec/reliability.md T38; docs/threats.md: Timing attacks.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { newClientSecret, newId } from '../../src/platform/base/ids.ts'
import { onBothEngines, type World } from '../support/world.ts'
import { seedIntegration } from '../support/worlds/integration-world.ts'
import { FULL, sayFigure } from './form.ts'

const SAMPLES = { sqlite: 60_000, postgres: 20_000 }
/** Above it two means differ: once in 100,000 by chance. */
const MAX_T = 4.5
/** What the others did to the machine meanwhile is in the slow tail. */
const KEPT = 0.9
/** How many of a kind are asked for. */
const KINDS = 500
/** What the control takes longer, so that the test can fail: PostgreSQL is another process, and noisier. */
const CONTROL_US = { sqlite: 5, postgres: 200 }

type Request = { method: 'GET' | 'POST'; url: string; headers: Record<string, string>; payload?: string }
type Kind = { name: string; requests: Request[]; spinUs?: number }

if (FULL)
  onBothEngines(
    'the time of an answer reveals nothing about nearly right tokens and secrets, nor about ids of another team',
    async (world) => {
      world.deps.log.level = 'silent'
      const { slow, pairs } = await kindsOf(world)
      const told: string[] = []
      for (const [left, right] of pairs) {
        const { text, differs } = await compare(world, left, right)
        sayFigure(`timing [${world.engine}]: ${text}`)
        if (differs) told.push(text)
      }
      const control = await compare(world, ...slow)
      sayFigure(`timing [${world.engine}], control: ${control.text}`)
      assert.deepEqual(told, [])
      assert.ok(control.differs, `${CONTROL_US[world.engine]} µs were not seen: ${control.text}`)
    },
  )
else sayFigure('timing: LEFT OUT of the short form, because a few samples show nothing; npm run test:attacks')

/** The pairs that must not be distinguished; and one that must. */
async function kindsOf(world: World): Promise<{ pairs: [Kind, Kind][]; slow: [Kind, Kind] }> {
  const app = await seedIntegration(world)
  const { token } = world.credentials
  const other = await world.user('eve')
  const foreign: { id: string; name: string }[] = []
  for (let at = 0; at < KINDS; at++) {
    const { body } = await other.call('POST', '/v10/projects', { name: `f${randomBytes(8).toString('hex')}` })
    foreign.push({ id: body.id, name: body.name })
  }
  const bearing = (name: string, one: () => string): Kind => ({
    name,
    requests: many(() => ({ method: 'GET', url: '/v2/user', headers: { authorization: `Bearer ${one()}` } })),
  })
  const proving = (name: string, one: () => string): Kind => ({
    name,
    requests: many(() => {
      const payload = JSON.stringify({ client_id: app.clientId, client_secret: one(), token: 'x' })
      return { method: 'POST', url: '/v2/oauth/introspect', headers: { 'content-type': 'application/json' }, payload }
    }),
  })
  const asking = (name: string, said: (at: number) => string): Kind => ({
    name,
    requests: many((at) => ({
      method: 'GET',
      url: `/v9/projects/${said(at)}`,
      headers: { authorization: `Bearer ${token}` },
    })),
  })
  const spinUs = CONTROL_US[world.engine]
  const absent = asking('absent by id', () => newId('prj'))
  return {
    pairs: [
      [bearing('token nearly right', () => nearly(token)), bearing('at random', () => atRandom(token))],
      [proving('client secret nearly right', () => nearly(app.clientSecret)), proving('at random', newClientSecret)],
      [asking('foreign by id', (at) => foreign[at]!.id), absent],
      [
        asking('foreign by name', (at) => foreign[at]!.name),
        asking('absent by name', () => `f${randomBytes(8).toString('hex')}`),
      ],
    ],
    slow: [absent, { ...absent, name: `the same and ${spinUs} µs`, spinUs }],
  }
}

function many(make: (at: number) => Request): Request[] {
  return Array.from({ length: KINDS }, (_, at) => make(at))
}

/** Right but for the last letters; made as the other kind is, so that the texts differ in nothing else. */
function nearly(right: string): string {
  return flat(right.slice(0, -4) + newClientSecret().slice(-4))
}

function atRandom(right: string): string {
  return flat(right.slice(0, 6) + newClientSecret().slice(-right.length + 6))
}

function flat(text: string): string {
  return Buffer.from(text).toString('latin1')
}

/** Two rounds, as the machine has moods: two kinds differ when they do in both, in the same direction. */
async function compare(world: World, left: Kind, right: Kind): Promise<{ text: string; differs: boolean }> {
  const many = SAMPLES[world.engine] / 2
  const rounds = [await measure(world, left, right, many), await measure(world, left, right, many)]
  const ts = rounds.map(({ t }) => t)
  const differs = ts.every((t) => t > MAX_T) || ts.every((t) => t < -MAX_T)
  const said = rounds.map(({ t, us }) => `t = ${t.toFixed(1)} (${us.toFixed(2)} µs)`).join(', ')
  return { text: `${left.name} - ${right.name}: ${said}, of ${2 * many} samples`, differs }
}

/** Welch's t of the times of both, and how far their means are apart. */
async function measure(world: World, left: Kind, right: Kind, many: number): Promise<{ t: number; us: number }> {
  const times = [new Float64Array(many), new Float64Array(many)] as const
  const counts = [0, 0]
  const warm = Math.floor(many / 20)
  for (let at = -warm; at < many; at++) {
    const which = Math.random() < 0.5 ? 0 : 1
    const kind = which === 0 ? left : right
    const request = kind.requests[Math.floor(Math.random() * KINDS)]!
    // What was remembered of the store is forgotten: who asks first learns the most.
    if (world.engine === 'sqlite') await world.deps.db.write(async () => {})
    const before = performance.now()
    const { statusCode } = await world.app.inject(request)
    if (kind.spinUs !== undefined) spin(kind.spinUs)
    const took = performance.now() - before
    assert.ok(statusCode === 404 || statusCode === 401, `${kind.name}: ${statusCode}`)
    if (at >= 0) times[which][counts[which]!++] = took * 1000
  }
  const [a, b] = times.map((one, which) => one.subarray(0, counts[which]))
  const most = new Float64Array([...a!, ...b!]).sort()[Math.floor(many * KEPT)]!
  return welch(
    a!.filter((one) => one < most),
    b!.filter((one) => one < most),
  )
}

function spin(us: number): void {
  const end = performance.now() + us / 1000
  while (performance.now() < end);
}

function welch(a: Float64Array, b: Float64Array): { t: number; us: number } {
  const [left, right] = [a, b].map((of) => {
    const mean = of.reduce((sum, one) => sum + one, 0) / of.length
    const variance = of.reduce((sum, one) => sum + (one - mean) ** 2, 0) / (of.length - 1)
    return { mean, error: variance / of.length }
  })
  const us = left!.mean - right!.mean
  return { t: us / Math.sqrt(left!.error + right!.error), us }
}
