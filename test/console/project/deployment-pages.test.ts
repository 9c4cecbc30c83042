/** The pages about a deployment: its output, its facts as JSON, its removal. docs/console.md: Project pages. */
import assert from 'node:assert/strict'
import { deploy, SITE, SUFFIX } from '../../delivery/deploys/deploying.ts'
import { nodeFunction } from '../../delivery/outputs/upload.ts'
import { openSignedInClient } from '../../support/clients/browser-client.ts'
import { seedProject } from '../../support/projects.ts'
import { onBothEngines } from '../../support/world.ts'

const PATH = '/console/t/admin/projects/web/deployments'

onBothEngines(
  'the output of a deployment is listed a directory at a time, with sizes; its facts are a JSON file',
  async (world) => {
    const client = await openSignedInClient(world)
    await seedProject(world, 'web')
    const both = { ...nodeFunction('api/hello'), ...nodeFunction('api/large', { memory: 1024, maxDuration: 30 }) }
    const functions = Object.entries(both).map(([path, text]) => [`.vercel/output/${path}`, text])
    const odd = { '.vercel/output/static/a/<b>&c/x.txt': 'x' }
    const { id } = await deploy(world.call, { ...SITE, ...odd, ...Object.fromEntries(functions) })
    const page = (await client.get(`${PATH}/${id}`)).text
    for (const part of ['files', 'export', 'remove']) assert.ok(page.includes(`href="${PATH}/${id}/${part}"`), part)

    const top = (await client.get(`${PATH}/${id}/files`)).text
    assert.match(top, />a\/<\/a><\/td><td[^>]*>2 files<\/td><td[^>]*>6 bytes</)
    assert.match(top, /index\.html<\/td><td[^>]*>text\/html<\/td><td[^>]*>14 bytes</)
    assert.match(top, /api\/<\/a>/)
    const api = (await client.get(`${PATH}/${id}/files?path=api`)).text
    assert.match(api, /hello<\/td><td[^>]*>Function<[\s\S]*large<\/td><td[^>]*>Function, 1024 MB, 30 s</)
    const folder = await client.get(`${PATH}/${id}/files?path=a`)
    const next = /href="([^"]*files\?path=a%2F[^"]*)"/.exec(folder.text)![1]!.replaceAll('&amp;', '&')
    assert.match((await client.get(next)).text, /&lt;b&gt;&amp;c<\/a>[\s\S]*x\.txt<\/td>/)
    assert.equal((await client.get(`${PATH}/${id}/files?path=nosuch`)).status, 404)
    assert.equal((await client.get(`${PATH}/${id}/files?path=index.html`)).status, 404)

    const facts = await client.get(`${PATH}/${id}/export`)
    assert.match(String(facts.headers['content-disposition']), new RegExp(`attachment; filename="${id}\\.json"`))
    assert.equal(JSON.parse(facts.text).id, id)
  },
  SUFFIX,
)

onBothEngines(
  'a deployment is removed after a question that says what goes with it, and only by those who may',
  async (world) => {
    const client = await openSignedInClient(world)
    await seedProject(world, 'web')
    const live = await deploy(world.call, SITE, { target: 'production' })
    const preview = await deploy(world.call, SITE)
    const ofLive = (await client.get(`${PATH}/${live.id}/remove`)).text
    assert.match(ofLive, /<h1>Remove deployment\?<\/h1>[\s\S]*Live now[\s\S]*It serves production\. Visitors get 404/)
    const ofPreview = (await client.get(`${PATH}/${preview.id}/remove`)).text
    assert.doesNotMatch(ofPreview, /serves production/)
    assert.match(ofPreview, /<span class="small soft">Not live<\/span>/)
    const removed = await client.post(`${PATH}/${preview.id}/remove`)
    assert.deepEqual([removed.status, removed.location], [303, PATH], removed.text)
    assert.match((await client.get(removed.location)).text, /role="status".*The deployment is removed\./)
    assert.equal((await client.get(`${PATH}/${preview.id}`)).status, 404)
    assert.equal((await client.post(`${PATH}/${preview.id}/remove`)).status, 404)
    await seedProject(world, 'other')
    const foreign = `/console/t/admin/projects/other/deployments/${live.id}/remove`
    assert.equal((await client.get(foreign)).status, 404)
  },
  SUFFIX,
)

onBothEngines('on a laptop the overview links production with the port of the sites server', async (world) => {
  const client = await openSignedInClient(world)
  await seedProject(world, 'web')
  await deploy(world.call, SITE, { target: 'production' })
  const { text } = await client.get('/console/t/admin/projects/web')
  assert.match(text, /href="http:\/\/web-[a-z0-9]{8}\.berth\.localhost:\d+"/)
  assert.doesNotMatch(text, /href="https:\/\/web-/)
})
