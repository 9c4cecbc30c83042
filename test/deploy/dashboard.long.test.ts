/** A real Prometheus scrapes a Berth under load by the configuration of deploy/, and every query of the dashboard is answered. docs/operations.md: Alerts. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { eventually } from '../support/eventually.ts'
import {
  callerAt,
  credentialsOf,
  newHome,
  processOnBothEngines,
  type RunningService,
  startService,
} from '../support/process.ts'
import { canRun, skipReason } from '../support/programs.ts'
import { root } from '../support/root.ts'
import { freePort } from '../support/servers/free-port.ts'
import { type Json, metricsIn } from './recipes.ts'

const TOKEN = 'token-of-the-figures-of-this-test'
const dashboard: Json = JSON.parse(readFileSync(join(root, 'deploy', 'grafana', 'berth.json'), 'utf8'))
const queries: { title: string; expr: string }[] = dashboard.panels.flatMap(({ title, targets = [] }: Json) =>
  targets.map(({ expr }: Json) => ({ title, expr })),
)
/** TABLE queries of what one engine alone has: they are valid, and give nothing on the other. */
const GIVES_NOTHING: Record<string, readonly string[]> = {
  sqlite: ['berth_db_connections'],
  postgres: [],
}

test('each query of the dashboard asks for figures that Berth has', () => {
  assert.ok(queries.length > 25)
  for (const { title, expr } of queries) assert.ok(metricsIn(expr).length > 0, title)
})

/** Answers deliveries, so that some are counted. */
async function openReceiver(t: TestContext): Promise<string> {
  const server = createServer((request, response) => {
    request.resume()
    response.end('ok')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** The recipe with the address of this Berth, its token, and times that suit a test. Gives where it answers. */
async function startPrometheus(t: TestContext, target: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'berth-prometheus-'))
  writeFileSync(join(folder, 'token'), TOKEN)
  cpSync(join(root, 'deploy', 'prometheus', 'berth.rules.yml'), join(folder, 'berth.rules.yml'))
  const recipe = readFileSync(join(root, 'deploy', 'prometheus', 'prometheus.yml'), 'utf8')
  const config = recipe
    .replace('/etc/prometheus/berth-token', join(folder, 'token'))
    .replace('127.0.0.1:3000', target)
    .replaceAll('_interval: 15s', '_interval: 1s')
  writeFileSync(join(folder, 'prometheus.yml'), config)
  const port = await freePort()
  const words = [`--config.file=${folder}/prometheus.yml`, `--storage.tsdb.path=${folder}/data`]
  const child = spawn('prometheus', [...words, `--web.listen-address=127.0.0.1:${port}`], { stdio: 'ignore' })
  t.after(async () => {
    child.kill('SIGKILL')
    if (child.exitCode === null && child.signalCode === null) await once(child, 'close')
    rmSync(folder, { recursive: true, force: true })
  })
  return `http://127.0.0.1:${port}`
}

/** Waits until it holds; what cannot be asked yet does not. */
async function until(what: string, holds: () => Promise<boolean>): Promise<void> {
  await eventually(
    () => holds().catch(() => false),
    () => what,
  )
}

/** Rows of an instant query. Throws what Prometheus says is wrong with it. */
async function ask(prometheus: string, expr: string): Promise<Json[]> {
  const answer = await fetch(`${prometheus}/api/v1/query?query=${encodeURIComponent(expr)}`)
  const said: Json = await answer.json()
  assert.equal(said.status, 'success', `${expr}: ${said.error}`)
  return said.data.result
}

/** Makes every kind of work that a panel shows: requests, writes, refusals, a delivery, a letter, checks of visitors. */
async function load(
  running: RunningService,
  home: Parameters<typeof credentialsOf>[0],
  receiver: string,
  round: number,
) {
  const { token, operatorToken } = credentialsOf(home)
  const [call, operator] = [callerAt(running, token), callerAt(running, operatorToken)]
  if (round === 0) {
    await call('POST', '/v1/webhooks', { url: receiver, events: ['project.created'] })
    await call('POST', '/v1/teams/team/members', { email: 'ada@example.com', role: 'VIEWER' })
  }
  await call('POST', '/v10/projects', { name: `web-${round}` })
  await call('GET', `/v9/projects/web-${round}`)
  await call('GET', '/v9/projects/none')
  await operator('POST', '/operator/v1/timers/mail/run', {}).catch(() => {})
  const edge = /Proxies ask (http:\/\/\S+)/.exec(running.out())![1]!
  await fetch(`${edge}/edge/v1/check`, { headers: { 'x-forwarded-host': 'nobody.example.com' } })
}

const skip = canRun('prometheus', '--version') ? undefined : skipReason('prometheus', 'prometheus', 'the dashboard')

if (skip === undefined) {
  processOnBothEngines('Prometheus scrapes Berth, and every query of the dashboard answers', async (t, engine) => {
    const home = await newHome(t, engine)
    const receiver = await openReceiver(t)
    const running = await startService(t, home, { BERTH_METRICS_TOKEN: TOKEN, BERTH_ALLOW_PRIVATE_WEBHOOKS: '1' })
    const prometheus = await startPrometheus(t, new URL(running.address).host)
    await until('Prometheus is ready', async () => (await fetch(`${prometheus}/-/ready`)).ok)
    let round = 0
    const plain = (expr: string) => expr.replaceAll('$__rate_interval', '1m').replaceAll('$instance', '.*')
    const answers = (expr: string) => async () => {
      await load(running, home, receiver, round++)
      return (await ask(prometheus, plain(expr))).length > 0
    }
    for (const { title, expr } of queries) {
      const nothing = GIVES_NOTHING[engine]!.some((name) => expr.includes(name))
      if (nothing) assert.deepEqual(await ask(prometheus, plain(expr)), [], `${title}: ${expr}`)
      else await until(`${title}: ${expr}`, answers(expr))
    }
    const rules: Json = await (await fetch(`${prometheus}/api/v1/rules`)).json()
    const broken = rules.data.groups.flatMap(({ rules: all }: Json) =>
      all.filter(({ health }: Json) => health !== 'ok'),
    )
    assert.deepEqual(broken, [])
    const firing = await ask(prometheus, 'ALERTS{alertstate="firing"}')
    assert.deepEqual(
      firing.map(({ metric }: Json) => metric.alertname),
      [],
    )
  })
} else test('the dashboard', { skip }, () => {})
