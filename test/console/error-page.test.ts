/** The console's page for a missing resource: it keeps the navigation, links to the nearest list, and reveals nothing of other accounts. docs/console.md: URLs. */
import assert from 'node:assert/strict'
import { CONSOLE } from '../../src/console/screens.ts'
import { openClient, openSignedInClient, type PageResponse } from '../support/clients/browser-client.ts'
import { onBothEngines } from '../support/world.ts'

const TEAM = '/console/t/team'

/** Where a page that is not there leads on to. */
function wayOf({ status, text }: PageResponse, about: string): string {
  assert.equal(status, 404, about)
  assert.match(text, /<h1>Page not found<\/h1>/, about)
  const [, way] = /<p><a class="btn primary" href="([^"]+)">/.exec(text) ?? assert.fail(about)
  return way!
}

/** The addresses of the tabs of a page. */
function tabsOf({ text }: PageResponse): string[] {
  const [strip] = /<nav class="tabs"[\s\S]*?<\/nav>/.exec(text) ?? ['']
  return [...strip.matchAll(/<li><a href="([^"]+)"/g)].map(([, path]) => path!)
}

/** A page without what is another one in each answer, and without the names that were asked for. */
function plain({ text }: PageResponse): string {
  return text.replaceAll(/value="[^"]*"|content="[^"]*"|\b(theirs|absent|team|nobody)\b/g, '')
}

onBothEngines(
  'the page of a missing resource has the tabs of its section, and links to a list that exists',
  async (world) => {
    await world.call('POST', `/v10/projects?teamId=${world.credentials.teamId}`, { name: 'web' })
    const client = await openSignedInClient(world)
    const missing = CONSOLE.filter(({ method, path }) => method === 'GET' && /:(?!slug|name\b)\w+/.test(path))
    const left: string[] = []
    for (const { path } of missing) {
      const url = path.replace(':slug', 'team').replace(':name', 'web').replaceAll(/:\w+/g, 'none')
      const seen = await client.get(url)
      // A page that shows nothing of its subject, and asks for it when its form is sent.
      if (seen.status !== 404) left.push(path)
      else {
        const way = wayOf(seen, url)
        assert.ok(url.startsWith(way) && way.length > '/console/t/team'.length, `${url} links to ${way}`)
        assert.ok(tabsOf(seen).includes(way), url)
        assert.equal((await client.get(way)).status, 200, way)
      }
    }
    assert.ok(missing.length - left.length >= 12, `${missing.length} pages, and not ${left}`)
  },
)

onBothEngines(
  'a project that is missing and one of another account look the same, and so do accounts',
  async (world) => {
    await world.call('POST', `/v10/projects?teamId=${world.credentials.teamId}`, { name: 'theirs' })
    await world.call('POST', '/v10/projects', { name: 'mine' })
    const guest = await world.user('guest')
    const client = await openSignedInClient(world, guest.id, 'guest')
    for (const below of ['', '/domains', '/domains/www.example.com', '/deployments/dpl_none', '/settings']) {
      const [theirs, none] = await Promise.all(
        ['theirs', 'absent'].map((name) => client.get(`/console/t/guest/projects/${name}${below}`)),
      )
      assert.equal(wayOf(theirs!, below), '/console/t/guest')
      assert.equal(plain(theirs!), plain(none!))
      const [team, nobody] = await Promise.all(
        ['team', 'nobody'].map((slug) => client.get(`/console/t/${slug}/projects/theirs${below}`)),
      )
      assert.equal(wayOf(team!, below), '/console')
      assert.deepEqual(tabsOf(team!), [])
      assert.equal(plain(team!), plain(nobody!))
    }
  },
)

onBothEngines('a user without access to a section sees no tab of it, and goes to one they can see', async (world) => {
  const guest = await world.user('guest')
  await world.join(guest, 'BILLING')
  const client = await openSignedInClient(world, guest.id, 'guest')
  const home = await client.get('/console')
  const first = await client.get(home.location)
  assert.deepEqual([home.location, first.status], [`${TEAM}/members`, 200], 'the first page of such a user')
  assert.match(first.text, /<a href="\/console\/t\/team\/members" aria-current="true">/, 'and in the menu of accounts')
  const refused = await client.get(TEAM)
  assert.equal(refused.status, 403, 'the projects of the team')
  assert.ok(!tabsOf(refused).includes(TEAM))
  const [, way] = /<p><a class="btn primary" href="([^"]+)">/.exec(refused.text)!
  assert.equal((await client.get(way!)).status, 200, way!)
  await world.call('POST', `/v10/projects?teamId=${world.credentials.teamId}`, { name: 'theirs' })
  const [there, none] = await Promise.all(
    ['theirs', 'absent'].map((name) => client.get(`${TEAM}/projects/${name}/domains`)),
  )
  assert.equal(plain(there!), plain(none!), 'a project that they may not see')
  const operator = await client.get('/console/operator/people')
  assert.deepEqual([operator.status, tabsOf(operator)], [403, []])
})

const BROWSER = { accept: 'text/html,application/xhtml+xml' }

onBothEngines(
  'an address below /console that no page has is a page for a browser, and JSON for a program',
  async (world) => {
    await world.call('POST', `/v10/projects?teamId=${world.credentials.teamId}`, { name: 'web' })
    const client = await openSignedInClient(world)
    const ways = {
      '/console/nothing': '/console',
      '/console/nothing/%20?a=1': '/console',
      '/console/t': '/console',
      '/console/account/nothing': '/console/account',
      '/console/operator/nothing/here': '/console/operator',
      [`${TEAM}/nothing`]: TEAM,
      [`${TEAM}/webhooks/a/b/c`]: `${TEAM}/webhooks`,
      [`${TEAM}/projects/web/nothing?q=1`]: `${TEAM}/projects/web`,
      [`${TEAM}/projects/absent/nothing`]: TEAM,
      '/console/t/nobody/nothing': '/console',
      // Only a form is sent there.
      [`${TEAM}/projects/web/unpause`]: `${TEAM}/projects/web`,
    }
    for (const [url, way] of Object.entries(ways)) {
      const seen = await client.get(url, BROWSER)
      assert.equal(wayOf(seen, url), way, url)
      assert.match(seen.text, /<header class="side">[\s\S]*<a class="brand" href="\/console"/, url)
      assert.equal(seen.headers['cache-control'], 'no-store')
      const { status, text } = await client.get(url)
      assert.ok([404, 405].includes(status) && text.startsWith('{"error":{"code":'), `${url}: ${text}`)
      const stranger = await openClient(world).get(url, BROWSER)
      assert.equal(wayOf(stranger, url), '/console', url)
      assert.doesNotMatch(stranger.text, /class="tabs"|class="shell"/, url)
    }
    const { status, headers } = await client.get('/v9/nothing', BROWSER)
    assert.deepEqual([status, headers['content-type']], [404, 'application/json; charset=utf-8'])
  },
)
