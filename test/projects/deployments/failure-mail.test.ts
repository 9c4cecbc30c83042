/** Emails about production deployments that failed. docs/deployments.md: Production deployment. */
import assert from 'node:assert/strict'
import { BUILDS, createSource, openRunners } from '../../delivery/builds/building.ts'
import { seedProject } from '../../support/projects.ts'
import { readQueuedMail } from '../../support/queued-mail.ts'
import { onBothEngines, type World } from '../../support/world.ts'

const lettersOf = async (world: World) =>
  (await readQueuedMail(world)).filter(({ subject }) => subject.startsWith('Production deployment'))

let deployments = 0

async function register(world: World, projectId: string, fields: object): Promise<string> {
  const body = { url: `d${++deployments}.host.test`, ...fields }
  return (await world.operator('POST', `/operator/v1/projects/${projectId}/deployments`, body)).body.id as string
}

onBothEngines(
  'a failed production deployment is reported to the user of a personal account, once a day for each project',
  async (world) => {
    const [web, shop] = [await seedProject(world, 'web'), await seedProject(world, 'shop')]
    const failed = { target: 'production', readyState: 'ERROR' }
    await register(world, web, { ...failed, target: 'preview' })
    await register(world, web, { target: 'production', readyState: 'READY' })
    await register(world, web, { target: 'production', readyState: 'CANCELED' })
    assert.deepEqual(await lettersOf(world), [])

    const id = await register(world, web, failed)
    const [letter] = await lettersOf(world)
    assert.deepEqual(
      [letter!.recipient, letter!.subject],
      ['admin@berth.localhost', 'Production deployment of web failed'],
    )
    assert.match(letter!.body_text, /^The production deployment d\d+\.host\.test of web failed\.$/m)
    assert.ok(letter!.body_text.includes(`${world.deps.origin()}/console/t/admin/projects/web/deployments/${id}\n`))

    const soon = world.deps.clock.now() + 3_600_000
    await register(world, web, failed)
    await register(world, shop, failed)
    const due = (await lettersOf(world)).filter(({ due_at }) => Number(due_at) <= soon)
    assert.deepEqual(due.map(({ subject }) => subject).sort(), [
      'Production deployment of shop failed',
      'Production deployment of web failed',
    ])
  },
)

onBothEngines('in a team the owners get it, and one that is suspended does not', async (world) => {
  const ada = await world.user('ada')
  const bob = await world.user('bob')
  const { teamId } = world.credentials
  for (const [{ id }, role] of [
    [ada, 'OWNER'],
    [bob, 'VIEWER'],
  ] as const)
    await world.operator('PUT', `/operator/v1/teams/${teamId}/members/${id}`, { role })
  const { id } = (await world.call('POST', `/v10/projects?teamId=${teamId}`, { name: 'web' })).body
  await register(world, id, { target: 'production', readyState: 'ERROR' })
  const recipients = async () => (await lettersOf(world)).map(({ recipient }) => recipient).sort()
  const all = await recipients()
  assert.equal(all.length, 2, `${all}`)
  assert.ok(all.includes('admin@berth.localhost') && all.some((one) => one?.startsWith('ada@')), `${all}`)
  const text = (await lettersOf(world))[0]!.body_text
  assert.ok(text.includes('/console/t/team/projects/web/deployments/'), text)
})

onBothEngines(
  'a build that fails is reported with its reason, on one line',
  async (world) => {
    await seedProject(world, 'web')
    const runners = await openRunners(world)
    await createSource(world, { target: 'production' })
    const runner = runners.of(await runners.take())
    assert.equal((await runner.fail('BUILD_FAILED', 'Command "make"\nexited with 1')).status, 200)
    assert.match((await lettersOf(world))[0]!.body_text, /^Command "make" exited with 1$/m)
    await runners.close()
  },
  BUILDS,
)
