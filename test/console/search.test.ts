/** The search of the console. docs/console.md: Search. */
import assert from 'node:assert/strict'
import { openSignedInClient } from '../support/clients/browser-client.ts'
import { seedProject } from '../support/projects.ts'
import { onBothEngines } from '../support/world.ts'
import { consentAndInstall, seedIntegration } from '../support/worlds/integration-world.ts'

onBothEngines('a user searches an account from every page, and each result links to its page', async (world) => {
  const query = `?teamId=${world.credentials.teamId}`
  await seedProject(world, 'web-shop', query)
  const variable = { key: 'SHOP_KEY', value: 'the-value', target: ['preview'] }
  assert.equal((await world.call('POST', `/v10/projects/web-shop/env${query}`, variable)).status, 201)
  const domain = { name: 'shop.example.com' }
  assert.equal((await world.call('POST', `/v10/projects/web-shop/domains${query}`, domain)).status, 200)
  await world.join(await world.user('shopkeeper'), 'VIEWER')
  await consentAndInstall(world, await seedIntegration(world, { slug: 'helper', name: '<b>Shop</b>' }))
  const client = await openSignedInClient(world)
  const { text } = await client.get('/console/t/team')
  assert.match(
    text,
    /<form class="find only-wide" action="\/console\/search" role="search"[^>]*>.*name="q".*name="in" value="team"/,
  )
  const found = await client.get('/console/search?q=Shop&in=team')
  assert.equal(found.status, 200)
  const links = [...mainOf(found.text).matchAll(/<li><a href="([^"]+)">([^<]+)</g)].map(
    ([, path, words]) => [path!, words!] as const,
  )
  assert.deepEqual(
    links.map(([, words]) => words),
    ['web-shop', 'shop.example.com', 'SHOP_KEY', 'shopkeeper', '&lt;b&gt;Shop&lt;/b&gt;', '&lt;b&gt;Shop&lt;/b&gt;'],
  )
  for (const [path, words] of links) {
    const page = await client.get(path.replaceAll('&amp;', '&'))
    assert.equal(page.status, 200, path)
    assert.ok(page.text.includes(words), path)
  }
  assert.ok(!found.text.includes('the-value'))
  assert.match((await client.get('/console/search?q=nowhere&in=team')).text, /No results for “nowhere” in team/)
})

onBothEngines(
  'a search without a text says what it finds, a refused one keeps the text, and no other account is searched',
  async (world) => {
    const client = await openSignedInClient(world)
    const empty = await client.get('/console/search')
    assert.equal(empty.status, 200)
    assert.match(empty.text, /What are you looking for\?/)
    assert.match(empty.text, /name="q"[^>]* placeholder="Name, key, email or commit" autofocus/)
    assert.match(empty.text, /<option value="team" selected>|<option value="admin" selected>/)
    assert.match((await client.get('/console/search?q=%20')).text, /What are you looking for\?/)
    const long = `${'<'.repeat(100)}x`
    const refused = await client.get(`/console/search?in=team&q=${encodeURIComponent(long)}`)
    assert.equal(refused.status, 400)
    assert.match(refused.text, /id="q-fault"><svg.*?<\/svg><span>“Name, key, email or commit” should have at most 100/)
    assert.ok(refused.text.includes(`value="${'&lt;'.repeat(100)}x"`))
    await world.user('rival')
    assert.equal((await client.get('/console/search?q=x&in=rival')).status, 404)
    assert.equal((await client.get('/console/search?q=x&in=nobody')).status, 404)
  },
)

onBothEngines('where more is found than is shown, the lists that have a search of their own go on', async (world) => {
  const query = `?teamId=${world.credentials.teamId}`
  for (let at = 0; at < 11; at++) await seedProject(world, `web-${at}`, query)
  const client = await openSignedInClient(world)
  const { text } = await client.get('/console/search?q=web&in=team')
  assert.equal(mainOf(text).match(/<li><a /g)?.length, 10)
  assert.match(text, /<a href="\/console\/t\/team\?search=web">More projects</)
  assert.doesNotMatch((await client.get('/console/search?q=web-1&in=team')).text, /More projects/)
})

function mainOf(page: string): string {
  return page.slice(page.indexOf('<main'))
}
