/** Pages of functions: the newest log lines of a deployment, and the cron jobs of a project. docs/console.md: Project pages. */
import assert from 'node:assert/strict'
import { runTimer } from '../../../src/timers.ts'
import { deploy, SUFFIX } from '../../delivery/deploys/deploying.ts'
import { openSignedInClient } from '../../support/clients/browser-client.ts'
import { readPage } from '../../support/clients/page-text.ts'
import { seedProject } from '../../support/projects.ts'
import { onBothEngines } from '../../support/world.ts'
import { openInstance, SITES_TOKEN } from '../../support/worlds/sites-world.ts'

const SETTINGS = { ...SUFFIX, BERTH_SITES_TOKEN: SITES_TOKEN, BERTH_FUNCTIONS: 'trusted' }
const SITE = {
  '.vercel/output/config.json': '{"version":3,"crons":[{"path":"/api/job","schedule":"*/5 * * * *"}]}',
  '.vercel/output/static/index.html': '<h1>Hello</h1>',
}

onBothEngines(
  'the page of a deployment shows and narrows its lines, that of the project its cron jobs',
  async (world) => {
    await seedProject(world, 'web')
    const client = await openSignedInClient(world)
    const { id } = await deploy(world.call, SITE, { target: 'production' })
    await runTimer(world.deps, 'cron-jobs', world.deps.clock.now())
    const page = async (query = '') =>
      (await client.get(`/console/t/admin/projects/web/deployments/${id}${query}`)).text
    assert.doesNotMatch(await page(), /Function log/)
    const { origin, close } = await openInstance(world)
    const of = { deploymentId: id, date: world.deps.clock.now(), method: 'GET', host: 'web.example', path: '/api/job' }
    const lines = [
      { ...of, requestId: 'a', status: 200, level: 'info', text: 'said <b>so</b>', functionName: 'api/job' },
      { ...of, requestId: 'b', status: 500, level: 'error', text: 'went wrong', functionName: 'api/[id]' },
      { ...of, requestId: 'e', status: 404, level: 'warning', text: 'not there', functionName: 'api/job' },
      { ...of, requestId: '', method: '', path: '', status: 0, level: 'info', text: 'on its own' },
    ]
    const time = new Date(of.date).toISOString().slice(11, 19)
    const logOf = (text: string) => {
      const card = readPage(text, 'Function log')
      return card.slice(card.indexOf('[Filter]') + 1)
    }
    const body = JSON.stringify({ server: 'serverserver0001', sequence: 1, lines })
    const headers = { authorization: `Bearer ${SITES_TOKEN}` }
    assert.equal((await fetch(`${origin}/sites/v1/logs`, { method: 'POST', headers, body })).status, 200)
    const wrong = [`(error) 500 ${time} GET /api/job (api/[id])`, `(error) ${time} went wrong`]
    const log = logOf(await page())
    const others = [
      `(step) 200 ${time} GET /api/job`,
      `(step) 404 ${time} GET /api/job`,
      `(step) ${time} Outside of a request`,
      `${time} not there`,
      `${time} on its own`,
      `${time} said <b>so</b>`,
    ]
    assert.deepEqual(log.toSorted(), [...wrong, ...others].sort())
    assert.equal(log[log.indexOf(wrong[0]!) + 1], wrong[1], 'below its request')
    assert.deepEqual(logOf(await page('?level=error')), wrong)
    assert.deepEqual(logOf(await page('?text=wrong')), wrong)
    assert.deepEqual(logOf(await page('?text=nothing')), ['No such lines.'])
    for (const query of ['?status=5xx', '?function=API/[', '?status=5xx&function=id&level=error&text=wrong'])
      assert.deepEqual(logOf(await page(query)), wrong, query)
    assert.deepEqual(logOf(await page('?status=5xx&function=job')), ['No such lines.'])
    const report = async (sequence: number, many: readonly object[]) => {
      const said = JSON.stringify({ server: 'serverserver0001', sequence, lines: many })
      assert.equal((await fetch(`${origin}/sites/v1/logs`, { method: 'POST', headers, body: said })).status, 200)
    }
    const long = { ...of, requestId: 'c', status: 200, level: 'info' }
    await report(
      2,
      Array.from({ length: 600 }, (_, at) => ({ ...long, text: `line ${at}.` })),
    )
    const shown = await page()
    assert.equal(shown.match(/<span>line \d+\.<\/span>/g)?.length, 500)
    assert.ok(shown.includes('line 599.') && !shown.includes('line 99.'), 'the newest')
    assert.match(shown, /The newest lines\./)
    await report(
      3,
      Array.from({ length: 20 }, (_, at) => ({ ...long, requestId: 'd', text: `${at}${'x'.repeat(9000)}` })),
    )
    assert.ok((await page()).length < 200 * 1024, 'lines of any length')
    assert.doesNotMatch(await page(), /Functions in the last 24 hours/)
    const hour = world.deps.clock.now() - (world.deps.clock.now() % 3_600_000)
    const counts = [
      { deploymentId: id, name: 'api/[id]', hour, invocations: 1200, errors: 3, ms: 6000 },
      { deploymentId: id, name: '', hour, invocations: 1, errors: 0, ms: 2 },
    ]
    const used = JSON.stringify({ server: 'serverserver0002', sequence: 1, usage: [], functions: counts })
    assert.equal((await fetch(`${origin}/sites/v1/usage`, { method: 'POST', headers, body: used })).status, 200)
    const table = (await page()).replaceAll(/<[^>]*>/g, '|').replaceAll(/\|+/g, '|')
    assert.match(table, /\|api\/\[id\]\|1,200\|3\|5\|6,000\|Others\|1\|0\|2\|2\|/)
    const project = (await client.get('/console/t/admin/projects/web')).text
    assert.match(project, /Cron jobs[\s\S]*<code>\/api\/job<\/code>[\s\S]*<code>\*\/5 \* \* \* \*<\/code>/)
    await close()
  },
  SETTINGS,
)

onBothEngines(
  'the cron jobs of a project are turned off and on by its page, which says why none runs',
  async (world) => {
    await seedProject(world, 'web')
    const client = await openSignedInClient(world)
    await deploy(world.call, SITE, { target: 'production' })
    await runTimer(world.deps, 'cron-jobs', world.deps.clock.now())
    const path = '/console/t/admin/projects/web'
    const enabled = async () => (await world.call('GET', '/v1/projects/web/crons')).body.enabled
    assert.match((await client.get(path)).text, /action="[^"]*\/web\/crons"[\s\S]*>Turn off cron jobs</)
    const off = await client.post(`${path}/crons`, { enabled: 'false' })
    assert.deepEqual([off.status, off.location, await enabled()], [303, path, false], off.text)
    const page = (await client.get(path)).text
    assert.match(page, /role="status".*The cron jobs are off\.[\s\S]*They do not run: they are turned off\./)
    await world.call('POST', '/v1/projects/web/pause')
    assert.match((await client.get(path)).text, /They do not run: the project is paused, and they are turned off\./)
    await world.call('POST', '/v1/projects/web/unpause')
    assert.match(page, /name="enabled" value="true"[\s\S]*>Turn on cron jobs</)
    assert.equal((await client.post(`${path}/crons`, { enabled: 'true' })).status, 303)
    assert.equal(await enabled(), true)
  },
  SETTINGS,
)
