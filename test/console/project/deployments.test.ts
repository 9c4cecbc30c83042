/** Deployments in the console: the list, one of them, and promote and rollback with their progress. docs/console.md. */
import assert from 'node:assert/strict'
import { addUsage } from '../../../src/projects/deployments/usage.ts'
import { runTimer } from '../../../src/timers.ts'
import { openSignedInClient } from '../../support/clients/browser-client.ts'
import { seedDeployment, seedProject } from '../../support/projects.ts'
import { setInTransfer, tamper } from '../../support/states.ts'
import { onBothEngines } from '../../support/world.ts'
import { SETTINGS, seedWebProject } from '../../support/worlds/deploy-world.ts'

const PATH = '/console/t/admin/projects/web/deployments'
const META = { githubCommitRef: 'main', githubCommitMessage: 'Mend <it>' }

onBothEngines(
  'a deployment is promoted and rolled back, and the page follows until it is done',
  async (world) => {
    const client = await openSignedInClient(world)
    const web = await seedWebProject(world)
    const none = (await client.get(PATH)).text
    assert.match(none, /No deployments yet/)
    assert.match(none, /<pre>vercel link --yes --project web<\/pre>/)
    const first = await web.deploy({ meta: { ...META, log: 'https://ci.example.com/7', other: 'javascript://x' } })
    const second = await web.deploy()
    const list = (await client.get(PATH)).text
    assert.match(list, />Mend &lt;it&gt;<\/a>[\s\S]*?<span>main<\/span>/)
    assert.match(
      list,
      new RegExp(
        `Live</span>.*</span>\\s*<div class="dep-what"><span class="line tight one"><a class="to medium" href="[^"]*/${second}">d2.host.test</a><span class="badge good">Current`,
      ),
    )

    const page = await client.get(`${PATH}/${first}`)
    assert.match(page.text, /<td[^>]*><code>githubCommitMessage<\/code><\/td><td[^>]*>Mend &lt;it&gt;<\/td>/)
    assert.match(
      page.text,
      /<td[^>]*><a href="https:\/\/ci\.example\.com\/7"[^>]*>https:\/\/ci\.example\.com\/7<\/a><\/td>/,
    )
    assert.match(page.text, /<td[^>]*>javascript:\/\/x<\/td>/)
    assert.match(page.text, /Roll back…/)
    const live = await client.get(`${PATH}/${second}`)
    assert.doesNotMatch(live.text, /Promote…|Roll back…/)
    assert.match(live.text, /href="https:\/\/one\.apps\.example\.net"/)

    const asked = (await client.get(`${PATH}/${first}/rollback`)).text
    assert.match(
      asked,
      /<h1>Roll back production\?<\/h1>[\s\S]*Moves 2 domains\.[\s\S]*From, live now[\s\S]*d2\.host\.test/,
    )
    assert.match(asked, /Mend &lt;it&gt;[\s\S]*one\.apps\.example\.net[\s\S]*will not go live until you promote one/)
    assert.match((await client.get(`${PATH}/${first}/promote`)).text, /<h1>Promote to production\?<\/h1>/)
    const rolled = await client.post(`${PATH}/${first}/rollback`)
    assert.deepEqual([rolled.status, rolled.location], [303, `${PATH}/progress`], rolled.text)
    const waiting = await client.get(rolled.location)
    assert.match(waiting.text, /<noscript><meta http-equiv="refresh" content="2"><\/noscript>/)
    assert.match(
      waiting.text,
      /<td[^>]*>one\.apps\.example\.net<\/td><td[^>]*><span class="state busy"><svg.*?<\/svg>Pending/,
    )
    await web.sweep()
    await web.sweep()
    const done = await client.get(rolled.location)
    assert.match(done.text, /<h1>Roll back<\/h1>/)
    assert.match(done.text, /state good"><svg.*?<\/svg>Succeeded/)
    assert.match(done.text, /To, live now<[\s\S]*<a [^>]*>Mend &lt;it&gt;<\/a>/)
    assert.match(
      done.text,
      /<td[^>]*>one\.apps\.example\.net<\/td><td[^>]*><span class="state good"><svg.*?<\/svg>Completed/,
    )
    assert.doesNotMatch(done.text, /http-equiv/)

    const promoted = await client.post(`${PATH}/${second}/promote`)
    assert.equal(promoted.status, 303, promoted.text)
    assert.match((await client.get(promoted.location)).text, /<h1>Promote<\/h1>/)
    assert.equal((await web.read()).targets.production.id, second)
  },
  SETTINGS,
)

onBothEngines(
  'the page of a deployment shows its responses within a day, and nothing without visitors',
  async (world) => {
    const client = await openSignedInClient(world)
    const web = await seedWebProject(world)
    const [id, other] = [await web.deploy(), await web.deploy()]
    const now = world.deps.clock.now()
    const hour = now - (now % 3_600_000)
    const line = { deploymentId: id, bytes: 1024 ** 2, statuses: { '2xx': 1000, '3xx': 0, '4xx': 0, '5xx': 3 } }
    const usage = [0, 1, 40].map((ago) => ({ ...line, requests: 1003, hour: hour - ago * 3_600_000 }))
    await world.deps.db.write((tx) => addUsage(tx, { server: 'one', sequence: 1, usage }, now))
    const shown = (await client.get(`${PATH}/${id}`)).text
    assert.ok(shown.includes('<dt>Last 24 hours</dt><dd>2,006 requests (6 failed), 2.0 MiB sent</dd>'), shown)
    assert.doesNotMatch((await client.get(`${PATH}/${other}`)).text, /Last 24 hours/)
    assert.doesNotMatch(shown, /Requests by hour/, 'two hours are in the sum')
  },
  SETTINGS,
)

onBothEngines(
  'a day of visitors is a chart by the hour on the page of its deployment, and a line on that of the project',
  async (world) => {
    const client = await openSignedInClient(world)
    const web = await seedWebProject(world)
    const id = await web.deploy()
    const now = world.deps.clock.now()
    const hour = now - (now % 3_600_000)
    const line = { deploymentId: id, bytes: 1024, statuses: { '2xx': 30, '3xx': 0, '4xx': 0, '5xx': 10 } }
    const usage = [0, 1, 22].map((ago) => ({ ...line, requests: 40 * (ago + 1), hour: hour - ago * 3_600_000 }))
    await world.deps.db.write((tx) => addUsage(tx, { server: 'one', sequence: 1, usage }, now))
    const { text } = await client.get(`${PATH}/${id}`)
    const [chart = ''] = /<figure class="drawing">[\s\S]*?<\/figure>/.exec(text) ?? []
    assert.match(chart, /aria-label="Requests by hour, at most 920"/)
    assert.equal(chart.match(/<rect class="main"/g)?.length, 24, 'hours without a visitor have a place, too')
    const rows = [
      ...chart.matchAll(/data-label="answered" class="num">(\d+)<.*?data-label="failed \(5xx\)" class="num">(\d+)</g),
    ]
    const counts = rows.map(([, answered, failed]) => `${answered} ${failed}`).filter((one) => one !== '0 0')
    assert.deepEqual(counts, ['910 10', '70 10', '30 10'])
    const overview = (await client.get(PATH.replace('/deployments', ''))).text
    assert.match(
      overview,
      /<dt>Last 24 hours<\/dt><dd>1,040 requests \(30 failed\)[\s\S]*aria-label="By hour, at most 920"/,
    )
  },
  SETTINGS,
)

onBothEngines(
  'a page is visited where the sites server of a laptop listens, and elsewhere over https',
  async (world) => {
    const client = await openSignedInClient(world)
    await seedProject(world, 'web')
    const files = [{ file: '.vercel/output/config.json', data: '{"version":3}' }]
    const { body } = await world.call('POST', '/v13/deployments?prebuilt=1', { name: 'web', files })
    const visit = (href: string) => `<a class="btn" href="${href}" rel="noreferrer">Visit<svg`
    const own = (await client.get(`${PATH}/${body.id}`)).text
    assert.match(body.url, /\.berth\.localhost:3002$/)
    assert.ok(own.includes(visit(`http://${body.url}`)), own)
    const elsewhere = await seedDeployment(world, body.projectId, { url: 'built.host.test' })
    assert.ok((await client.get(`${PATH}/${elsewhere}`)).text.includes(visit('https://built.host.test')))
    const queued = await seedDeployment(world, body.projectId, { url: 'queued.host.test', readyState: 'QUEUED' })
    assert.doesNotMatch((await client.get(`${PATH}/${queued}`)).text, /Visit/)
  },
)

onBothEngines(
  'a failed promote shows the reason on its page, and the button is missing while the project is paused or in transfer',
  async (world) => {
    const client = await openSignedInClient(world)
    const web = await seedWebProject(world)
    const building = await web.deploy({ readyState: 'BUILDING' })
    await client.get(`${PATH}/${building}`)
    const early = await client.post(`${PATH}/${building}/promote`)
    assert.equal(early.status, 409)
    assert.match(early.text, /only one that is READY/)
    assert.match(early.text, /<h1>d1\.host\.test<span class="state busy">/)
    const ready = await web.deploy()
    await world.call('POST', `/v1/projects/${web.id}/pause`)
    const paused = await client.post(`${PATH}/${ready}/promote`)
    assert.equal(paused.status, 409)
    assert.match(paused.text, /Unpause it first/)
    await world.call('POST', `/v1/projects/${web.id}/unpause`)
    await web.promote(await web.deploy())
    const offers = async () => /Promote…/.test((await client.get(`${PATH}/${ready}`)).text)
    assert.equal(await offers(), true)
    await world.call('POST', `/v1/projects/${web.id}/pause`)
    assert.equal(await offers(), false)
    const why = /is paused. <a href="\/console\/t\/admin\/projects\/web">Resume<\/a> it before/
    assert.match((await client.get(`${PATH}/${ready}`)).text, why)
    await world.call('POST', `/v1/projects/${web.id}/unpause`)
    await setInTransfer(world, web.id, 1)
    assert.equal(await offers(), false)
  },
  SETTINGS,
)

onBothEngines(
  'the list is narrowed, and shows no deployment of another project',
  async (world) => {
    const client = await openSignedInClient(world)
    const web = await seedWebProject(world)
    await web.deploy({ readyState: 'ERROR' })
    await web.deploy({ target: 'preview', gitBranch: 'next' })
    const other = (await world.call('POST', '/v10/projects', { name: 'shop' })).body
    const strange = await world.operator('POST', `/operator/v1/projects/${other.id}/deployments`, {
      url: 'shop.host.test',
      readyState: 'READY',
    })
    assert.equal((await client.get(`${PATH}/${strange.body.id}`)).status, 404)
    const all = (await client.get(PATH)).text
    assert.match(all, /d1\.host\.test[\s\S]*|d2\.host\.test/)
    assert.doesNotMatch(all, /shop\.host\.test/)
    const failed = (await client.get(`${PATH}?state=ERROR`)).text
    assert.match(failed, /d1\.host\.test/)
    assert.doesNotMatch(failed, /d2\.host\.test/)
    const branch = (await client.get(`${PATH}?branch=next&target=preview`)).text
    assert.match(branch, /d2\.host\.test/)
    assert.doesNotMatch(branch, /d1\.host\.test/)
    assert.match((await client.get(`${PATH}?branch=nobody`)).text, /No deployments match these filters/)
    assert.equal((await client.get(`${PATH}?state=nonsense`)).status, 400)
    assert.match((await client.get('/console/t/admin/projects/web')).text, /newest production deployment failed/)
  },
  SETTINGS,
)

onBothEngines(
  'the overview shows a deployment that waits, and domains that a promote could not map',
  async (world) => {
    const client = await openSignedInClient(world)
    const web = await seedWebProject(world)
    const overview = async () => (await client.get('/console/t/admin/projects/web')).text
    const first = await web.deploy({ meta: { githubCommitMessage: 'Take gift cards' } })
    const second = await web.deploy()
    assert.doesNotMatch(await overview(), /Needs attention/)
    assert.match(await overview(), new RegExp(`href="[^"]*/${first}/rollback">[\\s\\S]*Roll back…</a>`))
    await web.rollback(first)
    // Both are compared by their time.
    world.deps.clock.set(world.deps.clock.now() + 1000)
    const third = await web.deploy()
    const held = await overview()
    assert.match(
      held,
      /Rolled back <time[^>]*>just now<\/time> by you to <a [^>]*>Take gift cards<\/a>\. New deployments will not go live/,
    )
    assert.match(held, new RegExp(`/${third}">[^<]*</a> is waiting\\.`))
    assert.match(held, new RegExp(`/${second}/promote">Undo the rollback…</a>`))
    await setInTransfer(world, web.id, 1)
    assert.doesNotMatch(await overview(), /Undo the rollback|Roll back…/, 'what a route refuses is not offered')
    await setInTransfer(world, web.id, null)
    for (const text of [held, (await client.get(PATH)).text, (await client.get(`${PATH}/${third}`)).text])
      assert.equal(text.match(/state warn"><svg.*?<\/svg>Waiting</g)?.length, 1)
    await world.call('POST', `/v1/projects/${web.id}/pause`)
    assert.match((await client.get('/console/t/admin/projects/web/pause')).text, /<h1>Pause web\?<\/h1>/)
    for (const page of [PATH, `${PATH}/${first}`]) {
      const { text } = await client.get(page)
      assert.match(text, /state warn"><svg.*?<\/svg>Paused</, page)
      assert.doesNotMatch(text, /<\/svg>Live</, 'visitors of a paused project get 503')
    }
    assert.doesNotMatch(await overview(), /Rolled back/, 'a paused project shows that it is paused')
    await world.call('POST', `/v1/projects/${web.id}/unpause`)
    await world.call('POST', '/v10/projects/web/domains', { name: 'www.example.com' })
    await tamper(world, 'project_domain', { verified_at: world.deps.clock.now() }, { name: 'www.example.com' })
    await web.promote(first)
    // As when another account verifies it meanwhile.
    await tamper(world, 'project_domain', { verified_at: null }, { name: 'www.example.com' })
    for (let step = 0; step < 3; step++) await web.sweep()
    assert.match(await overview(), /Some domains could not be assigned by <a [^>]*>the latest promote/)
    const { text } = await client.get(`${PATH}/progress`)
    assert.match(text, /<td[^>]*>www\.example\.com<\/td><td[^>]*><span class="state bad"><svg.*?<\/svg>Failed/)
    assert.doesNotMatch(text, /<td[^>]*>one\.apps\.example\.net/, 'the failed ones alone, of however many')
  },
  SETTINGS,
)

onBothEngines(
  'after a rollback, one press turns automatic promotion on, and promotes nothing',
  async (world) => {
    const web = await seedWebProject(world)
    const first = await web.deploy()
    await web.deploy()
    await web.rollback(first)
    world.deps.clock.set(world.deps.clock.now() + 1000)
    const waiting = await web.deploy()
    const overview = '/console/t/admin/projects/web'
    const resume = `action="${overview}/automatic-promotion"`
    const client = await openSignedInClient(world)
    await setInTransfer(world, web.id, 1)
    assert.ok(!(await client.get(overview)).text.includes(resume), 'the route refuses it')
    await setInTransfer(world, web.id, null)
    assert.ok((await client.get(overview)).text.includes(resume))
    const resumed = await client.post(`${overview}/automatic-promotion`)
    assert.deepEqual([resumed.status, resumed.location], [303, overview], resumed.text)
    assert.equal((await web.read()).autoAssignCustomDomains, true)
    assert.equal((await web.read()).targets.production?.id, first)
    const { text } = await client.get(overview)
    assert.match(text, /role="status".*go live automatically again\./)
    assert.match(text, new RegExp(`is not live: <a href="[^"]*/${waiting}">`))
    assert.doesNotMatch(text, /Rolled back|automatic-promotion/)
  },
  SETTINGS,
)

onBothEngines(
  'the question before a promote counts every domain that it maps, also without a live deployment',
  async (world) => {
    const client = await openSignedInClient(world)
    const labels = Array.from({ length: 23 }, (_, at) => `n${at}`)
    const web = await seedWebProject(world, labels)
    await world.call('PATCH', '/v9/projects/web', { autoAssignCustomDomains: false })
    const first = await web.deploy()
    for (const page of [`${PATH}/${first}/promote`, '/console/t/admin/projects/web/pause']) {
      const { text } = await client.get(page)
      assert.match(text, /23 domains/)
      assert.equal(text.match(/<span class="medium any">n\d+\.apps\.example\.net</g)?.length, 20)
      assert.match(text, /and 3 more/)
    }
    await web.promote(first)
    await web.sweep()
    assert.match((await client.get(`${PATH}/${await web.deploy()}/promote`)).text, /Moves 23 domains\./)
  },
  SETTINGS,
)

onBothEngines(
  'the question before a promote says whether later deployments go live automatically',
  async (world) => {
    const client = await openSignedInClient(world)
    const web = await seedWebProject(world)
    const [first, second] = [await web.deploy(), await web.deploy()]
    const asked = async () => (await client.get(`${PATH}/${first}/promote`)).text
    assert.match(await asked(), /New production deployments go live automatically\./)
    await web.rollback(first)
    const again = (await client.get(`${PATH}/${second}/promote`)).text
    assert.match(again, /go live automatically again, which the rollback had stopped\./)
    await web.promote(second)
    await world.call('PATCH', '/v9/projects/web', { autoAssignCustomDomains: false })
    assert.match(await asked(), /automatic promotion is off in Settings\./)
    await web.promote(first)
    assert.equal((await web.read()).autoAssignCustomDomains, false)
  },
  SETTINGS,
)

onBothEngines(
  'the overview never advises to promote what a rollback left, also once later deployments go live again',
  async (world) => {
    const client = await openSignedInClient(world)
    const web = await seedWebProject(world)
    const overview = async () => (await client.get('/console/t/admin/projects/web')).text
    const first = await web.deploy()
    await web.deploy()
    await web.rollback(first)
    await world.call('PATCH', '/v9/projects/web', { autoAssignCustomDomains: true })
    assert.doesNotMatch(await overview(), /Needs attention|Promote it to put it live/)
    await world.call('PATCH', '/v9/projects/web', { autoAssignCustomDomains: false })
    world.deps.clock.set(world.deps.clock.now() + 1000)
    await web.deploy()
    await world.call('PATCH', '/v9/projects/web', { autoAssignCustomDomains: true })
    assert.match(await overview(), /The newest production deployment is not live[\s\S]*Promote it to put it live/)
  },
  SETTINGS,
)

onBothEngines('who rolled back is named, where one undoes it, too', async (world) => {
  const { teamId } = world.credentials
  const query = `?teamId=${teamId}`
  const id = await seedProject(world, 'web', query)
  const [first, second] = [
    await seedDeployment(world, id, { url: 'd1.host.test' }),
    await seedDeployment(world, id, { url: 'd2.host.test' }),
  ]
  const mate = await world.user('mate')
  await world.join(mate, 'MEMBER')
  const rolled = await mate.call('POST', `/v1/projects/${id}/rollback/${first}${query}`, {})
  assert.equal(rolled.status, 201, rolled.text)
  await runTimer(world.deps, 'alias-requests', world.deps.clock.now())
  const pages = ['', '/deployments/progress'].map((page) => `/console/t/team/projects/web${page}`)
  const undo = new RegExp(`/deployments/${second}/promote">Undo the rollback…</a>`)
  const client = await openSignedInClient(world)
  for (const page of pages) {
    const { text } = await client.get(page)
    assert.match(text, /<\/time> by mate\b/, page)
    assert.match(text, undo, page)
  }
  const own = await openSignedInClient(world, mate.id, 'mate')
  for (const page of pages) assert.match((await own.get(page)).text, /<\/time> by you\b/, page)
  const viewer = await world.user('viewer')
  await world.join(viewer, 'VIEWER')
  const reader = await openSignedInClient(world, viewer.id, 'viewer')
  for (const page of pages) assert.doesNotMatch((await reader.get(page)).text, undo, page)
})

onBothEngines(
  'the list begins with the live deployment, and each row has a menu of what can be done to it',
  async (world) => {
    const client = await openSignedInClient(world)
    const web = await seedWebProject(world)
    const before = await web.deploy()
    const live = await web.deploy()
    const failed = await web.deploy({ target: 'preview', readyState: 'ERROR' })
    const { text } = await client.get(PATH)
    const rows = [...text.matchAll(/<h2>([^<]+)<\/h2>|id="menu:(dpl_\w+)"/g)].map(([, title, id]) => title ?? id)
    assert.deepEqual(rows, ['In production', live, 'All deployments', failed, before])
    const menuOf = (id: string) => {
      const [menu = assert.fail(id)] = new RegExp(`id="menu:${id}"[\\s\\S]*?</details>`).exec(text) ?? []
      return [...menu.matchAll(/([^<>]+)<\/a>/g)].map(([, words]) => words)
    }
    assert.deepEqual(menuOf(live), ['Visit', 'Remove…'])
    assert.deepEqual(menuOf(before), ['Visit', 'Roll back…', 'Promote…', 'Remove…'])
    assert.deepEqual(menuOf(failed), ['Remove…'])
    const narrowed = (await client.get(`${PATH}?target=production`)).text
    assert.doesNotMatch(narrowed, /In production/)
    assert.match(narrowed, new RegExp(`id="menu:${live}"`))
  },
  SETTINGS,
)
