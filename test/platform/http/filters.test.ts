/** An unknown filter never widens an answer: the rule of platform/http/query.ts, over every list of the route table. docs/clients.md. */

import assert from 'node:assert/strict'
import { isList, type Route } from '../../../src/platform/http/route.ts'
import { ROUTES } from '../../../src/routes.ts'
import { withQuery } from '../../support/call.ts'
import { callerOf, sampleRequest, seedSamples, teamQuery } from '../../support/sample-requests.ts'
import { onBothEngines } from '../../support/world.ts'

const LISTS = ROUTES.filter((route) => route.auth === 'public' && isList(route))

onBothEngines('every list refuses a filter that it does not have, and names those that it has', async (world) => {
  assert.ok(LISTS.length >= 22, `${LISTS.length} lists`)
  const samples = await seedSamples(world)
  for (const route of LISTS) {
    const ask = (query: string) => {
      const { method, url, body } = sampleRequest(route, samples)
      return callerOf(route, world).try(method, withQuery(withQuery(url, teamQuery(route, samples)), query), body)
    }
    for (const name of [
      'sha1',
      'meta_x',
      'constructor',
      '__proto__',
      'page',
      'TeamId',
      'withdrawn',
      'withGitRepoInfo',
      'includeProjects',
      'a[]',
    ]) {
      if (filtersOf(route).includes(name)) continue
      const answer = await ask(`${name}=1`)
      assert.deepEqual([answer.status, answer.body.error?.code], [400, 'bad_request'], `${route.operationId} ${name}`)
      assert.ok(
        answer.body.error.message.startsWith(`Invalid request: \`${name}\` is not a filter of this list; it has `),
      )
      for (const known of filtersOf(route)) assert.match(answer.body.error.message, new RegExp(`\\b${known}\\b`))
    }
    const harmless = await ask('source=cli&limit=20')
    assert.equal(harmless.status, 200, `${route.operationId}: ${harmless.text}`)
  }
})

function filtersOf(route: Route): string[] {
  return Object.keys(route.query?.properties ?? {})
}

onBothEngines(
  'a route that is not a list ignores unknown parameters, and the operator acts for no team',
  async (world) => {
    await seedSamples(world)
    assert.equal((await world.call('GET', '/v9/projects/web?rollbackInfo=true&page=1')).status, 200)
    assert.equal((await world.operator.try('GET', '/operator/v1/audit?teamId=team_x')).status, 400)
    assert.equal((await world.operator.try('GET', '/operator/v1/audit?source=x')).status, 400)
  },
)

onBothEngines('custom environments, aliases and removals are narrowed by what the newest SDK says', async (world) => {
  const samples = await seedSamples(world)
  const { call } = world
  const environments = async (query: string) =>
    (await call('GET', `/v9/projects/web/custom-environments${query}`)).body.environments.map(
      ({ slug }: { slug: string }) => slug,
    )
  for (const [slug, type] of Object.entries({ same: 'equals', begins: 'startsWith', ends: 'endsWith' })) {
    const made = await call('POST', '/v9/projects/web/custom-environments', {
      slug,
      branchMatcher: { type, pattern: 'qa' },
    })
    assert.equal(made.status, 201, made.text)
  }
  assert.deepEqual((await environments('')).toSorted(), ['begins', 'ends', 'same', 'staging'])
  assert.deepEqual((await environments('?gitBranch=qa')).toSorted(), ['begins', 'ends', 'same'])
  assert.deepEqual(await environments('?gitBranch=qa-1'), ['begins'])
  assert.deepEqual(await environments('?gitBranch=x/qa'), ['ends'])
  assert.deepEqual(await environments('?gitBranch=main'), [])

  const { body } = await call('GET', '/v4/aliases?limit=1')
  const [{ alias, createdAt }] = body.aliases
  const status = async (query: string) => (await call.try('GET', `/v4/aliases/${alias}?${query}`)).status
  assert.equal(await status(`projectId=${samples.projectId}&since=${createdAt - 1}&until=${createdAt + 1}`), 200)
  assert.equal(await status('projectId=prj_other'), 404)
  assert.equal(await status(`since=${createdAt}`), 404)
  assert.equal(await status(`from=${createdAt}`), 404)
  assert.equal(await status(`until=${createdAt}`), 404)

  const env = `/v9/projects/web/env/${samples.envId}` as const
  assert.equal((await call.try('DELETE', `${env}?customEnvironmentId=staging`)).status, 404)
  assert.equal((await call.try('DELETE', `${env}?customEnvironmentId=nosuch`)).status, 404)
  await call('PATCH', env, { customEnvironmentIds: ['staging'] })
  assert.equal((await call('DELETE', `${env}?customEnvironmentId=staging`)).status, 200)
})
