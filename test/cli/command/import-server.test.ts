/** How an import asks a server that limits, fails, changes meanwhile, or is none. docs/moving-in.md: Requests and retries. */
import assert from 'node:assert/strict'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import type { ServerItem } from '../../../src/cli/command/import/schemas.ts'
import { openServer, type Server } from '../../../src/cli/command/import/server.ts'

type Reply = (request: IncomingMessage, response: ServerResponse, count: number) => void

/** A stand-in for a server, and its client; pauses are counted and not waited for. */
async function standIn(t: TestContext, reply: Reply, team?: string) {
  const seen: { line: string; key: string | undefined }[] = []
  const server = createServer((request, response) => {
    request.resume()
    const key = request.headers['idempotency-key']
    seen.push({ line: `${request.method} ${request.url}`, key: key === undefined ? undefined : String(key) })
    response.setHeader('content-type', 'application/json')
    reply(request, response, seen.length)
  }).listen(0, '127.0.0.1')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  await new Promise((resolve) => server.once('listening', resolve))
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const pauses: number[] = []
  const pause = async (ms: number) => void pauses.push(ms)
  return { asked: openServer({ origin, token: 'secret', team, pause }), seen, pauses, origin }
}

function send(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string | number> = {},
): void {
  response.writeHead(status, headers).end(JSON.stringify(body))
}

async function all(server: Server, path: string, name: string, absent?: 'absent'): Promise<ServerItem[]> {
  const items: ServerItem[] = []
  for await (const one of server.list(path.split(' '), name, absent)) items.push(one)
  return items
}

test('a 429 is waited for as Retry-After or X-RateLimit-Reset say, and the answer that was the last allowed one too', async (t) => {
  const soon = Math.ceil(Date.now() / 1000) + 100
  const { asked, pauses } = await standIn(t, (_, response, count) => {
    if (count === 1) send(response, 429, {}, { 'retry-after': '7' })
    else if (count === 2) send(response, 429, {}, { 'x-ratelimit-reset': soon })
    else if (count === 3) send(response, 429, {}, { 'retry-after': new Date(Date.now() + 50_000).toUTCString() })
    else send(response, 200, { ok: true }, { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': soon })
  })
  assert.deepEqual(await asked.get('/a'), { ok: true })
  await asked.get('/b')
  const [first, ...later] = pauses
  assert.equal(first, 7000)
  assert.equal(later.length, 3)
  const expected = [soon * 1000 - Date.now(), 50_000, soon * 1000 - Date.now()]
  for (const [at, ms] of later.entries()) assert.ok(Math.abs(ms - expected[at]!) < 20_000, `${ms}`)

  const roomy = await standIn(t, (_, response) =>
    send(response, 200, {}, { 'x-ratelimit-remaining': '1', 'x-ratelimit-reset': soon }),
  )
  await roomy.asked.get('/a')
  await roomy.asked.get('/b')
  assert.deepEqual(roomy.pauses, [], 'one more is allowed')
})

test('a server that limits for ever is given up after 30 pauses, the longest of a minute; one that says 15 minutes is waited for', async (t) => {
  const endless = await standIn(t, (_, response) => send(response, 429, { error: { message: 'too many' } }))
  await assert.rejects(endless.asked.get('/a'), /too many/)
  const doubled = [500, 1000, 2000, 4000, 8000, 16_000, 32_000]
  assert.deepEqual(endless.pauses, [...doubled, ...Array.from({ length: 23 }, () => 64_000)])
  const long = await standIn(t, (_, response, count) =>
    send(response, count === 1 ? 429 : 200, {}, { 'retry-after': '900' }),
  )
  await long.asked.get('/a')
  assert.deepEqual(long.pauses, [900_000])
})

test('a refused request is sent once, and only a 404 counts as an empty list', async (t) => {
  const { asked, seen, pauses } = await standIn(t, ({ url }, response) =>
    send(response, Number(url!.slice(1, 4)), { error: { message: 'no' } }),
  )
  assert.equal(await asked.find('/404'), undefined)
  for (const status of [300, 400, 403]) await assert.rejects(asked.find(`/${status}`), /no/)
  await assert.rejects(all(asked, '/403', 'items', 'absent'), /no/)
  assert.deepEqual([seen.length, pauses], [5, []])
  const empty = await standIn(t, (_, response) => void response.writeHead(204).end())
  assert.equal(await empty.asked.write('POST', '/a', {}), undefined)
})

test('a server that requires a pause of hours is reported to the user', async (t) => {
  const { asked, pauses } = await standIn(t, (_, response) =>
    send(response, 429, { error: { message: 'try again in 2 hours' } }, { 'retry-after': '7200' }),
  )
  await assert.rejects(asked.get('/a'), /limits how often it is asked \(try again in 2 hours\): wait 120 minutes$/)
  assert.deepEqual(pauses, [])
})

test('a write whose response was lost is sent again with the same key; a permanent failure is reported', async (t) => {
  const { asked, seen, pauses } = await standIn(t, (request, response, count) => {
    if (count === 1) request.socket.destroy()
    else if (count === 2) send(response, 503, {})
    else send(response, 201, { id: 1 })
  })
  assert.deepEqual(await asked.write('POST', '/a', { name: 'x' }), { id: 1 })
  assert.equal(new Set(seen.map(({ key }) => key)).size, 1)
  assert.match(seen[0]!.key!, /^[0-9a-f-]{36}$/)
  assert.deepEqual(pauses, [500, 1000])
  await asked.write('POST', '/a', { name: 'y' })
  assert.notEqual(seen.at(-1)!.key, seen[0]!.key)

  const dead = await standIn(t, (request) => request.socket.destroy())
  await assert.rejects(dead.asked.get('/a'), /does not answer/)
  assert.deepEqual([dead.seen.length, dead.pauses], [6, [500, 1000, 2000, 4000, 8000]])
  const broken = await standIn(t, (_, response) => send(response, 500, { error: { message: 'inside' } }))
  await assert.rejects(broken.asked.get('/a'), /inside/)
  assert.equal(broken.seen.length, 6)
})

test('an answer that does not end is given up at its deadline, and is not asked for again', async (t) => {
  for (const first of [true, false]) {
    const { origin, seen } = await standIn(t, (_, response) => {
      // Of the one nothing arrives, of the other the head and a first byte.
      if (first) response.writeHead(200).write(' ')
    })
    const asked = openServer({ origin, token: 't', timeoutMs: 200 })
    await assert.rejects(asked.get('/a?b=1'), /\/a did not end its answer within 0.2 s$/)
    assert.equal(seen.length, 1)
  }
})

test('a response of another shape is reported with the request and what came', async (t) => {
  const answers: Record<string, unknown> = {
    '/null': null,
    '/array': [],
    '/text': 'x',
    '/nulls': { projects: [null, { name: 'web' }, 1] },
    '/name': { projects: [{ name: 7 }] },
    '/key': [{ type: 'plain', target: [] }],
  }
  const { asked } = await standIn(t, ({ url }, response) => send(response, 200, answers[url!]))
  await assert.rejects(asked.get('/null'), /\/null answered null that is not/)
  await assert.rejects(asked.find('/array'), /\/array answered an array that is not/)
  await assert.rejects(asked.get('/text'), /\/text answered a string that is not/)
  await assert.rejects(all(asked, '/null', 'projects'), /\/null answered null that is not/)
  await assert.rejects(
    all(asked, '/nulls', 'projects'),
    /\/nulls \(in its list of projects\) answered a number that is not/,
  )
  await assert.rejects(
    all(asked, '/name', 'projects'),
    /answered an object .*: Invalid request: `name` should be string/,
  )
  await assert.rejects(all(asked, '/key', 'envs'), /missing required property `key`/)
})

test('an answer that is too large, no JSON, or leads elsewhere is refused', async (t) => {
  const large = await standIn(t, (_, response) => {
    response.writeHead(200)
    const piece = Buffer.alloc(1024 * 1024, 32)
    const more = () => {
      while (!response.destroyed && response.write(piece));
    }
    response.on('drain', more)
    more()
  })
  await assert.rejects(large.asked.get('/a'), /more than 32 MiB/)
  assert.equal(large.seen.length, 1)
  const page = await standIn(
    t,
    (_, response) => void response.writeHead(200, { 'content-type': 'text/html' }).end('<p>'),
  )
  await assert.rejects(
    page.asked.get('/a?token=1'),
    /\/a answered something that is not JSON: is this the address of the API/,
  )
  const elsewhere = await standIn(t, (_, response) => assert.fail(`asked there ${response}`))
  const leads = await standIn(t, (_, response) => void response.writeHead(307, { location: elsewhere.origin }).end())
  await assert.rejects(leads.asked.get('/a'), new RegExp(`/a redirects to ${elsewhere.origin}/, which is not followed`))
  assert.deepEqual([leads.seen.length, leads.pauses], [1, []], 'it is reported at once')
  assert.equal(elsewhere.seen.length, 0)
})

test('a list is read page by page for the team; one that points to itself ends, and an unknown path is empty', async (t) => {
  const pages: Record<string, object> = {
    '/p?limit=2&teamId=team_1': { items: [{ at: 1 }, { at: 2 }], pagination: { next: 7 } },
    '/p?limit=2&until=7&teamId=team_1': { items: [{ at: 3 }, null], pagination: { next: null } },
    '/same?teamId=team_1': { items: [{ at: 1 }], pagination: { next: 5 } },
    '/same?until=5&teamId=team_1': { items: [{ at: 1 }], pagination: { next: 5 } },
    '/bare?teamId=team_1': [{ at: 1 }],
    '/wrong?teamId=team_1': { items: 'none' },
  }
  const { asked } = await standIn(
    t,
    ({ url }, response) => send(response, pages[url!] === undefined ? 404 : 200, pages[url!] ?? {}),
    'team_1',
  )
  assert.deepEqual(await all(asked, '/p?limit=2', 'items'), [{ at: 1 }, { at: 2 }, { at: 3 }])
  assert.deepEqual(await all(asked, '/bare', 'items'), [{ at: 1 }])
  assert.deepEqual(await all(asked, '/none /absent', 'items', 'absent'), [])
  assert.deepEqual(await all(asked, '/absent /bare', 'items'), [{ at: 1 }])
  // What must be there is never taken for an empty list.
  await assert.rejects(all(asked, '/none /absent', 'items'), /answered 404/)
  await assert.rejects(all(asked, '/same', 'items'), /points to itself/)
  await assert.rejects(all(asked, '/wrong', 'items'), /no list of items/)
})
