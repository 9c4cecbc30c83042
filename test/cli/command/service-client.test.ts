/** How a command asks the service: to the end of the answer within its time, and nowhere else. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { operatorCommand } from '../../../src/cli/command/operator.ts'
import { callService } from '../../../src/cli/command/service-client.ts'
import type { Invocation } from '../../../src/cli/command-line/command.ts'
import { readConfig } from '../../../src/config.ts'
import { berth } from '../../support/clients/command.ts'

const ASKING = { method: 'POST', path: '/operator/v1/things?secret=1', body: { a: 1 }, as: 'operator' } as const
const OPERATOR_TOKEN = 'operator-token-of-this-test'

/** A server that answers as said. Gives its address, and what it was asked. */
async function serve(t: TestContext, listener: RequestListener): Promise<{ origin: string; asked: string[] }> {
  const asked: string[] = []
  const server = createServer((request, answer) => {
    asked.push(`${request.method} ${request.headers.authorization}`)
    listener(request, answer)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked }
}

function ask(origin: string, timeoutMs?: number): Promise<unknown> {
  const config = readConfig({ BERTH_PUBLIC_URL: origin, BERTH_OPERATOR_TOKEN: OPERATOR_TOKEN })
  return callService(config, ASKING, timeoutMs)
}

test('a redirect is reported and not followed: the token stays with the service that was named', async (t) => {
  const other = await serve(t, (_, answer) => answer.end())
  for (const status of [301, 302, 303, 307, 308]) {
    const { origin } = await serve(t, (_, answer) =>
      answer.writeHead(status, { location: `${other.origin}/there?secret=2` }).end(),
    )
    await assert.rejects(ask(origin), {
      message: `${origin}/operator/v1/things redirects to ${other.origin}/there, which is not followed: it would get the token. Set BERTH_PUBLIC_URL to the address of the service itself`,
    })
  }
  assert.deepEqual(other.asked, [])
})

test('an answer that does not begin, or does not end, is given up', async (t) => {
  const silent = await serve(t, () => {})
  const endless = await serve(t, (_, answer) => {
    answer.writeHead(200, { 'content-type': 'application/json' }).write('{')
  })
  for (const { origin } of [silent, endless])
    await assert.rejects(ask(origin, 300), {
      message: `${origin} did not end its answer within 0.3 s; look at /readyz of the service`,
    })
  assert.deepEqual(silent.asked, [`POST Bearer ${OPERATOR_TOKEN}`])
})

test('what reads a complete log or store has an hour, and all else a minute', async (t) => {
  const { origin } = await serve(t, (_, answer) =>
    answer.writeHead(200, { 'content-type': 'application/json' }).end('{"verified":true}'),
  )
  const settings = () => readConfig({ BERTH_PUBLIC_URL: origin, BERTH_OPERATOR_TOKEN: OPERATOR_TOKEN })
  const invocation = { settings, value: () => undefined, all: () => [], has: () => false } as unknown as Invocation
  const limits = t.mock.method(AbortSignal, 'timeout')
  const limitOf = async (words: string) => {
    await operatorCommand(words)(invocation)
    return limits.mock.calls.at(-1)!.arguments[0]
  }
  assert.deepEqual(
    [await limitOf('audit verify'), await limitOf('keys rotate'), await limitOf('keys status')],
    [3_600_000, 3_600_000, 60_000],
  )
})

test('a list is asked page by page to its end', async (t) => {
  const paths: string[] = []
  const { origin } = await serve(t, (request, answer) => {
    paths.push(request.url!)
    const next = [20, 10, null][paths.length - 1]
    answer.writeHead(200, { 'content-type': 'application/json' })
    answer.end(JSON.stringify({ users: [`of page ${paths.length}`], pagination: { next } }))
  })
  const config = readConfig({ BERTH_PUBLIC_URL: origin, BERTH_OPERATOR_TOKEN: OPERATOR_TOKEN })
  const asking = { method: 'GET', path: '/operator/v1/users?limit=1', as: 'operator', list: 'users' } as const
  assert.deepEqual(await callService(config, asking), { users: ['of page 1', 'of page 2', 'of page 3'] })
  const first = asking.path
  assert.deepEqual(paths, [first, `${first}&until=20`, `${first}&until=10`])
})

test('an error of the service is shown in its own words, and a wait that it requires is kept', async (t) => {
  let times = 0
  const { origin } = await serve(t, (_, answer) => {
    if (times++ === 0) return void answer.writeHead(429, { 'retry-after': '0' }).end()
    answer.writeHead(409, { 'content-type': 'application/json' })
    answer.end(JSON.stringify({ error: { code: 'conflict', message: 'It is taken.' } }))
  })
  await assert.rejects(ask(origin), { message: 'It is taken.', status: 409, code: 'conflict' })
  assert.equal(times, 2)
})

test('an answer of another program is reported as such', async (t) => {
  for (const [status, body, message] of [
    [404, '{"message":"no route"}', 'the service answered 404'],
    [502, '<html>', 'the service answered 502'],
    [500, '{"error":"broken"}', 'the service answered 500'],
    [500, 'null', 'the service answered 500'],
    [200, '<html>', /answered something that is not JSON; set BERTH_PUBLIC_URL/],
  ] as const) {
    const { origin } = await serve(t, (_, answer) =>
      answer.writeHead(status, { 'content-type': 'application/json' }).end(body),
    )
    await assert.rejects(ask(origin), { message })
  }
})

test('what answers at the port of the service and is not Berth is not ready', async (t) => {
  for (const body of ['<html>', '{}', 'null', '{"ready":true,"failing":null}']) {
    const { origin } = await serve(t, (_, answer) => answer.end(body))
    const { code, err } = await berth(['ready'], { PORT: new URL(origin).port })
    assert.deepEqual([code, /what answers at .* is not Berth: set HOST and PORT/.test(err)], [1, true], err)
  }
})
