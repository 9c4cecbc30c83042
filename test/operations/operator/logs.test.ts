/** The log: every response has an id, no line has a secret, and an unread log blocks nothing. docs/operations.md. */

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { connect } from 'node:net'
import { test } from 'node:test'
import { ROUTES } from '../../../src/routes.ts'
import { withQuery } from '../../support/call.ts'
import { newHome, processOnBothEngines, startService } from '../../support/process.ts'
import { callerOf, sampleRequest, seedSamples, teamQuery } from '../../support/sample-requests.ts'
import { type ApiResponse, onBothEngines, type World } from '../../support/world.ts'
import { launch } from './process-with-log.ts'

const ID = /^[0-9A-Za-z]{10}-[0-9a-z]+$/
function linesOf(world: World): Record<string, unknown>[] {
  return world
    .logged()
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
}

onBothEngines('every answer names its request, whatever it is, and no two have one name', async (world) => {
  const nobody = world.as(undefined)
  const answers = await Promise.all([
    world.call.try('GET', '/v9/projects'),
    world.call.try('GET', '/v9/projects/none'),
    world.call.try('PATCH', '/v9/projects/none', 'x'.repeat(70_000)),
    world.call.try('GET', '/%ff'),
    nobody.try('GET', '/nowhere'),
    nobody.try('PUT', '/v9/projects', {}),
    nobody.try('GET', '/healthz'),
    nobody.try('GET', '/metrics'),
    nobody.try('GET', '/docs'),
    nobody.try('GET', '/sign-in'),
    nobody.try('GET', '/sign-in?no=1&no=2'),
    nobody.try('POST', '/sign-in', 'x'),
    nobody.try('GET', '/v9/projects', undefined, { 'x-request-id': 'mine' }),
  ])
  const ids = answers.map(({ headers }) => String(headers['x-request-id']))
  for (const id of ids) assert.match(id, ID)
  assert.equal(new Set(ids).size, answers.length)
  const { hostname, port } = new URL(await world.listen())
  const socket = connect(Number(port), hostname)
  socket.write('NOT HTTP\r\n\r\n')
  const [unreadable] = await once(socket, 'data')
  assert.match(String(unreadable), /^HTTP\/1\.1 400 [\s\S]*\r\nx-request-id: [0-9A-Za-z]{10}-[0-9a-z]+\r\n/)
  const logged = new Set(linesOf(world).map(({ requestId }) => requestId))
  for (const id of ids) assert.ok(logged.has(id), id)
})

onBothEngines(
  'a line has the caller and the operation as words of the program; a valid traceparent is continued, another ignored',
  async (world) => {
    const trace = '4bf92f3577b34da6a3ce929d0e0e4736'
    const parent = '00f067aa0ba902b7'
    const line = async (traceparent: string | undefined) => {
      const answer = await world.call.try(
        'GET',
        '/v9/projects/none?x=1',
        undefined,
        traceparent === undefined ? {} : { traceparent },
      )
      const found = linesOf(world).find(({ requestId }) => requestId === answer.headers['x-request-id'])
      return found ?? assert.fail('no line')
    }
    const { level, time, pid, hostname, requestId, ms, ...said } = await line(`00-${trace}-${parent}-01`)
    assert.equal(level, 20)
    assert.ok((ms as number) >= 0)
    assert.deepEqual(said, {
      traceId: trace,
      parentId: parent,
      operation: 'getProject',
      method: 'GET',
      status: 404,
      refusal: 'not_found',
      msg: 'answered',
    })
    assert.equal((await line(`cc-${trace}-${parent}-00-what-a-later-version-says`)).traceId, trace)
    for (const invalid of [
      undefined,
      '',
      `ff-${trace}-${parent}-01`,
      `00-${'0'.repeat(32)}-${parent}-01`,
      `00-${trace}-${'0'.repeat(16)}-01`,
      `00-${trace.toUpperCase()}-${parent}-01`,
      `00-${trace}-${parent}-01-more`,
      `00-${trace}-${parent}`,
      `00-${trace}-${parent}-01\n{"level":60}`.replaceAll('\n', ' '),
      'x'.repeat(5000),
    ]) {
      const { traceId, parentId } = await line(invalid)
      assert.deepEqual([traceId, parentId], [undefined, undefined], String(invalid))
    }
  },
)

onBothEngines(
  'an internal error has its request id in the response and in the log, with its trace (logs an error)',
  async (world) => {
    const { read } = world.deps.db
    const executor = read.getExecutor() as { executeQuery: (...said: unknown[]) => Promise<unknown> }
    const real = executor.executeQuery
    const secret = 'canary-of-a-driver'
    const fault = Object.assign(new Error('it broke', { cause: new Error('because') }), {
      detail: secret,
      parameters: [secret],
    })
    executor.executeQuery = () => Promise.reject(fault)
    const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`
    const answer = await world.operator.try('GET', '/operator/v1/audit', undefined, { traceparent })
    executor.executeQuery = real
    assert.equal(answer.status, 500)
    const id = String(answer.headers['x-request-id'])
    assert.ok(answer.body.error.message.includes(id), answer.text)
    assert.doesNotMatch(answer.text, /broke|canary/)
    const line = linesOf(world).find(({ msg }) => msg === 'request failed')!
    assert.deepEqual(
      [line.requestId, line.traceId, line.method, line.path],
      [id, 'a'.repeat(32), 'GET', '/operator/v1/audit'],
    )
    const { type, message, stack, because, ...more } = line.err as Record<string, unknown>
    assert.deepEqual([type, message, more], ['Error', 'it broke', {}])
    assert.match(String(stack), /logs\.test\.ts/)
    assert.equal((because as { message: string }).message, 'because')
    assert.equal(world.logged().includes(secret), false)
  },
)

/** Strings that are in no line, wherever a caller puts them. */
const CANARY = 'canary7f3a'

onBothEngines(
  'no line of the log contains request data: no body, query, header, path or code (logs an error)',
  async (world) => {
    const samples = await seedSamples(world)
    const headers = {
      'user-agent': CANARY,
      referer: `https://${CANARY}/`,
      cookie: `a=${CANARY}`,
      'x-request-id': CANARY,
      'x-other': CANARY,
    }
    const answers: ApiResponse[] = []
    for (const route of ROUTES) {
      const call = callerOf(route, world)
      const { method, url, body } = sampleRequest(route, samples)
      const asked = withQuery(url, teamQuery(route, samples))
      const spoiled =
        body && typeof body === 'object' && !(body instanceof Blob)
          ? { ...body, name: CANARY, value: CANARY, password: CANARY, [CANARY]: 1 }
          : body
      answers.push(
        await call.try(method, withQuery(asked, `${CANARY}=${CANARY}`), spoiled, headers),
        await call.try(method, asked, `{"${CANARY}`, headers),
        await call.try(method, `${url.split('?')[0]}/${CANARY}?${CANARY}`, undefined, headers),
        await world.as(CANARY).try(method, url, body, headers),
      )
    }
    const nobody = world.as(undefined)
    for (const path of [
      `/${CANARY}`,
      `/sign-in?return=/${CANARY}`,
      `/sign-in/${CANARY}`,
      `/password/${CANARY}`,
      `/%ff${CANARY}`,
    ]) {
      const type = { 'content-type': 'application/x-www-form-urlencoded' }
      answers.push(
        await nobody.try('GET', path, undefined, headers),
        await nobody.try('POST', path, `email=${CANARY}&password=${CANARY}`, { ...headers, ...type }),
      )
    }
    assert.ok(answers.filter(({ status }) => status >= 400).length > ROUTES.length)
    const edge = (await world.openEdge())!
    const address = await edge.listen('127.0.0.1', 0)
    await fetch(`${address}/edge/v1/check/${CANARY}?token=${CANARY}`, {
      headers: { 'x-forwarded-host': `${CANARY}.example.com` },
    })
    const logged = world.logged()
    for (const line of logged.trimEnd().split('\n')) assert.doesNotThrow(() => JSON.parse(line), line)
    const found = logged.split('\n').filter((line) => line.includes(CANARY))
    assert.deepEqual(found, [])
    for (const secret of [
      world.credentials.token,
      world.credentials.operatorToken,
      samples.apps.helper.clientSecret,
      samples.code,
      samples.transferCode,
    ]) {
      assert.equal(logged.includes(secret), false)
    }
  },
)

processOnBothEngines('at the default level a successful request leaves no line', async (t, engine) => {
  const running = await startService(t, await newHome(t, engine))
  const before = running.out()
  for (let at = 0; at < 20; at++) await fetch(`${running.address}/v9/projects`)
  assert.equal(running.out(), before)
  assert.equal(await running.kill('SIGTERM'), 0)
  assert.match(running.out(), /"signal":"SIGTERM","msg":"stopping"/)
})
test('a full disk under the log stops nothing', { timeout: 300_000 }, async (t) => {
  const full = openSync('/dev/full', 'w')
  t.after(() => closeSync(full))
  const { child, address, ready, dropped, ended } = await launch(t, full)
  await ready()
  for (let at = 0; at < 20; at++) assert.equal((await fetch(`${address}/healthz`)).status, 200)
  assert.ok((await dropped()) >= 15)
  child.kill('SIGTERM')
  assert.deepEqual(await ended, [0, null])
})

const FAULTS = {
  'an exception': "throw Object.assign(new Error('boom'), { detail: 'can' + 'ary' })",
  'a rejection': "Promise.reject(new Error('boom'))",
}

for (const [kind, code] of Object.entries(FAULTS)) {
  test(`${kind} that is not caught is logged at level fatal, and the process ends with 1`, {
    timeout: 300_000,
  }, async (t) => {
    const hook = `data:text/javascript,process.on('SIGUSR2',()=>{${encodeURIComponent(code)}})`
    const { child, ready } = await launch(t, 'pipe', { NODE_OPTIONS: `--import "${hook}"` })
    let out = ''
    child.stdout!.on('data', (chunk) => {
      out += chunk
    })
    await ready()
    // Then all of the log was read.
    const closed = once(child, 'close')
    child.kill('SIGUSR2')
    assert.deepEqual(await closed, [1, null])
    const lines = out.trimEnd().split('\n')
    const last = JSON.parse(lines.find((line) => line.startsWith('{"level":60')) ?? '{}')
    assert.deepEqual([last.level, last.err?.message], [60, 'boom'], out.slice(-500))
    assert.match(last.err.stack, /boom/)
    assert.equal(out.includes('canary'), false)
  })
}
