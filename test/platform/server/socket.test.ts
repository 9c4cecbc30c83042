/** What only a real socket can send: garbage, huge headers, doubled headers, half requests. Always an answer, never a dead service. */
import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { onBothEngines, type World } from '../../support/world.ts'

/** Sends bytes and gives everything that came back until the answer is whole, or the other side closes. */
function send(address: string, bytes: string | Buffer): Promise<string> {
  const { hostname, port } = new URL(address)
  return new Promise((resolve) => {
    let heard = ''
    const socket = connect(Number(port), hostname, () => socket.write(bytes))
    socket.setTimeout(60_000, () => socket.destroy())
    socket.on('data', (chunk) => {
      heard += chunk
      if (isWhole(heard)) socket.destroy()
    })
    socket.on('error', () => {})
    socket.on('close', () => resolve(heard))
  })
}

/** Sends bytes and gives everything that comes until the other side closes. */
function all(address: string, bytes: string): Promise<string> {
  const { hostname, port } = new URL(address)
  return new Promise((resolve) => {
    let heard = ''
    const socket = connect(Number(port), hostname, () => socket.write(bytes))
    socket.setEncoding('latin1').on('data', (text) => {
      heard += text
    })
    socket.on('error', () => {})
    socket.on('close', () => resolve(heard))
  })
}

/** Whether an answer that says its length has come to its end. */
function isWhole(answer: string): boolean {
  const [head, bytes] = /^HTTP\/1\.1 \d{3} .*?\r\ncontent-length: (\d+)\r\n.*?\r\n\r\n/is.exec(answer) ?? []
  return head !== undefined && Buffer.byteLength(answer.slice(head.length)) >= Number(bytes)
}

function statusOf(answer: string): number {
  return Number(/^HTTP\/1\.1 (\d{3}) /.exec(answer)?.[1])
}

function errorOf(answer: string): { code: string; message: string } {
  return JSON.parse(answer.slice(answer.indexOf('\r\n\r\n') + 4)).error
}

const request = (line: string, headers: string[], body = '') =>
  `${line}\r\nHost: x\r\nConnection: close\r\n${headers.map((header) => `${header}\r\n`).join('')}\r\n${body}`

async function alive(world: World, address: string): Promise<void> {
  const bearer = `Authorization: Bearer ${world.credentials.token}`
  assert.equal(statusOf(await send(address, request('GET /v2/user HTTP/1.1', [bearer]))), 200)
}

const HANDSHAKE = Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xfc, 0x03, 0x03])

onBothEngines('bytes that are not HTTP are answered in JSON with 400 or 431, and the service lives', async (world) => {
  const address = await world.listen()
  const token = world.credentials.token
  const garbage: [string | Buffer, number, string][] = [
    ['\r\n\r\nnonsense\r\n\r\n', 400, 'bad_request'],
    // Of TLS, but no handshake.
    [Buffer.from([0x15, ...HANDSHAKE.subarray(1)]), 400, 'bad_request'],
    [Buffer.alloc(4096, 0xff), 400, 'bad_request'],
    ['PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400, 'bad_request'],
    ['BREW /v2/user HTTP/1.1\r\nHost: x\r\n\r\n', 400, 'bad_request'],
    ['GET /v2/user HTTP/1.1\r\nHost: x\r\nA b: c\r\n\r\n', 400, 'bad_request'],
    [
      'POST /v10/projects HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      400,
      'bad_request',
    ],
    [
      'POST /v10/projects HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello',
      400,
      'bad_request',
    ],
    ['POST /v10/projects HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n', 400, 'bad_request'],
    [
      `POST /v10/projects HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n`,
      400,
      'bad_request',
    ],
    [request('GET /v2/user HTTP/1.1', [`X: ${'x'.repeat(20_000)}`]), 431, 'headers_too_large'],
    [request(`GET /v9/projects/${'x'.repeat(20_000)} HTTP/1.1`, []), 431, 'headers_too_large'],
    [
      request(
        'GET /v2/user HTTP/1.1',
        Array.from({ length: 2500 }, (_, at) => `X-${at}: 1`),
      ),
      431,
      'headers_too_large',
    ],
  ]
  for (const [bytes, status, code] of garbage) {
    const answer = await send(address, bytes)
    const said = String(bytes).slice(0, 80)
    assert.equal(statusOf(answer), status, `${said} -> ${answer.slice(0, 200)}`)
    assert.equal(errorOf(answer).code, code, said)
  }
  await alive(world, address)
})

onBothEngines(
  'a handshake of TLS is 400 too, where a proxy is in front',
  async (world) => {
    const answer = await send(await world.listen(), HANDSHAKE)
    assert.equal(statusOf(answer), 400, answer)
  },
  { BERTH_PUBLIC_URL: 'https://berth.test' },
)

onBothEngines('what cannot be read behind a request is not taken for its answer', async (world) => {
  const address = await world.listen()
  const bearer = `Authorization: Bearer ${world.credentials.token}`
  const statuses = (heard: string) => [...heard.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => status)
  for (const [at, keeps] of ['', 'Connection: close\r\n'].entries()) {
    const body = JSON.stringify({ name: `web-${at}` })
    const create = `POST /v10/projects HTTP/1.1\r\nHost: x\r\n${keeps}${bearer}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
    const heard = await all(address, `${create}garbage\r\n\r\n`)
    assert.deepEqual(statuses(heard), keeps === '' ? ['200', '400'] : ['200'])
    assert.match(heard, /\r\nconnection: close\r\n/i)
  }
  const document = 'GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n'
  const heard = await all(address, `${document.repeat(2)}garbage\r\n\r\n`)
  const [, one, other] = heard.split('HTTP/1.1 200 OK')
  // Nothing stands within an answer.
  assert.equal(other!.indexOf('HTTP/1.1 400 '), one!.length)
  await alive(world, address)
})

onBothEngines('an unknown Expect header is ignored, and the answer is the usual one', async (world) => {
  const address = await world.listen()
  const answer = await send(address, request('GET /nowhere HTTP/1.1', ['Expect: 200-ok']))
  assert.equal(statusOf(answer), 404)
  assert.match(answer, /\r\nx-request-id: \S+\r\n/i)
  assert.equal(errorOf(answer).code, 'not_found')
})

onBothEngines('a request with two Authorization headers is 401, whichever of them is good', async (world) => {
  const address = await world.listen()
  const good = `Authorization: Bearer ${world.credentials.token}`
  for (const pair of [
    [good, 'Authorization: Bearer x'],
    ['authorization: Bearer x', good],
    [good, good],
  ]) {
    const answer = await send(address, request('GET /v2/user HTTP/1.1', pair))
    assert.deepEqual([statusOf(answer), errorOf(answer).code], [401, 'forbidden'], pair.join())
  }
  await alive(world, address)
})

onBothEngines(
  'a chunked body over the limit is cut off with 413, requests without a token and odd targets get their answers',
  async (world) => {
    const address = await world.listen()
    const bearer = `Authorization: Bearer ${world.credentials.token}`
    const chunk = `10000\r\n${'x'.repeat(65_536)}\r\n`
    const chunked = request('POST /v10/projects HTTP/1.1', [
      bearer,
      'Content-Type: application/json',
      'Transfer-Encoding: chunked',
    ])
    assert.equal(statusOf(await send(address, `${chunked}${chunk.repeat(17)}0\r\n\r\n`)), 413)
    const huge = request(
      'POST /v10/projects HTTP/1.1',
      [bearer, 'Content-Type: application/json', 'Content-Length: 10737418240'],
      '{',
    )
    assert.equal(statusOf(await send(address, huge)), 413)
    for (const target of [
      '/v2/user',
      'http://x/v2/user',
      'http://x/user',
      'https://other.example:99/v13/user?teamId=',
      'https://other.example:99/v13/user?teamId=team_unknown',
    ]) {
      const answer = await send(address, request(`GET ${target} HTTP/1.1`, [bearer]))
      assert.equal(statusOf(answer), target.endsWith('team_unknown') ? 403 : 200, target)
    }
    for (const target of ['*', '*/v2/user', 'http:///v2/user', 'http://x', 'x:/v2/user', 'v2/user']) {
      const answer = await send(address, request(`GET ${target} HTTP/1.1`, [bearer]))
      assert.equal(statusOf(answer), 400, `${target}: ${answer.slice(0, 100)}`)
    }
    for (const target of ['*', 'http://x/operator', 'x:y', '//v2/user', '/v2/user#', '/\xff']) {
      const answer = await send(address, Buffer.from(request(`OPTIONS ${target} HTTP/1.1`, [bearer]), 'latin1'))
      assert.ok(statusOf(answer) >= 400 && statusOf(answer) < 500, `${target}: ${answer.slice(0, 100)}`)
    }
    await alive(world, address)
  },
)

onBothEngines('clients that hang up at any time leave nothing behind and disturb no other', async (world) => {
  const address = await world.listen()
  const { hostname, port } = new URL(address)
  const bearer = `Authorization: Bearer ${world.credentials.token}`
  const whole = request(
    'POST /v10/projects HTTP/1.1',
    [bearer, 'Content-Type: application/json', 'Content-Length: 14'],
    '{"name":"web"}',
  )
  await Promise.all(
    Array.from(
      { length: whole.length },
      (_, cut) =>
        new Promise<void>((resolve) => {
          const socket = connect(Number(port), hostname, () =>
            socket.write(whole.slice(0, cut), () => socket.destroy()),
          )
          socket.on('error', () => {})
          socket.on('close', () => resolve())
        }),
    ),
  )
  await alive(world, address)
  assert.deepEqual((await world.call('GET', '/v9/projects')).body.projects, [])
})
