/** Lists of folders, as visitors see them. docs/deploying-sites.md: Directory listings. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { folderPage } from '../../../src/sites/static/folder-page.ts'
import { eventually } from '../../support/eventually.ts'
import { onBothEngines } from '../../support/world.ts'
import { seedWebProject } from '../../support/worlds/deploy-world.ts'
import { openInstance, SETTINGS } from '../../support/worlds/sites-world.ts'
import { publish } from './publish.ts'
import { openSitesServers } from './servers.ts'

const ONE = 'one.apps.example.net'
const PAGES = {
  'static/index.html': 'start',
  'static/404.html': 'lost',
  'static/docs/b & <i>.txt': 'odd',
  'static/docs/100% "a".txt': 'quoted',
  'static/docs/ü 1.txt': 'umlaut',
  'static/docs/sub/x.txt': 'x',
}
const CONFIG = {
  routes: [
    { src: '/docs.*', headers: { 'x-from-rule': 'yes', 'content-type': 'text/plain', etag: '"x"' }, continue: true },
    { handle: 'filesystem' },
    { handle: 'error' },
    { src: '/.*', status: 404, dest: '/404.html' },
  ],
}

/** The links of a list: where each leads, and its text as markup. */
function linksOf(page: string): [href: string, text: string][] {
  return [...page.matchAll(/<li><a href="([^"]*)">(.*?)<\/a><\/li>/g)].map(([, href, text]) => [href!, text!])
}

onBothEngines(
  'a folder without an index is listed where the project says so, from the next request on, and its links point to its files',
  async (world, t) => {
    const web = await seedWebProject(world)
    await publish(world, await web.deploy(), CONFIG, PAGES)
    const control = await openInstance(world)
    const site = await openSitesServers(t).start(control.origin)
    await eventually(async () => (await site.visit(ONE)).status === 200)
    const off = await site.visit(ONE, '/docs')
    assert.deepEqual([off.status, off.text], [404, 'lost'])
    await world.call('PATCH', '/v9/projects/web', { directoryListing: true })
    await eventually(async () => (await site.visit(ONE, '/docs')).status === 200)

    const list = await site.visit(ONE, '/docs')
    assert.deepEqual(linksOf(list.text), [
      ['/', '../'],
      ['/docs/100%25%20%22a%22.txt', '100% &quot;a&quot;.txt'],
      ['/docs/b%20%26%20%3Ci%3E.txt', 'b &amp; &lt;i&gt;.txt'],
      ['/docs/sub/', 'sub/'],
      ['/docs/%C3%BC%201.txt', 'ü 1.txt'],
    ])
    const { headers } = list
    assert.deepEqual([headers['content-type'], headers['cache-control']], ['text/html; charset=utf-8', 'no-store'])
    assert.match(String(headers['content-security-policy']), /^default-src 'none'/)
    assert.deepEqual([headers['x-from-rule'], headers.etag, headers['x-vercel-error']], ['yes', undefined, undefined])
    for (const [href] of linksOf(list.text)) assert.equal((await site.visit(ONE, href)).status, 200, href)
    assert.equal((await site.visit(ONE, '/docs/')).text, list.text, 'with a slash, too')
    assert.deepEqual(linksOf((await site.visit(ONE, '/docs/sub')).text), [
      ['/docs/', '../'],
      ['/docs/sub/x.txt', 'x.txt'],
    ])
    const head = await site.visit(ONE, '/docs', {}, 'HEAD')
    const length = String(Buffer.byteLength(list.text))
    assert.deepEqual([head.status, head.text, head.headers['content-length']], [200, '', length])
    for (const [path, method] of [
      ['/docs', 'POST'],
      ['/Docs', 'GET'],
      ['/nowhere', 'GET'],
    ] as const)
      assert.equal((await site.visit(ONE, path, {}, method)).text, 'lost', `${method} ${path}`)
    assert.equal((await site.visit(ONE)).text, 'start')

    await world.call('PATCH', '/v9/projects/web', { directoryListing: false })
    await eventually(async () => (await site.visit(ONE, '/docs')).status === 404)
    await site.stop()
    await control.close()
  },
  SETTINGS,
)

test('the root has no folder above it, and a list that is cut says so', () => {
  const page = folderPage({ path: '/', names: ['a', 'b/'], isWhole: false })
  assert.deepEqual(linksOf(page), [
    ['/a', 'a'],
    ['/b/', 'b/'],
  ])
  assert.match(page, /There are more files than this page lists/)
  assert.doesNotMatch(folderPage({ path: '/', names: ['a'], isWhole: true }), /There are more/)
})
