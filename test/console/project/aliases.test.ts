/** Assigning a domain to a deployment by hand, in the console. docs/deployments.md: Assign an alias. */
import assert from 'node:assert/strict'
import { openSignedInClient } from '../../support/clients/browser-client.ts'
import { seedDeployment, seedProject } from '../../support/projects.ts'
import { markDomainsVerified } from '../../support/states.ts'
import { onBothEngines, type World } from '../../support/world.ts'

const PATH = '/console/t/admin/projects/web/deployments'

/** A live deployment with a domain, and a preview. */
async function open(world: World) {
  const client = await openSignedInClient(world)
  const id = await seedProject(world, 'web')
  await world.call('POST', '/v10/projects/web/domains', { name: 'www.example.com' })
  await markDomainsVerified(world)
  const live = await seedDeployment(world, id, { url: 'live.host.test' })
  const preview = await seedDeployment(world, id, { url: 'preview.host.test', target: 'preview' })
  await client.get(PATH)
  const aliasOf = async (name: string) => (await world.call('GET', `/v4/aliases/${name}`)).body
  return { client, live, preview, aliasOf, pageOf: (one: string) => `${PATH}/${one}` }
}

onBothEngines('a domain is assigned to a deployment and unassigned, after a question', async (world) => {
  const { client, live, preview, aliasOf, pageOf } = await open(world)
  assert.match(
    (await client.get(pageOf(live))).text,
    />www\.example\.com<\/a><\/td>[\s\S]*class="twice"[\s\S]*get 404 until/,
  )
  assert.match((await client.get(pageOf(preview))).text, /Only its own URL\.[\s\S]*\/aliases">Assign domain…</)
  const assigned = await client.post(`${pageOf(preview)}/aliases`, { alias: ' www.example.com ' })
  assert.deepEqual([assigned.status, assigned.location], [303, pageOf(preview)], assigned.text)
  assert.match(
    (await client.get(assigned.location)).text,
    /role="status".*www\.example\.com points to this deployment\./,
  )
  assert.equal((await aliasOf('www.example.com')).deploymentId, preview)

  const stale = await client.post(`${pageOf(live)}/aliases/www.example.com/remove`)
  assert.equal(stale.status, 404, 'a page of before, whose deployment has the domain no more')
  assert.equal((await aliasOf('www.example.com')).deploymentId, preview)
  const gone = await client.post(`${pageOf(preview)}/aliases/www.example.com/remove`)
  assert.deepEqual([gone.status, gone.location], [303, pageOf(preview)], gone.text)
  assert.equal((await world.call.try('GET', '/v4/aliases/www.example.com')).status, 404)
  const { domains } = (await world.call('GET', '/v9/projects/web/domains')).body
  assert.deepEqual(
    domains.map(({ name }: { name: string }) => name),
    ['www.example.com'],
  )
})

onBothEngines('what the route refuses is shown next to the field, with what was typed', async (world) => {
  const { client, preview, pageOf } = await open(world)
  await seedProject(world, 'other')
  await world.call('POST', '/v10/projects/other/domains', { name: 'other.example.com' })
  await world.call('POST', '/v10/projects/web/domains', { name: 'unverified.example.org' })
  for (const alias of ['', 'not a domain', 'other.example.com', 'unverified.example.org']) {
    const refused = await client.post(`${pageOf(preview)}/aliases`, { alias })
    assert.ok([400, 403].includes(refused.status), `${alias}: ${refused.status}`)
    assert.match(refused.text, new RegExp(`name="alias" value="${alias}"[^>]*aria-invalid="true"`), alias)
    assert.match(refused.text, /id="alias-fault"/, alias)
  }
})

onBothEngines(
  'the domains of a deployment of another project, and of one that is not ready, are not assigned',
  async (world) => {
    const { client, live, aliasOf } = await open(world)
    const other = await seedProject(world, 'other')
    const building = await seedDeployment(world, other, {
      url: 'b.host.test',
      target: 'preview',
      readyState: 'BUILDING',
    })
    const foreign = `/console/t/admin/projects/other/deployments/${live}/aliases`
    assert.equal((await client.post(foreign, { alias: 'www.example.com' })).status, 404)
    assert.equal((await client.post(`${foreign}/www.example.com/remove`)).status, 404)
    assert.equal((await aliasOf('www.example.com')).deploymentId, live)
    const page = (await client.get(`/console/t/admin/projects/other/deployments/${building}`)).text
    assert.match(page, /Only its own URL/)
    assert.doesNotMatch(page, /Assign domain/)
  },
)
