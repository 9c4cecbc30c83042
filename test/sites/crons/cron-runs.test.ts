/** Runs of cron jobs reach functions past the protection of their site, and visitors cannot pose as one. docs/functions.md: Cron jobs. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from '../../support/eventually.ts'
import { functionOf, showFunctions } from '../functions/function-site.ts'
import { SITE } from '../visitors/control-plane.ts'

const JOB = `export default function (req, res) {
  console.log('saw ' + JSON.stringify([req.headers['user-agent'], req.headers['x-vercel-cron-schedule'] ?? null, req.headers.authorization ?? null, process.env.SECRET]))
  if (req.query.go) res.setHeader('location', 'https://elsewhere.example/')
  res.status(Number(req.query.status ?? 200)).end()
}`
/** It answers once it is asked to. */
const SLOW = `const held = []
export default function (req, res) {
  if (req.query.answer === undefined) return void held.push(res)
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
