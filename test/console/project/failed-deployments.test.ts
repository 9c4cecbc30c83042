/** Failed deployments in the overview and on the card of their project. docs/console.md: Project pages. */
import assert from 'node:assert/strict'
import { hearStatements, walksOf } from '../../platform/db/statements.ts'
import { openSignedInClient } from '../../support/clients/browser-client.ts'
import { readPage } from '../../support/clients/page-text.ts'
import { seedDeployment } from '../../support/projects.ts'
import { tamper } from '../../support/states.ts'
import { onBothEngines } from '../../support/world.ts'
import { SETTINGS, seedWebProject } from '../../support/worlds/deploy-world.ts'

/** What the card of the project `web` says of deployments that failed: the words by their id. */
function cardOf(list: string): Record<string, string> {
  const links = list.matchAll(/<a class="state bad" href="[^"]*\/deployments\/(dpl_\w+)"><svg.*?<\/svg>([^<]+)<\/a>/g)
  return Object.fromEntries([...links].map(([, id, words]) => [id!, words!]))
}

onBothEngines(
  'the newest deployment of production that failed is a problem of its project, also behind later previews',
  async (world) => {
    const client = await openSignedInClient(world)
    const web = await seedWebProject(world)
    const see = async () => {
      const overview = (await client.get('/console/t/admin/projects/web')).text
      return { overview, card: cardOf((await client.get('/console/t/admin')).text) }
    }
    await web.deploy()
    const failed = await web.deploy({ readyState: 'ERROR' })
    for (let at = 0; at < 6; at++) await web.deploy({ target: 'preview', gitBranch: `b${at}` })
    // The newest of another project says nothing of this one.
    const { id } = (await world.call('POST', '/v10/projects', { name: 'other' })).body
    await seedDeployment(world, id, { url: 'other.host.test', target: 'production', readyState: 'READY' })
    const behind = await see()
    assert.ok(!(await web.read()).latestDeployments.some(({ id }: { id: string }) => id === failed))
    assert.match(
      behind.overview,
      new RegExp(`<svg class="st bad"[^\\n]*newest production deployment failed: <a href="[^"]*/${failed}">`),
    )
    assert.deepEqual(behind.card, { [failed]: 'Production deployment failed' })
    assert.match(behind.overview, /state good"><svg.*?<\/svg>Live \(earlier deployment\)</)
    assert.match((await client.get('/console/t/admin')).text, /state good"><svg.*?<\/svg>Live \(earlier deployment\)</)
    await tamper(
      world,
      'deployment',
      { error_message: `\u001b[31mNo <next>\u001b[0m ${'x'.repeat(300)}` },
      { id: failed },
    )
    assert.match((await see()).overview, /<\/a>\. <span class="soft any">No &lt;next&gt; x{190}…<\/span>/)
    const list = (await client.get('/console/t/admin')).text
    assert.match(list, /<span class="cut small soft">No &lt;next&gt; x+…<\/span>/)
    assert.match(list, /aria-label="Of the last 5 deployments 0 failed"/)
    const page = async (id: string) => (await client.get(`/console/t/admin/projects/web/deployments/${id}`)).text
    assert.match(await page(failed), /<h2 id="why">Build failed<\/h2>\n<p>No &lt;next&gt; x{300}<\/p>/)
    const silent = await web.deploy({ readyState: 'ERROR' })
    assert.match(await page(silent), /<p>The build system reported no reason\.<\/p>[\s\S]*What was live stays live/)
    assert.doesNotMatch(await page(silent), /rel="noreferrer">Open /)
    const outside = {
      note: 'see javascript://x',
      run: 'https://ci.example.com/7?a=1&b',
      other: 'https://other.example.com',
    }
    const built = await page(await web.deploy({ readyState: 'ERROR', meta: outside }))
    const [box = ''] = /<section class="note bad failure"[\s\S]*?<\/section>/.exec(built) ?? []
    const links = [...box.matchAll(/<a class="btn small" href="([^"]*)" rel="noreferrer">([^<]*)</g)]
    assert.deepEqual(
      links.map(([, to, words]) => [to, words]),
      [['https://ci.example.com/7?a=1&amp;b', 'Open ci.example.com']],
    )
    const canceled = await web.deploy({ readyState: 'CANCELED' })
    const next = await see()
    assert.match(next.overview, /newest production deployment was canceled/)
    assert.deepEqual(next.card, { [canceled]: 'Production deployment was canceled' })
    await web.deploy()
    const good = await see()
    assert.doesNotMatch(good.overview, /Needs attention/)
    assert.match(good.overview, /state good"><svg.*?<\/svg>Live</)
    assert.deepEqual(good.card, {})
  },
  SETTINGS,
)

onBothEngines(
  'a preview that failed is a problem until its branch or its environment has a newer one, and one that was canceled is none',
  async (world) => {
    const client = await openSignedInClient(world)
    const web = await seedWebProject(world)
    const card = async () => cardOf((await client.get('/console/t/admin')).text)
    const environment = await world.call('POST', '/v9/projects/web/custom-environments', { slug: 'staging' })
    assert.equal(environment.status, 201, JSON.stringify(environment.body))
    const preview = (readyState: string, said: object = {}) => web.deploy({ target: 'preview', readyState, ...said })
    const next = await preview('ERROR', { gitBranch: 'next' })
    await preview('READY', { gitBranch: 'main' })
    await preview('READY')
    await preview('CANCELED', { gitBranch: 'gone' })
    await preview('READY', { gitBranch: 'next', customEnvironmentId: 'staging' })
    assert.deepEqual(await card(), { [next]: 'Preview deployment of branch next failed' })
    assert.match(
      (await client.get('/console/t/admin/projects/web')).text,
      /newest preview deployment of branch next failed: [^\n]*d1\.host\.test<\/a>\.<\/div><\/li>/,
    )
    const page = (await client.get(`/console/t/admin/projects/web/deployments/${next}`)).text
    assert.deepEqual(readPage(page, 'Build failed'), [
      '(bad)',
      '## Build failed',
      'The build system reported no reason.',
      'Production is not affected.',
    ])
    const staging = await preview('ERROR', { customEnvironmentId: 'staging' })
    const alone = await preview('ERROR')
    await preview('READY', { gitBranch: 'next' })
    assert.deepEqual(await card(), { [alone]: 'Preview deployment failed' }, 'the worst, with how many more')
    assert.match((await client.get('/console/t/admin')).text, /and 1 more/)
    const production = await web.deploy({ readyState: 'ERROR' })
    assert.deepEqual(await card(), { [production]: 'Production deployment failed' })
    const overview = (await client.get('/console/t/admin/projects/web')).text
    assert.deepEqual(
      [production, alone, staging].map((id) => new RegExp(`failed: <a href="[^"]*/${id}"`).test(overview)),
      [true, true, true],
    )
  },
  SETTINGS,
)

onBothEngines(
  'the list of projects queries failed deployments once, with indexes, for any number of projects',
  async (world) => {
    const client = await openSignedInClient(world)
    const read = async () => {
      const heard = hearStatements()
      await client.get('/console/t/admin').finally(heard.stop)
      return new Map([...heard.said].filter(([text]) => text.includes('"deployment"')))
    }
    const deploy = async (name: string) => {
      const { id } = (await world.call('POST', '/v10/projects', { name })).body
      await seedDeployment(world, id, { url: `${name}.host.test`, readyState: 'ERROR' })
    }
    await deploy('web-1')
    const [one] = [...(await read()).keys()]
    for (let at = 2; at < 6; at++) await deploy(`web-${at}`)
    const said = await read()
    assert.equal(said.size, 1)
    assert.ok(one !== undefined && !said.has(one), 'it names all of them, and is not said for each')
    assert.deepEqual([...(await walksOf(world, said))], [])
  },
)
