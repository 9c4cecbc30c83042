/** Runs of cron jobs reach functions past the protection of their site, and visitors cannot pose as one. docs/functions.md: Cron jobs. */
import assert from 'node:assert/strict'
import { request } from 'node:http'
import { connect } from 'node:net'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import { startCrons } from '../../../src/sites/crons/cron-runs.ts'
import type { AskSelf } from '../../../src/sites/pictures/inner-request.ts'
import { eventually } from '../../support/eventually.ts'
import { SITES_TOKEN } from '../../support/worlds/sites-world.ts'
import { functionOf, showFunctions } from '../functions/function-site.ts'
import { openControlPlane, SITE } from '../visitors/control-plane.ts'

const JOB = `export default function (req, res) {
  console.log('saw ' + JSON.stringify([req.headers['user-agent'], req.headers['x-vercel-cron-schedule'] ?? null, req.headers.authorization ?? null, process.env.SECRET]))
  if (req.query.go) res.setHeader('location', 'https://elsewhere.example/')
  res.status(Number(req.query.status ?? 200)).end()
}`
/** It answers once it is asked to. */
const SLOW = `const held = []
export default function (req, res) {
  if (req.query.answer === undefined) return void console.log('held', held.push(res))
  for (const one of held.splice(0)) one.end()
  res.end()
}`
const PROTECTION = { password: 'all' } as const

test('a run passes the protection with its headers; a visitor who sends the same does not', async (t) => {
  const { visit, control } = await showFunctions(t, functionOf('api/job', JOB), {
    env: { SECRET: 'a long secret' },
    offered: {
      protection: PROTECTION,
      check: (_, response) => response.writeHead(403, { 'x-edge-error': 'NOT_ALLOWED' }).end('closed'),
    },
  })
  const schedule = '*/5 * * * *'
  const posing = { 'user-agent': 'vercel-cron/1.0', 'x-vercel-cron-schedule': schedule, authorization: 'Bearer s' }
  assert.equal((await visit('/api/job', posing)).status, 403)
  const of = { host: SITE, schedule, owner: 'u1' }
  control.crons.push(
    { id: 'one', path: '/api/job', secret: 'a long secret', ...of },
    { id: 'two', path: '/api/job?status=307&go=1', secret: null, ...of },
    { id: 'three', path: '/none', secret: null, ...of },
    { id: 'four', path: '/api/job', secret: null, ...of, host: 'unknown.example' },
  )
  await eventually(async () => control.results.length === 4)
  const results = Object.fromEntries(control.results.map(({ id, status, fault }) => [id, [status, fault]]))
  assert.deepEqual(results, { one: [200, null], two: [307, null], three: [404, null], four: [404, null] })
  await eventually(async () => control.lines.filter(({ text }) => text !== '').length === 2)
  const texts = control.lines.filter(({ text }) => text !== '').map(({ text }) => text)
  assert.deepEqual(texts.toSorted(), [
    `saw ${JSON.stringify(['vercel-cron/1.0', schedule, 'Bearer ***', '***'])}`,
    `saw ${JSON.stringify(['vercel-cron/1.0', schedule, null, '***'])}`,
  ])
  const [line] = control.lines.filter(({ text }) => text.includes('Bearer'))
  assert.deepEqual([line!.path, line!.method, line!.status, line!.deploymentId], ['/api/job', 'GET', 200, 'd1'])
})

test('a run comes by https where visitors do, so an application that redirects http runs it', async (t) => {
  const module = `export default (req, res) => req.headers['x-forwarded-proto'] === 'https' ? res.end() : res.redirect(308, 'https://' + req.headers.host)`
  const { control } = await showFunctions(t, functionOf('api/job', module))
  const of = { path: '/api/job', host: SITE, schedule: '* * * * *', secret: null, owner: 'u1' }
  control.crons.push(
    { id: 'secure', isSecure: true, ...of },
    { id: 'plain', isSecure: false, ...of },
    { id: 'older', ...of },
  )
  await eventually(async () => control.results.length === 3)
  const results = Object.fromEntries(control.results.map(({ id, status }) => [id, status]))
  assert.deepEqual(results, { secure: 200, plain: 308, older: 308 })
})

test('a run whose path or secret is not of HTTP fails alone, and the sites server goes on', async (t) => {
  const { visit, control } = await showFunctions(t, functionOf('api/job', JOB), { env: { SECRET: 'a long secret' } })
  const of = { host: SITE, schedule: '* * * * *', owner: 'u1' }
  const wrong = { path: ['/api/job now', '/api/job\r\nx: y', '/api/\u20ac'], secret: ['two\nlines', '\u20ac'] }
  control.crons.push(
    ...wrong.path.map((path) => ({ id: path, path, secret: null, ...of })),
    ...wrong.secret.map((secret) => ({ id: secret, path: '/api/job', secret, ...of })),
    { id: 'good', path: '/api/job', secret: 'of the job', ...of },
  )
  await eventually(async () => control.results.length === 6)
  const faulty = control.results.filter(({ status }) => status === null)
  assert.deepEqual(faulty.map(({ id }) => id).toSorted(), [...wrong.path, ...wrong.secret].toSorted())
  for (const { fault } of faulty) assert.match(fault ?? '', /^The request failed: /)
  assert.equal(control.results.find(({ id }) => id === 'good')?.status, 200)
  assert.equal((await visit('/api/job')).status, 200)
})

test('a lease says how many runs of each owner the sites server has', async (t) => {
  const { visit, control } = await showFunctions(t, functionOf('api/slow', SLOW))
  const of = { host: SITE, schedule: '* * * * *', path: '/api/slow', secret: null }
  control.crons.push(
    { id: 'one', owner: 'u1', ...of },
    { id: 'two', owner: 'u1', ...of },
    { id: 'x', owner: 'u2', ...of },
  )
  await eventually(async () => control.leases.some(({ running }) => running?.u1 === 2 && running.u2 === 1))
  await eventually(async () => {
    await visit('/api/slow?answer')
    return control.results.length === 3
  })
  await eventually(async () => Object.keys(control.leases.at(-1)?.running ?? { u1: 1 }).length === 0)
})

test('a stop waits for a run that ends soon, ends one that does not, and reports both', async (t) => {
  const control = await openControlPlane(t)
  const answers = new Map<string, () => void>()
  const askSelf: AskSelf = ({ path }, signal, take) =>
    new Promise((resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason))
      answers.set(path, () => resolve(take({ status: 200, headers: {}, body: Readable.from([]) })))
    })
  const of = { host: SITE, schedule: '* * * * *', secret: null, owner: 'u1' }
  control.crons.push({ id: 'soon', path: '/soon', ...of }, { id: 'late', path: '/late', ...of })
  const crons = { origin: control.origin, token: SITES_TOKEN, log: pino({ level: 'silent' }) }
  const stop = startCrons(crons, askSelf, { periodMs: 5, lastMs: 50 })
  await eventually(() => answers.size === 2)
  const stopped = stop()
  answers.get('/soon')!()
  await stopped
  const results = Object.fromEntries(control.results.map(({ id, status, fault }) => [id, status ?? fault]))
  assert.deepEqual(results, { soon: 200, late: 'Its sites server was stopped.' })
})

test('a sites server that stops takes no more runs, also while a visitor is answered', async (t) => {
  const { site, control } = await showFunctions(t, functionOf('api/slow', SLOW))
  const { hostname, port } = new URL(site.origin)
  const visitor = request({ hostname, port, path: '/api/slow', headers: { host: SITE } }).on('error', () => {})
  visitor.end()
  await eventually(() => control.lines.some(({ text }) => text.startsWith('held')))
  const stopped = site.stop()
  const isClosed = () =>
    new Promise<boolean>((resolve) => {
      const socket = connect(Number(port), hostname, () => resolve(!socket.destroy()))
      socket.on('error', () => resolve(true))
    })
  await eventually(isClosed)
  control.crons.push({ id: 'x', path: '/api/slow', host: SITE, schedule: '* * * * *', secret: null, owner: 'u1' })
  // Gives time to a lease, which must not come.
  await sleep(2500)
  visitor.destroy()
  await stopped
  assert.equal(control.crons.length, 1)
})
