/** Every write that there is, once: each of the table of routes, and each sweep. */
import assert from 'node:assert/strict'
import type { Route } from '../../src/platform/http/route.ts'
import { ROUTES } from '../../src/routes.ts'
import { runTimer, TIMERS, type TimerName } from '../../src/timers.ts'
import { withQuery } from './call.ts'
import { callerOf, type Samples, sampleRequest, teamQuery } from './sample-requests.ts'
import type { World } from './world.ts'

const DAY_MS = 86_400_000

/** Does every write of the table once. `after` is called with each operation. */
export async function runEveryWrite(
  world: World,
  samples: Samples,
  after: (operationId: string) => Promise<void>,
): Promise<void> {
  const late = ({ method, operationId }: Route) =>
    Number(method === 'DELETE') + Number(operationId === 'deleteProject') + Number(operationId === 'operatorDeleteUser')
  for (const route of ROUTES.filter(({ method, reads }) => method !== 'GET' && !reads).sort(
    (a, b) => late(a) - late(b),
  )) {
    const { operationId } = route
    if (operationId === 'operatorRemoveMember')
      await world.operator('PUT', `/operator/v1/teams/${samples.teamId}/members/${samples.spare.id}`, {
        role: 'VIEWER',
      })
    const { method, url, body } = sampleRequest(route, samples)
    const answer = await callerOf(route, world).try(method, withQuery(url, teamQuery(route, samples)), body)
    assert.equal(answer.status, route.status, `${operationId}: ${answer.text}`)
    await after(operationId)
  }
}

/** Runs every sweep now, in two days and in a hundred. `after` is called with each that did something, and each time the clock was moved. */
export async function runEverySweep(world: World, after: (what: string) => Promise<void>): Promise<void> {
  for (const days of [0, 2, 100]) {
    const now = Date.now() + days * DAY_MS
    world.deps.clock.set(now)
    await after(`${days} days`)
    for (const name of Object.keys(TIMERS) as TimerName[]) {
      if ((await runTimer(world.deps, name, now)) > 0) await after(`${name} after ${days} days`)
    }
  }
}
