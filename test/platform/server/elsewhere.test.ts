/** What clients ask for and Berth does not serve is answered by a sentence that says what to use. src/platform/server/elsewhere.ts. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { unversionedPath } from '../../../src/platform/http/route.ts'
import { UNSUPPORTED } from '../../../src/platform/server/elsewhere.ts'
import { ROUTES } from '../../../src/routes.ts'
import { folder } from '../../sdk/newest-sdk.ts'
import { type Method, openWorld } from '../../support/world.ts'

// On one engine: nothing of the store is asked.
const world = await openWorld('sqlite')
after(() => world.close())
const stranger = world.as(undefined)

async function isSaid(method: string, path: string): Promise<string> {
  const answer = await stranger.try(method as Method, path)
  assert.ok([404, 405].includes(answer.status), `${method} ${path}: ${answer.status}`)
  const { message } = answer.body.error
  assert.doesNotMatch(message, /There is nothing at|is not a method of this path/, `${method} ${path}`)
  return message
}

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']
const ROUTED = new Set(ROUTES.map(({ method, path }) => `${method} ${unversionedPath(path).replaceAll(/:\w+/g, ':')}`))

test('each row of the table is said of its path and below it, with and without a version, unless it is served', async () => {
  for (const [row, sentence] of Object.entries(UNSUPPORTED)) {
    const [path, method] = row.split(' ').reverse() as [string, string?]
    const filled = path.replaceAll(/:\w+/g, 'some')
    for (const one of method === undefined ? METHODS : [method]) {
      if (ROUTED.has(`${one} ${path.replaceAll(/:\w+/g, ':')}`)) continue
      for (const before of ['', '/v1', '/v3/now'])
        assert.equal(await isSaid(one, `${before}${filled}?teamId=x`), sentence, row)
    }
    if (method === undefined) await isSaid('PUT', `/v1${filled}/some/thing/`)
    // A user reads it, and knows what to use instead.
    assert.match(sentence, /^[A-Z].*\.$/, row)
  }
})

/** Asked by CLI 33.7.1 to 64.0.2 for their commands. */
const OF_THE_CLI = [
  ...[
    'GET /v1/edge-config',
    'GET /v1/global-config',
    'GET /v1/security/firewall/config',
    'GET /v1/security/firewall/bypass',
  ],
  ...['GET /v1/projects/web/feature-flags/flags', 'GET /v2/projects/web/feature-flags/flags'],
  ...['GET /v1/projects/web/rolling-release', 'GET /v1/projects/web/routes', 'GET /v1/bulk-redirects'],
  ...['GET /v1/billing/charges', 'POST /v2/billing/costs', 'GET /v1/billing/contract-commitments'],
  ...[
    'GET /alerts/v3/groups',
    'GET /v1/access-groups',
    'GET /v1/projects/web/access-groups',
    'GET /v2/projects/web/checks',
  ],
  ...['POST /speed-insights/toggle', 'POST /web/insights/toggle', 'GET /v2/integrations/integration/neon'],
  ...['GET /v1/observability/queries', 'GET /v1/events/types'],
  ...['POST /v1/edge-cache/invalidate-by-src-images', 'GET /v1/security/priority'],
  ...['PATCH /v3/certs', 'PATCH /v3/now/certs', 'POST /v3/domains/a.com/records', 'GET /v1/deployments/dpl_1/checks'],
  ...['GET /v3/now/secrets', 'GET /v3/secrets', 'POST /v2/secrets/name'],
]

test('`project token` is not a 404, which the CLI takes for "No such project exists"', async () => {
  const answer = await stranger.try('POST', '/projects/prj_1/token?source=vercel-cli')
  assert.deepEqual([answer.status, answer.headers.allow], [405, ''])
  assert.match(answer.body.error.message, /no OIDC tokens/)
})

test('what the commands of the CLI ask and Berth does not serve has a sentence', async () => {
  for (const one of OF_THE_CLI) await isSaid(...(one.split(' ') as [string, string]))
})

/** TABLE calls of the newest SDK whose path is not a route of their own here, and why. */
const OTHERWISE: Readonly<Record<string, string>> = {
  '/{teamSlug}': 'a registry of images, at the root of another host',
  'GET /projects/traces': 'reads a project of the name "traces"',
  'GET /': 'the front page',
}

test('every method of the newest SDK asks a route, or what has a sentence', async () => {
  let asked = 0
  for (const name of readdirSync(join(folder, 'funcs')).filter((file) => file.endsWith('.js'))) {
    const code = readFileSync(join(folder, 'funcs', name), 'utf8')
    const [, path] = /pathToFunc\("([^"]+)"/.exec(code) ?? []
    const [, method] = /method: "([A-Z]+)"/.exec(code) ?? []
    if (path === undefined) continue
    const way = `${method} ${unversionedPath(path)}`
    if (ROUTED.has(way.replaceAll(/\{\w+\}/g, ':'))) continue
    if (Object.keys(OTHERWISE).some((known) => way === known || unversionedPath(path).startsWith(known))) continue
    if (method !== 'HEAD') await isSaid(method!, path.replaceAll(/\{\w+\}/g, 'some'))
    asked++
  }
  assert.ok(asked > 200, `${asked} methods`)
})
