/** Removing the chosen deployments of a list. docs/console.md: Project pages. */
import assert from 'node:assert/strict'
import { openSignedInClient } from '../../support/clients/browser-client.ts'
import { seedDeployment, seedProject } from '../../support/projects.ts'
import { setInTransfer } from '../../support/states.ts'
import { onBothEngines, type World } from '../../support/world.ts'
import { SETTINGS, seedWebProject } from '../../support/worlds/deploy-world.ts'

const PATH = '/console/t/admin/projects/web/deployments'
const ASK = `${PATH}/remove`

const queryOf = (ids: readonly string[]) => new URLSearchParams(ids.map((id) => ['id', id])).toString()
const idsOf = async ({ call }: World, project: string) =>
  (await call('GET', `/v6/deployments?projectId=${project}`)).body.deployments.map(({ uid }) => uid)

/** The ids of the entries and of the events about removed deployments. */
async function removalsIn({ deps: { db } }: World) {
  const lines = await db.read.selectFrom('audit').select('subject_id').where('type', '=', 'deleteDeployment').execute()
  const events = await db.read.selectFrom('event').select('id').where('type', '=', 'deployment.cleanup').execute()
  return { lines: lines.map((line) => line.subject_id), events: events.length }
}

onBothEngines(
  'chosen deployments are removed after a page that names them, each with an audit entry of its own',
  async (world) => {
    const client = await openSignedInClient(world)
    const project = await seedProject(world, 'web')
    const old = []
    for (const at of [1, 2, 3])
      old.push(await seedDeployment(world, project, { url: `p${at}.host.test`, target: 'preview' }))
    const [one, two, three] = old as [string, string, string]
    const list = (await client.get(PATH)).text
    for (const id of old)
      assert.match(
        list,
        new RegExp(`<input type="checkbox" name="id" value="${id}" form="chosen" aria-label="Choose p`),
      )
    assert.match(list, new RegExp(`<form [^>]*id="chosen" action="${ASK}"><button`))

    const asked = (await client.get(`${ASK}?${queryOf([one, two, one])}`)).text
    assert.match(asked, /<h1>Remove 2 deployments\?<\/h1>[\s\S]*p1\.host\.test[\s\S]*p2\.host\.test/)
    assert.doesNotMatch(asked, /p3\.host\.test/)
    assert.match(asked, /<button class="btn danger">Remove 2 deployments<\/button>/)
    // Sent twice, it acts once.
    for (let times = 0; times < 2; times++) {
      const sent = await client.post(ASK, { id: [one, two], once: 'shown-once' })
      assert.deepEqual([sent.status, sent.location], [303, PATH], sent.text)
    }
    assert.match((await client.get(PATH)).text, /role="status".*2 deployments are removed\./)
    assert.deepEqual(await idsOf(world, project), [three])
    assert.deepEqual(await removalsIn(world), { lines: [one, two], events: 2 })
    assert.match((await client.get(ASK)).text, /Choose deployments in the list first\./)
    assert.equal((await client.post(ASK)).status, 400)
    assert.equal((await client.post(ASK, { id: Array.from({ length: 31 }, (_, at) => `dpl_${at}`) })).status, 400)
  },
)

onBothEngines(
  'what is live, has a domain, is gone or is of another project stays, with the reason, and the rest is removed',
  async (world) => {
    const client = await openSignedInClient(world)
    const web = await seedWebProject(world)
    const [named, live] = [await web.deploy({ target: 'preview' }), await web.deploy()]
    const [first, second] = [await web.deploy({ target: 'preview' }), await web.deploy({ target: 'preview' })]
    await world.call('POST', `/v2/deployments/${named}/aliases`, { alias: 'one.apps.example.net' })
    const other = await seedDeployment(world, await seedProject(world, 'other'), { url: 'other.host.test' })
    assert.doesNotMatch((await client.get(PATH)).text, new RegExp(`name="id" value="${live}"`))

    const ids = [first, live, named, other, 'dpl_gone', second]
    const asked = (await client.get(`${ASK}?${queryOf(ids)}`)).text
    assert.match(asked, /<h1>Remove 2 deployments\?/)
    for (const says of ['4 deployments stay:', ': It serves production.', ': one.apps.example.net points to it.'])
      assert.ok(asked.includes(says), `${says}: ${asked}`)
    assert.equal(asked.split(': The project has no such deployment.').length, 3)
    assert.doesNotMatch(asked, /other\.host\.test/)

    const sent = await client.post(ASK, { id: ids })
    assert.equal(sent.status, 409)
    assert.match(sent.text, /role="alert"[\s\S]*2 deployments removed: d\d\.host\.test, d\d\.host\.test\./)
    assert.match(sent.text, /4 deployments stay:[\s\S]*It serves production\./)
    assert.doesNotMatch(sent.text, /<button class="btn danger">/)
    assert.deepEqual((await idsOf(world, web.id)).toSorted(), [named, live].toSorted())
    assert.deepEqual((await removalsIn(world)).lines, [first, second])
    assert.equal((await world.call('GET', `/v13/deployments/${other}`)).status, 200)

    // The route refuses what the page did not know of.
    const third = await web.deploy({ target: 'preview' })
    await setInTransfer(world, web.id, 1)
    const locked = await client.post(ASK, { id: [third] })
    assert.equal(locked.status, 409)
    assert.match(locked.text, /1 deployment stays:[\s\S]*d5\.host\.test<\/a>: The project is being transferred/)
    assert.deepEqual((await removalsIn(world)).lines, [first, second])
  },
  SETTINGS,
)

onBothEngines('a role that may not remove deployments has no boxes, and is refused', async (world) => {
  const { teamId } = world.credentials
  const call = await world.token({ teamId })
  const project = (await call('POST', '/v10/projects', { name: 'web' })).body.id
  const id = await seedDeployment(world, project, { url: 'p1.host.test', target: 'preview' })
  const viewer = await world.user('viewer')
  await world.join(viewer, 'VIEWER')
  const client = await openSignedInClient(world, viewer.id, 'viewer')
  const path = PATH.replace('admin', 'team')
  const { text } = await client.get(path)
  assert.match(text, /p1\.host\.test/)
  assert.doesNotMatch(text, /type="checkbox"|id="chosen"/)
  assert.equal((await client.get(`${path}/remove?id=${id}`)).status, 403)
  assert.equal((await client.post(`${path}/remove`, { id: [id] })).status, 403)
  assert.deepEqual((await removalsIn(world)).lines, [])
})
