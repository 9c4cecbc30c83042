/** Bypass secrets of a project in the console. docs/edge.md: Protection. */
import assert from 'node:assert/strict'
import { openSignedInClient } from '../../support/clients/browser-client.ts'
import { seedProject } from '../../support/projects.ts'
import { onBothEngines } from '../../support/world.ts'

const PATH = '/console/t/admin/projects/web/settings/bypass'

onBothEngines('bypass secrets are created, chosen as the variable of deployments, and revoked', async (world) => {
  await seedProject(world, 'web')
  const client = await openSignedInClient(world)
  const secrets = async () =>
    Object.entries((await world.call('GET', '/v9/projects/web')).body.protectionBypass ?? {}).map(
      ([secret, { note, isEnvVar = false }]) => ({ secret, note, isEnvVar }),
    )
  assert.match((await client.get(PATH.replace('/bypass', ''))).text, /href="[^"]*\/settings\/bypass"/)
  assert.match((await client.get(PATH)).text, /No bypass secrets yet\./)
  const long = await client.post(PATH, { note: 'n'.repeat(101) })
  assert.equal(long.status, 400)
  assert.match(long.text, /name="note" value="n{101}"[^>]*aria-invalid="true"/)
  for (const note of ['tests <b>', '']) {
    const made = await client.post(PATH, { note })
    assert.deepEqual([made.status, made.location], [303, PATH], made.text)
  }
  const [first, second] = await secrets()
  assert.deepEqual([first!.note, second!.note], ['tests <b>', undefined])
  const page = (await client.get(PATH)).text
  for (const { secret } of await secrets()) assert.ok(page.includes(`<code class="copy">${secret}</code>`))
  assert.match(page, /tests &lt;b&gt;<\/td>[\s\S]*by you/)

  await client.post(`${PATH}/variable`, { secret: second!.secret, isEnvVar: 'true' })
  assert.deepEqual(
    (await secrets()).map(({ isEnvVar }) => isEnvVar),
    [false, true],
  )
  const revoked = await client.post(`${PATH}/revoke`, { secret: second!.secret })
  assert.deepEqual([revoked.status, revoked.location], [303, PATH], revoked.text)
  assert.match((await client.get(PATH)).text, /role="status".*The secret is revoked\./)
  assert.deepEqual(await secrets(), [first])
  const gone = await client.post(`${PATH}/revoke`, { secret: second!.secret })
  assert.equal(gone.status, 404)
  assert.match(gone.text, /role="alert"[\s\S]*no such bypass secret/)
})

onBothEngines('bypass secrets take a recent sign-in, and a role that may change the project', async (world) => {
  const { teamId } = world.credentials
  await seedProject(world, 'web', `?teamId=${teamId}`)
  const path = PATH.replace('admin', 'team')
  const call = await world.token({ teamId })
  const { protectionBypass } = (await call('PATCH', '/v1/projects/web/protection-bypass', { generate: {} })).body
  const [secret = ''] = Object.keys(protectionBypass)
  const viewer = await world.user('viewer')
  await world.join(viewer, 'VIEWER')
  const client = await openSignedInClient(world, viewer.id, 'viewer')
  assert.doesNotMatch((await client.get(path.replace('/bypass', ''))).text, /settings\/bypass/)
  assert.equal((await client.get(path)).status, 403)
  assert.equal((await client.post(`${path}/revoke`, { secret })).status, 403)
  const owner = await openSignedInClient(world)
  assert.ok((await owner.get(path)).text.includes(secret))
  world.deps.clock.set(world.deps.clock.now() + 2 * 3_600_000)
  const late = await owner.get(path)
  assert.deepEqual([late.status, late.location.startsWith('/confirm'), late.text.includes(secret)], [303, true, false])
})
