/** The keys of the sections. What the script does with them: keys.long.test.ts. docs/console.md: Keyboard navigation. */
import assert from 'node:assert/strict'
import { openSignedInClient } from '../support/clients/browser-client.ts'
import { seedProject } from '../support/projects.ts'
import { onBothEngines } from '../support/world.ts'

/** TABLE places, with the key of each section. */
const PLACES: readonly (readonly [path: string, keys: Record<string, string>])[] = [
  ['/console/t/admin', { Projects: 'p', 'Shared variables': 'v', Activity: 'a', Webhooks: 'w', Tokens: 't' }],
  ['/console/t/team', { Projects: 'p', Apps: 'b', 'Log drains': 'l', Members: 'm', Settings: 's', Integrations: 'i' }],
  ['/console/t/admin/projects/web', { Projects: 'p', Overview: 'o', Deployments: 'e', Variables: 'v', Domains: 'd' }],
  ['/console/operator', { Overview: 'o', Users: 'u', Teams: 'e', Deliveries: 'd', 'Audit log': 'a', Runners: 'r' }],
]

onBothEngines('each section has its key, and no key stands for two sections of a page', async (world) => {
  await seedProject(world, 'web')
  const client = await openSignedInClient(world)
  for (const [path, expected] of PLACES) {
    const { text } = await client.get(path)
    const links = [...text.matchAll(/<a href="[^"]*" data-go="(\w)"[^>]*><svg[\s\S]*?<\/svg>([^<]+)</g)]
    const keys = links.map(([, key]) => key)
    assert.deepEqual([...new Set(keys)], keys, path)
    const found = Object.fromEntries(links.map(([, key, words]) => [words!, key!]))
    assert.deepEqual({ ...found, ...expected }, found, path)
    assert.match(text, /<script type="module" src="\/assets\/keys-\w+\.js"/)
  }
})

onBothEngines(
  'a page of a project has the sections of its account for the palette, and other pages have none',
  async (world) => {
    await world.call('POST', `/v10/projects?teamId=${world.credentials.teamId}`, { name: 'web' })
    const guest = await world.user('guest')
    await world.join(guest, 'VIEWER')
    const client = await openSignedInClient(world, guest.id, 'guest')
    const listed = async (path: string) => {
      const [, list] = /<ul hidden data-account>(.*?)<\/ul>/.exec((await client.get(path)).text) ?? []
      return list && [...list.matchAll(/<a href="([^"]+)">/g)].map(([, to]) => to!)
    }
    const found = (await listed('/console/t/team/projects/web')) ?? []
    assert.ok(found.includes('/console/t/team/webhooks') && found.length > 5, `${found}`)
    for (const to of found) assert.equal((await client.get(to)).status, 200, to)
    assert.equal(await listed('/console/t/team'), undefined)
  },
)
