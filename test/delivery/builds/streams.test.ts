/** Streams of logs: they end with the permission to read, and an owner leaves room for others. docs/building.md: Logs. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openStream } from '../../../src/platform/fairness/streams.ts'
import { eventually } from '../../support/eventually.ts'
import { seedProject } from '../../support/projects.ts'
import { onBothEngines, type World } from '../../support/world.ts'
import { BUILDS, openRunners } from './building.ts'

type Scene = { world: World; mate: Awaited<ReturnType<World['user']>>; id: string }

/** TABLE ways to lose sight of a deployment of a team. */
const WAYS: Record<string, (scene: Scene) => Promise<unknown>> = {
  'they are removed from the team': ({ world, mate }) =>
    world.call('DELETE', `/v1/teams/${world.credentials.teamId}/members/${mate.id}`),
  'their role may not read deployments': ({ world, mate }) =>
    world.operator('PUT', `/operator/v1/teams/${world.credentials.teamId}/members/${mate.id}`, { role: 'BILLING' }),
  'the deployment is deleted': ({ world, id }) =>
    world.call('DELETE', `/v13/deployments/${id}?teamId=${world.credentials.teamId}`),
  'the operator suspends them': ({ world, mate }) =>
    world.operator('PATCH', `/operator/v1/users/${mate.id}`, { suspended: true }),
}

for (const [way, end] of Object.entries(WAYS))
  onBothEngines(
    `the stream of a silent build ends when ${way}`,
    async (world) => {
      const query = `teamId=${world.credentials.teamId}`
      await seedProject(world, 'web', `?${query}`)
      const runners = await openRunners(world)
      const mate = await world.user('mate')
      await world.operator('PUT', `/operator/v1/teams/${world.credentials.teamId}/members/${mate.id}`, {
        role: 'MEMBER',
      })
      const files = [{ file: 'a', data: 'b' }]
      const { id } = (await world.call('POST', `/v13/deployments?${query}`, { name: 'web', files })).body
      await runners.take()
      const origin = await world.listen()
      const [theirs, ours] = await Promise.all(
        [mate.token, world.credentials.token!].map((token) =>
          followSilent(`${origin}/v3/deployments/${id}/events?${query}`, token),
        ),
      )
      await end({ world, mate, id })
      await eventually(() => theirs!.isOver())
      if (way === 'the deployment is deleted') await eventually(() => ours!.isOver())
      else assert.equal(ours!.isOver(), false, 'no other reader stops')
      ours!.stop()
      await runners.close()
    },
    BUILDS,
  )

onBothEngines(
  'a HEAD of the log leaves no stream behind',
  async (world) => {
    const query = `teamId=${world.credentials.teamId}`
    await seedProject(world, 'web', `?${query}`)
    const runners = await openRunners(world)
    const files = [{ file: 'a', data: 'b' }]
    const { id } = (await world.call('POST', `/v13/deployments?${query}`, { name: 'web', files })).body
    await runners.take()
    const url = `${await world.listen()}/v3/deployments/${id}/events?${query}&format=lines&follow=1`
    const headers = { authorization: `Bearer ${world.credentials.token}` }
    for (let times = 0; times < 40; times++) {
      const answer = await fetch(url, { method: 'HEAD', headers })
      assert.deepEqual([answer.status, await answer.text()], [200, ''])
    }
    const lines = { [Symbol.asyncIterator]: () => ({ next: () => new Promise<never>(() => {}) }) }
    const owner = world.credentials.userId
    await eventually(
      () => openStream(world.deps.db, { owner, lines, canRead: async () => {} })?.destroy() !== undefined,
    )
    await runners.close()
  },
  BUILDS,
)

async function followSilent(url: string, token: string) {
  const stopping = new AbortController()
  const headers = { authorization: `Bearer ${token}` }
  const answer = await fetch(`${url}&format=lines&follow=1`, { headers, signal: stopping.signal })
  assert.equal(answer.status, 200)
  let isOver = false
  const read = async () => {
    for await (const _ of answer.body!) assert.fail('the build is silent')
  }
  read()
    .catch(() => {})
    .finally(() => {
      isOver = true
    })
  return { isOver: () => isOver, stop: () => stopping.abort() }
}

test('an owner has 40 streams and never more than are left free, so a newcomer finds one', () => {
  const service = {}
  const lines = { [Symbol.asyncIterator]: () => ({ next: () => new Promise<never>(() => {}) }) }
  const open = (owner: string) => openStream(service, { owner, lines, canRead: async () => {} })
  const opened: NonNullable<ReturnType<typeof open>>[] = []
  const openAll = (owner: string) => {
    let count = 0
    for (let one = open(owner); one !== undefined; one = open(owner)) {
      opened.push(one)
      count++
    }
    return count
  }
  for (let owner = 0; owner < 11; owner++) assert.equal(openAll(`owner${owner}`), 40)
  assert.deepEqual([openAll('twelfth'), openAll('thirteenth'), openAll('fourteenth')], [30, 15, 8])
  assert.equal(openAll('owner0'), 0)
  for (const stream of opened) stream.destroy()
  assert.ok(open('owner0')?.destroy())
})
