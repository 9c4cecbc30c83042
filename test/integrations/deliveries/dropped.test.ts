/** When an installation or the webhook of an integration ends, what waits for it is dropped, however much it is. docs/webhooks.md. */
import assert from 'node:assert/strict'
import { seedProject } from '../../support/projects.ts'
import { deliver, LOCAL } from '../../support/servers/receiver.ts'
import { addRows } from '../../support/states.ts'
import { onBothEngines, type World } from '../../support/world.ts'
import { seedInstallation, seedIntegration } from '../../support/worlds/integration-world.ts'

onBothEngines(
  'an uninstall drops all 1,200 deliveries that wait for the installation, with their lines, and none of another one',
  async (world) => {
    const team = `?teamId=${world.credentials.teamId}`
    const scopes = ['read-write:project', 'read-write:log-drain']
    const [leaving, staying] = await Promise.all(
      ['leaving', 'staying'].map(async (slug) => {
        const app = await seedIntegration(world, { slug, scopes, webhookUrl: 'http://127.0.0.1:9/' })
        return seedInstallation(world, { app })
      }),
    )
    const drain = { url: 'http://127.0.0.1:9/', name: 'logs' }
    assert.equal((await leaving!.call('POST', `/v2/integrations/log-drains${team}`, drain)).status, 200)
    const projectId = await seedProject(world, 'web', team)
    const line = { timestamp: 1, message: 'hello', source: 'lambda' }
    await world.operator('POST', `/operator/v1/projects/${projectId}/logs`, { lines: [line] })
    await multiply(world, leaving!.installationId, 1200)
    const gone = await world.call('DELETE', `/v1/integrations/configuration/${leaving!.installationId}${team}`)
    assert.equal(gone.status, 204, gone.text)
    const rows = await world.deps.db.read.selectFrom('delivery').selectAll().execute()
    const of = (id: string) => rows.filter((row) => row.configuration_id === id)
    const left = of(leaving!.installationId).filter(({ status }) => status === 'pending')
    assert.deepEqual(
      left.map(({ type }) => type),
      ['integration-configuration.removed'],
    )
    assert.equal(of(leaving!.installationId).filter(({ status }) => status === 'dropped').length, 1200 + 2)
    assert.ok(of(leaving!.installationId).every(({ body }) => body === null))
    assert.ok(of(staying!.installationId).length > 0)
    assert.ok(of(staying!.installationId).every(({ status }) => status === 'pending'))
  },
  LOCAL,
)

onBothEngines(
  'the worker drops all 1,200 deliveries that wait for a webhook of an integration, not the request that removes it',
  async (world) => {
    const team = `?teamId=${world.credentials.teamId}` as const
    const app = await seedIntegration(world, { webhookUrl: 'http://127.0.0.1:9/' })
    const { installationId } = await seedInstallation(world, { app })
    await seedProject(world, 'web', team)
    await multiply(world, installationId, 1200)
    const statuses = async () => {
      const rows = await world.deps.db.read.selectFrom('delivery').select(['status', 'body', 'due_at']).execute()
      return Map.groupBy(rows, ({ status }) => status)
    }
    const before = (await statuses()).get('pending')!.length
    assert.ok(before > 1200)
    const path = `/v1/integrations/apps/${app.id}${team}` as const
    assert.equal((await world.call('PATCH', path, { webhookUrl: null })).status, 200)
    assert.equal((await statuses()).get('pending')?.length, before)
    await deliver(world)
    const after = await statuses()
    assert.deepEqual([after.size, after.get('dropped')!.length], [1, before])
    assert.ok(after.get('dropped')!.every(({ body, due_at }) => body === null && due_at === null))
  },
  LOCAL,
)

/** Writes the event's delivery for an installation `count` more times, as that many events would. */
async function multiply(world: World, installationId: string, count: number): Promise<void> {
  const { db, clock } = world.deps
  const first = await db.read
    .selectFrom('delivery')
    .selectAll()
    .where('configuration_id', '=', installationId)
    .where('event_stamp', 'is not', null)
    .executeTakeFirstOrThrow()
  const more = Array.from({ length: count }, (_, at) => {
    return { ...first, id: `dlv_more_${at}`, created_stamp: clock.stamp() }
  })
  await addRows(world, 'delivery', more)
}
