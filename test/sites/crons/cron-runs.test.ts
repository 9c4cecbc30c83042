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
  const of = { host: SITE, schedule }
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
