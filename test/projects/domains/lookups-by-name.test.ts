/** What cannot be a domain is none that is there: every route that looks one up by a name in its path answers 404. docs/domains.md. */

import assert from 'node:assert/strict'
import { withQuery } from '../../support/call.ts'
import { PUBLIC, sampleRequest, seedSamples } from '../../support/sample-requests.ts'
import { onBothEngines } from '../../support/world.ts'

/** The specification's 400 (operation 15), and a question to DNS that looks nothing up here. */
const ASKED_OTHERWISE: Record<string, string> = {
  verifyProjectDomain: 'invalid_domain',
  getDomainConfig: 'invalid_domain',
}

onBothEngines('a name that cannot be a domain returns 404 wherever a domain is looked up by it', async (world) => {
  const samples = await seedSamples(world)
  const routes = PUBLIC.filter(({ path }) => path.includes(':domain'))
  assert.ok(routes.length >= 12, `${routes.length} routes`)
  for (const route of routes) {
    for (const name of ['localhost', 'co.uk', '1.2.3.4', 'a_b.example.com', 'no such', 'x.example']) {
      const { method, url, body } = sampleRequest(route, samples, { domain: encodeURIComponent(name) })
      const answer = await world.call.try(method, url, body)
      const code = ASKED_OTHERWISE[route.operationId]
      const expected = code === undefined ? [404, 'not_found'] : [400, code]
      assert.deepEqual([answer.status, answer.body.error?.code], expected, `${route.operationId} ${name}`)
    }
  }
  for (const name of ['localhost', '1.2.3.4']) {
    const left = await world.call.try('DELETE', withQuery('/projects/web/alias', `domain=${name}`))
    assert.deepEqual([left.status, left.body.error.code], [404, 'not_found'])
  }
})
