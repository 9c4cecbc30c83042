/**
 * What every list passes over means nothing for its rows: a list whose rows have a field of that name has it as a filter, or a reason stands
 * here. docs/spec/decisions.md: Accounts, actors, permissions; `HARMLESS` of platform/http/query.ts.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HARMLESS } from '../../../src/platform/http/query.ts'
import type { Shape } from '../../../src/platform/http/validate.ts'
import { ROUTES } from '../../../src/routes.ts'
import { onBothEngines } from '../../support/world.ts'

const NARROWS = 'the rows are those of the account that it names'
const TEAM_OF_ACCOUNT = 'it names the account; the slug of a row is another thing, and there are few rows'
const OF_A_PERSON = 'the rows are those of a user; a client that sends it with every request looks for another account'
const WHO_ASKS = 'it says who asks; that of a row is where the row came from'

/** By the list and the field of its rows: why the parameter of that name is not a filter. */
const REASONS: Record<string, string> = {
  'GET /v5/domains teamId': NARROWS,
  'GET /v9/projects/:idOrName/custom-environments slug': TEAM_OF_ACCOUNT,
  'GET /v5/user/tokens teamId': OF_A_PERSON,
  'GET /v1/drains teamId': NARROWS,
  'GET /v1/drains source': WHO_ASKS,
  'GET /v1/log-drains teamId': NARROWS,
  'GET /v1/log-drains source': WHO_ASKS,
  'GET /v2/integrations/log-drains teamId': NARROWS,
  'GET /v2/integrations/log-drains source': WHO_ASKS,
  'GET /v1/projects/:projectId/deployments/:deploymentId/runtime-logs source': WHO_ASKS,
  'GET /v1/integrations/apps teamId': NARROWS,
  'GET /v1/integrations/apps slug': TEAM_OF_ACCOUNT,
  'GET /v1/integrations/configurations teamId': NARROWS,
  'GET /v1/integrations/configurations slug': TEAM_OF_ACCOUNT,
  'GET /v1/integrations/configurations source': WHO_ASKS,
}

/** The fields of the rows of a list: of the lists in its answer, or of the answer that is one. */
function fieldsOfRows(reply: Shape | undefined): string[] {
  if (reply === undefined) return []
  const lists = [reply, ...Object.values(reply.properties ?? {})] as (Shape & { items?: Shape })[]
  const rows = lists.flatMap(({ items }) => (items === undefined ? [] : [items, ...(items.anyOf ?? [])])) as Shape[]
  return rows.flatMap(({ properties }) => Object.keys(properties ?? {}))
}

test('a list whose rows have a field that every list passes over has it as a filter, or a reason', () => {
  const found: string[] = []
  let filters = 0
  for (const { method, path, auth, list, query, reply } of ROUTES) {
    if (auth !== 'public' || list === undefined) continue
    const declared = (query as Shape | undefined)?.properties ?? {}
    for (const name of new Set(fieldsOfRows(reply as Shape | undefined).filter((field) => field in HARMLESS))) {
      if (name in declared) filters++
      else found.push(`${method} ${path} ${name}`)
    }
  }
  assert.deepEqual(found.sort(), Object.keys(REASONS).sort())
  assert.equal(filters, 1, 'the slug of `GET /v2/teams`')
})

onBothEngines('the list of teams by a slug is that one team, and without one all', async (world) => {
  const { call } = world
  for (const slug of ['newer', 'newest']) await call('POST', '/v1/teams', { slug, name: slug })
  const slugs = async (query: string, path: '/v1/teams' | '/v2/teams' = '/v2/teams') =>
    (await call('GET', `${path}?${query}`)).body.teams.map((team: { slug: string }) => team.slug)
  const all = ['newest', 'newer', 'team']
  for (const path of ['/v1/teams', '/v2/teams'] as const)
    for (const slug of all) assert.deepEqual(await slugs(`slug=${slug}`, path), [slug])
  assert.deepEqual(await slugs('slug=team&limit=1'), ['team'])
  const team = (await call('GET', '/v2/teams/team')).body.id
  for (const query of ['', 'slug=', 'teamId=&slug=', `teamId=${team}`, `teamId=${team}&slug=`, `slug=&teamId=${team}`])
    assert.deepEqual(await slugs(query), all, query)
  assert.equal((await call.try('GET', '/v2/teams?slug=nobody')).status, 403)
})
