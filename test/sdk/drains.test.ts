/** `/v1/drains` by the newest SDK, unmodified: every answer decodes to what was set. */
import assert from 'node:assert/strict'
import { LOCAL, receiver } from '../support/servers/receiver.ts'
import { onBothEngines } from '../support/world.ts'

onBothEngines(
  'the newest SDK makes, tests, lists, reads, changes and removes drains',
  async (world, t) => {
    const { Vercel } = await import('sdk-1.28.35')
    const { token: bearerToken, teamId, userId } = world.credentials
    const { drains } = new Vercel({ bearerToken, serverURL: await world.listen() })
    const hook = await receiver(t)
    const delivery = { type: 'http', endpoint: hook.url, encoding: 'json' as const, headers: { 'x-key': 'v' } }
    const schemas = { log: { version: 'v1' } }
    for (const { team, ownerId } of [
      { team: {}, ownerId: userId },
      { team: { teamId }, ownerId: teamId },
    ]) {
      const project = await world.call('POST', `/v10/projects?${new URLSearchParams(team)}`, { name: 'web' })
      const filter = { version: 'v2', filter: { type: 'basic', log: { sources: ['build' as const] } } }
      const sampling = [{ type: 'head_sampling', rate: 0.5, env: 'preview' as const }]
      const made = await drains.createDrain({
        ...team,
        requestBody: {
          ...{ name: 'logs', schemas, delivery, filter, sampling, source: { kind: 'self-served' } },
          ...{ projects: 'some', projectIds: [project.body.id] },
        },
      })
      assert.deepEqual([made.name, made.ownerId, made.projectIds], ['logs', ownerId, [project.body.id]])
      const { secret, ...sent } = made.delivery as { secret: string; headers: object; endpoint: string }
      assert.match(secret, /^\w{20,}$/)
      assert.deepEqual(sent, { ...delivery, compression: 'none' })
      assert.deepEqual(made.sampling, sampling)
      assert.deepEqual(made.filterV2?.filter, {
        type: 'basic',
        project: { ids: [project.body.id] },
        log: { sources: ['build'] },
        deployment: { environments: ['production', 'preview'] },
      })
      assert.deepEqual(await drains.testDrain({ ...team, requestBody: { schemas, delivery } }), {})
      const gone = { ...delivery, endpoint: hook.url.replace(/:\d+/, ':1') }
      assert.deepEqual(await drains.testDrain({ ...team, requestBody: { schemas, delivery: gone } }), {
        ...{ status: 'failed', endpoint: gone.endpoint, error: 'the connection was refused' },
      })
      const { id } = made
      const off = await drains.updateDrain({ ...team, id, requestBody: { status: 'disabled', projectIds: null } })
      assert.deepEqual([off.status, off.disabledReason, off.projectIds], ['disabled', 'disabled-by-owner', undefined])
      const got = await drains.getDrain({ ...team, id })
      assert.deepEqual([got.id, got.status, (got.delivery as typeof sent).headers], [id, 'disabled', { 'x-key': '' }])
      const listed = await drains.getDrains({ ...team, projectId: project.body.id, includeMetadata: true })
      assert.deepEqual(
        listed.drains.map((one) => one.id),
        [id],
      )
      await drains.deleteDrain({ ...team, id })
      await assert.rejects(drains.getDrain({ ...team, id }), { statusCode: 404 })
    }
    assert.equal(hook.got.length, 2)
  },
  LOCAL,
)
