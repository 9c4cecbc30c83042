/** Every answer is what the route table, and so the OpenAPI document, says of it. */

import assert from 'node:assert/strict'
import { Compile } from 'typebox/compile'
import { REFUSALS } from '../../../src/errors.ts'
import { type Route, refusalsOf } from '../../../src/platform/http/route.ts'
import { ROUTES } from '../../../src/routes.ts'
import { withQuery } from '../../support/call.ts'
import { seedProject } from '../../support/projects.ts'
import { callerOf, sampleRequest, seedSamples, teamQuery } from '../../support/sample-requests.ts'
import { onBothEngines } from '../../support/world.ts'
import { readJson } from '../openapi/story.ts'

// biome-ignore lint/suspicious/noExplicitAny: a document is walked as JSON
type Json = any

onBothEngines(
  'every operation answers its good request with its status and exactly its declared shape',
  async (world) => {
    const samples = await seedSamples(world)
    const late = ({ method, operationId }: Route) =>
      Number(method === 'DELETE') + Number(operationId === 'deleteProject')
    for (const route of [...ROUTES].sort((a, b) => late(a) - late(b))) {
      const call = callerOf(route, world)
      if (route.operationId === 'operatorRemoveMember') {
        await world.operator('PUT', `/operator/v1/teams/${samples.teamId}/members/${samples.spare.id}`, {
          role: 'VIEWER',
        })
      }
      const { method, url, body } = sampleRequest(route, samples)
      const answer = await call.try(method, withQuery(url, teamQuery(route, samples)), body)
      assert.equal(answer.status, route.status, `${route.operationId}: ${answer.text}`)
      if (route.textReply) {
        assert.match(String(answer.headers['content-type']), /^text\/plain(;|$)/)
        continue
      }
      if (!route.reply) {
        assert.equal(answer.text, '', route.operationId)
        assert.equal(answer.headers['content-type'], undefined, route.operationId)
        continue
      }
      const isLines = route.jsonLines === 'always' || (route.jsonLines && !route.reply.items)
      const type = isLines ? 'application/stream+json' : 'application/json'
      assert.match(String(answer.headers['content-type']), new RegExp(`^${RegExp.escape(type)}(;|$)`))
      const said = readJson(route, answer.text)
      const shape = Compile(route.reply)
      assert.equal(shape.Check(said), true, `${route.operationId}: ${JSON.stringify(shape.Errors(said)[0])}`)
      const [reply, told] = route.reply.items ? [route.reply.items, said[0]] : [route.reply, said]
      const declared = new Set(Object.keys(reply.properties))
      assert.deepEqual(
        Object.keys(told as Json).filter((key) => !declared.has(key)),
        [],
        route.operationId,
      )
    }
  },
)

onBothEngines('the OpenAPI document names every operation, parameter, body, answer and refusal', async (world) => {
  const answer = await world.as(undefined)('GET', '/openapi.json')
  assert.equal(answer.status, 200)
  const document: Json = answer.body
  assert.equal(document.openapi, '3.1.0')
  const operations = Object.values<Json>(document.paths).flatMap((methods) => Object.values<Json>(methods))
  assert.deepEqual(operations.map((one) => one.operationId).sort(), ROUTES.map((route) => route.operationId).sort())
  for (const operation of [document.paths, document.webhooks].flatMap((one) => Object.values<Json>(one))) {
    for (const method of Object.values<Json>(operation)) assert.ok(Object.keys(method.responses).length > 0)
  }
  for (const route of ROUTES) {
    const path = route.path.replaceAll(/:(\w+)/g, '{$1}')
    const operation = document.paths[path]?.[route.method.toLowerCase()]
    assert.equal(operation?.operationId, route.operationId, path)
    assert.ok(operation.responses[route.status], route.operationId)
    for (const key of refusalsOf(route)) {
      const [status, code, sentence] = REFUSALS[key]
      const said = operation.responses[status]?.description ?? ''
      assert.ok(said.includes(code) && said.includes(sentence), `${route.operationId} ${key}`)
    }
    const inPath = operation.parameters.filter((one: Json) => one.in === 'path').map((one: Json) => one.name)
    assert.deepEqual(
      inPath,
      [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name),
    )
    const names = operation.parameters.map((one: Json) => `${one.in} ${one.name}`)
    assert.equal(new Set(names).size, names.length, `${route.operationId} says a parameter twice`)
    if (route.auth === 'public') assert.ok(names.includes('query teamId') && names.includes('query slug'))
  }
  for (const [, pointer] of JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]+)"/g)) {
    assert.ok(
      pointer!.split('/').reduce((at: Json, step) => at?.[step], document),
      String(pointer),
    )
  }
})

onBothEngines('a refusal is problem+json for those who ask, and says the same', async (world) => {
  await seedProject(world, 'web')
  const headers = { accept: 'application/problem+json' }
  const plain = await world.call.try('GET', '/v9/projects/none')
  const problem = await world.call.try('GET', '/v9/projects/none', undefined, headers)
  assert.match(String(plain.headers['content-type']), /^application\/json(;|$)/)
  assert.match(String(problem.headers['content-type']), /^application\/problem\+json(;|$)/)
  assert.deepEqual(problem.body.error, plain.body.error)
  const { status, detail } = JSON.parse(problem.text)
  assert.deepEqual([status, detail], [404, plain.body.error.message])
})

onBothEngines('HEAD answers as GET does, without the body', async (world) => {
  await seedProject(world, 'web')
  for (const url of ['/v9/projects', '/v9/projects/web', '/v2/user', '/docs', '/docs/getUser', '/v9/projects/none']) {
    const [get, head] = [await world.call.try('GET', url), await world.call.try('HEAD', url)]
    assert.deepEqual(
      [head.status, head.text, head.headers['content-type']],
      [get.status, '', get.headers['content-type']],
      url,
    )
  }
})

onBothEngines(
  'no message of an error is longer than 1,000 characters, however long the ids of its path are',
  async (world) => {
    const samples = await seedSamples(world)
    const long = `${'😀'.repeat(600)}`
    const refused: number[] = []
    for (const route of ROUTES.filter(({ path }) => path.includes('/:'))) {
      const names = [...route.path.matchAll(/:(\w+)/g)].map(([, name]) => [name!, encodeURIComponent(long)])
      const { method, url, body } = sampleRequest(route, samples, Object.fromEntries(names))
      const { status, text, body: answer } = await callerOf(route, world).try(method, url, body)
      assert.ok(status < 500, `${route.operationId}: ${text.slice(0, 200)}`)
      if (status < 400) continue
      refused.push(status)
      const { message } = answer.error
      assert.ok(message.length <= 1000 && message.isWellFormed(), `${route.operationId}: ${message.length}`)
    }
    assert.ok(refused.includes(404) && refused.length > 80, `${refused.length} were refused`)
  },
)
