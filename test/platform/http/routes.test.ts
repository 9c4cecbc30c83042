/** What holds for every endpoint, once, from the route table: which callers it accepts, and at which paths. */

import assert from 'node:assert/strict'
import { unversionedPath } from '../../../src/platform/http/route.ts'
import { ROUTES } from '../../../src/routes.ts'
import { SCREENS } from '../../../src/screens.ts'
import { withQuery } from '../../support/call.ts'
import {
  CLIENTS,
  ON_PROJECT,
  OPERATORS,
  PUBLIC,
  sampleRequest,
  seedSamples,
  unversionedSamplePath,
} from '../../support/sample-requests.ts'
import { type ApiResponse, type Method, onBothEngines } from '../../support/world.ts'

const NONSENSE = '{"nonsense": [tru'

onBothEngines(
  'without a readable token every operation answers 401 before it looks at anything else',
  async (world) => {
    const samples = await seedSamples(world)
    const unreadable = [undefined, '', 'Bearer', 'Bearer ', 'Basic YTpi', 'Bearer two words']
    for (const route of [...PUBLIC, ...OPERATORS]) {
      for (const authorization of unreadable) {
        const { method, url } = sampleRequest(route, samples, { idOrName: 'no such', projectId: '%00' })
        const headers: Record<string, string> = { 'content-type': 'text/nonsense' }
        if (authorization !== undefined) headers.authorization = authorization
        const answer = await world
          .as(undefined)
          .try(method, withQuery(url, 'limit=x&limit=y&teamId=no&%ff'), NONSENSE, headers)
        const said = `${route.operationId} ${authorization}`
        assert.equal(answer.status, 401, said)
        assert.equal(answer.body.error.code, 'forbidden', said)
        assert.equal(answer.body.error.missingToken, route.auth === 'public' ? true : undefined, said)
      }
    }
  },
)

onBothEngines('an unknown token is 401, and neither API takes the token of the other', async (world) => {
  const samples = await seedSamples(world)
  const unknown = world.as(`berth_${'a'.repeat(400)}`)
  for (const route of PUBLIC) {
    for (const call of [unknown, world.operator]) {
      const { method, url } = sampleRequest(route, samples)
      const answer = await call.try(method, withQuery(url, 'teamId=no&limit=x'), NONSENSE)
      assert.equal(answer.status, 401, route.operationId)
      assert.deepEqual([answer.body.error.code, answer.body.error.invalidToken], ['forbidden', true], route.operationId)
    }
  }
  for (const route of CLIENTS) {
    for (const call of [unknown, world.call, world.operator]) {
      const { method, url, body } = sampleRequest(route, samples)
      const { client_secret, ...nameless } = body as Record<string, string>
      const answer = await call.try(method, url, nameless)
      assert.deepEqual([answer.status, answer.body.error.code], [400, 'invalid_request'], route.operationId)
      const wrong = await call.try(method, url, { ...nameless, client_secret: `${client_secret}x` })
      assert.deepEqual([wrong.status, wrong.body.error.code], [401, 'invalid_client'], route.operationId)
    }
  }
  for (const route of OPERATORS) {
    for (const call of [unknown, world.call]) {
      const { method, url, body } = sampleRequest(route, samples)
      const answer = await call.try(method, url, body)
      assert.deepEqual([answer.status, answer.body.error.code], [401, 'forbidden'], route.operationId)
    }
  }
})

onBothEngines('a token whose scopes allow nothing gets 403 before its body is read', async (world) => {
  const samples = await seedSamples(world)
  for (const scopes of [[], ['read-write:edge-config', 'read:deployment-check']]) {
    const call = await world.token({ scopes })
    for (const route of PUBLIC) {
      const { method, url } = sampleRequest(route, samples, { idOrName: 'unknown', projectId: 'unknown' })
      const answer = await call.try(method, withQuery(url, 'limit=x'), NONSENSE)
      assert.deepEqual([answer.status, answer.body?.error.code], [403, 'forbidden'], route.operationId)
      for (const permission of route.needs ?? []) assert.match(answer.body.error.message, new RegExp(permission))
    }
  }
})

onBothEngines(
  'a team that is unknown, foreign or in disagreement is refused with one and the same answer',
  async (world) => {
    const samples = await seedSamples(world)
    const { rival, teamId } = samples
    const asked = [
      'teamId=team_unknown',
      `teamId=${rival.teamId}`,
      `teamId=${rival.id}`,
      'slug=unknown',
      'slug=rivals',
      'slug=rival',
      'slug=admin',
      `teamId=${teamId}&slug=rivals`,
      `teamId=${rival.teamId}&slug=team`,
      `teamId=${rival.teamId}&slug=rivals`,
      `teamId=${teamId}&slug=unknown`,
    ]
    for (const route of PUBLIC) {
      const { method, url, body } = sampleRequest(route, samples)
      const answers = new Set<string>()
      for (const query of asked) {
        const answer = await world.call.try(method, withQuery(url, query), body)
        assert.equal(answer.status, 403, `${route.operationId} ${query}: ${answer.text}`)
        answers.add(answer.text)
      }
      assert.equal(answers.size, 1, route.operationId)
    }
  },
)

onBothEngines(
  'a project of another tenant is answered like one that does not exist, by id and by name',
  async (world) => {
    const samples = await seedSamples(world)
    const [unknownId, id] = [`prj_${'0'.repeat(28)}`, samples.rival.projectId]
    const before = (await samples.rival.call('GET', '/v9/projects/secret')).text
    const anonymous = (answer: ApiResponse, said: string) => [
      answer.status,
      answer.text.replaceAll(said, 'SAID'),
      Object.keys(answer.headers).sort(),
      answer.headers['content-type'],
    ]
    for (const route of ON_PROJECT) {
      for (const [unknown, foreign] of [
        [unknownId, id],
        ['nosuch', 'secret'],
      ] as const) {
        for (const query of ['', `teamId=${samples.teamId}`]) {
          const answers = []
          for (const said of [unknown, foreign]) {
            const { method, url, body } = sampleRequest(route, samples, { idOrName: said, projectId: said })
            answers.push(anonymous(await world.call.try(method, withQuery(url, query), body), said))
          }
          assert.deepEqual(answers[1], answers[0], route.operationId)
          assert.equal(answers[0]![0], /pause/.test(route.path) ? 400 : 404, route.operationId)
        }
      }
    }
    assert.equal((await samples.rival.call('GET', '/v9/projects/secret')).text, before)
  },
)

const NOT_NOW = ['/now/now', '/now/v9', '/v9/now/v9', '/v14/now', '/Now', '/no', '/nower']

const METHODS: Method[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS']

onBothEngines('a method that a path does not take is 405 with Allow, and a path that is nowhere 404', async (world) => {
  const samples = await seedSamples(world)
  const paths = new Map<string, { url: string; taken: string[] }>(
    ['/', '/favicon.ico', '/docs', '/docs/getUser', '/openapi.json'].map((url) => [url, { url, taken: ['GET'] }]),
  )
  for (const route of ROUTES) {
    const asked = sampleRequest(route, samples)
    const [path, url] =
      route.auth === 'operator' ? [route.path, asked.url] : [unversionedPath(route.path), unversionedSamplePath(asked)]
    const known = paths.get(path) ?? { url: url.split('?', 1)[0]!, taken: [] }
    paths.set(path, { ...known, taken: [...known.taken, route.method] })
  }
  for (const { method, path } of SCREENS) {
    const known = paths.get(path) ?? { url: path.replaceAll(/:\w+/g, 'some'), taken: [] }
    paths.set(path, { ...known, taken: [...known.taken, method] })
  }
  for (const { url, taken } of paths.values()) {
    for (const method of METHODS) {
      if (taken.includes(method) || (method === 'HEAD' && taken.includes('GET'))) continue
      const answer = await world.call.try(method, url, method === 'HEAD' ? undefined : {})
      assert.equal(answer.status, 405, `${method} ${url}`)
      const allowed = String(answer.headers.allow).split(', ')
      for (const one of taken) assert.ok(allowed.includes(one), `${method} ${url} allows ${allowed}`)
      if (method !== 'HEAD') assert.equal(answer.body.error.code, 'method_unknown')
    }
  }
  for (const url of [
    '/v9',
    '/v9/',
    '/v9/project',
    '/projects/a/b/c',
    '/operator',
    '/operator/v1',
    '/v9//projects',
    '/x'.repeat(400),
  ]) {
    for (const call of [world.call, world.as(undefined)]) {
      const answer = await call.try('GET', url)
      assert.deepEqual([answer.status, answer.body.error.code], [404, 'not_found'], url)
      assert.ok(answer.text.length < 400, url)
    }
  }
})

onBothEngines(
  'every public operation answers at /v1 to /v13, without a version and with `now` after it, and nowhere else',
  async (world) => {
    const samples = await seedSamples(world)
    const nobody = await world.token({ scopes: [] })
    for (const route of PUBLIC) {
      const asked = sampleRequest(route, samples)
      const status = async (prefix: string, end = '') =>
        (await nobody.try(asked.method, `${prefix}${unversionedSamplePath(asked)}${end}`, asked.body)).status
      for (let version = 1; version <= 13; version++)
        assert.equal(await status(`/v${version}`), 403, `${version} ${route.path}`)
      for (const prefix of ['', '/now', '/v1/now', '/v13/now'])
        assert.equal(await status(prefix), 403, `${prefix}${route.path}`)
      assert.equal(await status('/v9', '/'), 403, `${route.path}/`)
      for (const prefix of [
        '/v0',
        '/v14',
        '/v99',
        '/v100',
        '/v',
        '/V9',
        '/v09',
        '/v9.1',
        '/v-1',
        '/v9/v9',
        '/api',
        ...NOT_NOW,
      ]) {
        assert.equal(await status(prefix), 404, `${prefix}${route.path}`)
      }
    }
    for (const route of CLIENTS) {
      const asked = sampleRequest(route, samples)
      const status = async (prefix: string) =>
        (
          await world.as(undefined).try('POST', `${prefix}${unversionedSamplePath(asked)}`, {
            ...(asked.body as object),
            client_secret: 'x',
          })
        ).status
      for (let version = 1; version <= 13; version++) assert.equal(await status(`/v${version}`), 401, route.path)
      for (const prefix of ['', '/now', '/v3/now']) assert.equal(await status(prefix), 401, route.path)
      for (const prefix of ['/v0', '/v14', '/operator/v1', ...NOT_NOW])
        assert.equal(await status(prefix), 404, route.path)
    }
    // Pages are for browsers, which write neither.
    for (const { method, path } of SCREENS) {
      const url = path.replaceAll(/:\w+/g, 'some')
      for (const prefix of ['/v1', '/now', '/v1/now'])
        assert.equal((await world.as(undefined).try(method, `${prefix}${url}`)).status, 404, `${prefix}${url}`)
    }
    for (const route of OPERATORS) {
      const { method, url, body } = sampleRequest(route, samples)
      for (const other of [
        `/v1${url}`,
        `/now${url}`,
        `/v1/now${url}`,
        url.replace('/v1', ''),
        url.replace('/v1', '/v2'),
      ]) {
        assert.equal((await world.operator.try(method, other, body)).status, 404, other)
      }
    }
  },
)
