/** What operations change as side effects: what members, an installation and an environment have. */
import assert from 'node:assert/strict'
import type { Samples } from '../sample-requests.ts'
import { markDomainsVerified } from '../states.ts'
import type { ApiResponse, Call, World } from '../world.ts'
import { consentAndInstall, exchange, seedIntegration } from './integration-world.ts'

/** Gives the samples what operations could change in addition to their resource. Returns a second member to be removed. */
export async function addSideEffects(world: World, samples: Samples): Promise<string> {
  const { mateId, teamId, apps, code, projectId } = samples
  const did = async (
    call: Call,
    method: 'POST' | 'PUT',
    url: string,
    body: object,
  ): Promise<ApiResponse<{ token: string }>> => {
    const answer = await call.try(method, url, body)
    assert.ok(answer.status < 300, `${url}: ${answer.text}`)
    return answer as ApiResponse<never>
  }
  const domains = '/v10/projects/web/domains'
  await did(world.call, 'POST', domains, { name: 'stage.example.com', customEnvironmentId: 'staging' })
  await did(world.call, 'POST', domains, { name: 'other.example.com', redirect: 'www.example.com' })
  await did(world.call, 'POST', domains, { name: 'feature.example.com', gitBranch: 'feature' })
  await markDomainsVerified(world)
  const variable = { key: 'STAGED', value: 'v', target: [], customEnvironmentIds: ['staging'] }
  await did(world.call, 'POST', '/v10/projects/web/env', variable)
  const given = await exchange(world, apps.helper, code)
  assert.equal(given.status, 200, given.text)
  const installed = world.as(given.body.access_token)
  await did(installed, 'POST', '/v10/projects/web/env', { key: 'INSTALLED', value: 'v', target: ['preview'] })
  // The code of the samples is used up.
  samples.code = (await consentAndInstall(world, apps.helper, { teamId: undefined })).code
  const shared = {
    evs: [{ key: 'SHARED_BY_APP', value: 'v' }],
    type: 'encrypted',
    target: ['preview'],
    projectId: [projectId],
  }
  await did(installed, 'POST', '/v1/env', shared)
  const leaver = await world.user('leaver')
  for (const [userId, slug] of [
    [mateId, 'of-mate'],
    [leaver.id, 'of-leaver'],
  ] as const) {
    const path = `/operator/v1/teams/${teamId}/members/${userId}`
    await did(world.operator, 'PUT', path, { role: 'OWNER' })
    const token = await did(world.operator, 'POST', '/operator/v1/tokens', { userId, teamId })
    const call = world.as(token.body.token)
    const hook = { url: 'https://hooks.example.com', events: ['project.created'] }
    await did(call, 'POST', `/v1/webhooks?teamId=${teamId}`, hook)
    const drain = { url: 'https://logs.example.com', sources: ['edge'], deliveryFormat: 'json' }
    await did(call, 'POST', `/v1/log-drains?teamId=${teamId}`, drain)
    await consentAndInstall(world, await seedIntegration(world, { slug }), { userId })
  }
  return leaver.id
}
