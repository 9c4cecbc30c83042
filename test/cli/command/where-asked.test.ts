/** Commands reach the service of their machine without its public address, and no other gets their token. docs/operations.md: Service address of commands. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { globSync, readFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { pipeline, Readable } from 'node:stream'
import { type TestContext, test } from 'node:test'
import { berth } from '../../support/clients/command.ts'
import { newHome, startService } from '../../support/process.ts'
import { root } from '../../support/root.ts'

/** No server responds there, as at an address behind a NAT from within. */
const UNREACHED = 'http://127.0.0.1:1'
const TOKEN = 'operator-token-of-this-test'

async function serve(
  t: TestContext,
  listener: RequestListener,
): Promise<{ port: string; origin: string; tokens: string[] }> {
  const tokens: string[] = []
  const server = createServer((request, answer) => {
    if (request.headers.authorization) tokens.push(request.headers.authorization)
    listener(request, answer)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { port: String(port), origin: `http://127.0.0.1:${port}`, tokens }
}

/** What a service says of itself, and an empty list for everything else. */
const serviceOf =
  (issuer: () => unknown): RequestListener =>
  ({ url = '' }, answer) => {
    answer.writeHead(200, { 'content-type': 'application/json' })
    answer.end(
      JSON.stringify(
        url.startsWith('/.well-known/') ? { issuer: issuer() } : { users: [], pagination: { next: null } },
      ),
    )
  }

test('a service whose public address its machine cannot reach is asked at HOST and PORT, by every kind of command', {
  timeout: 300_000,
}, async (t) => {
  const home = await newHome(t, 'sqlite')
  const running = await startService(t, home, { BERTH_PUBLIC_URL: UNREACHED })
  const env = { ...home.env, BERTH_PUBLIC_URL: UNREACHED, PORT: new URL(running.address).port }
  for (const words of [['welcome'], ['user', 'list'], ['report'], ['export', join(home.folder, 'out')]]) {
    const { code, out, err } = await berth(words, env)
    assert.equal(code, 0, `${words.join(' ')}: ${out}${err}`)
    // Users open the public address.
    if (words[0] === 'welcome') assert.ok(out.startsWith(`${UNREACHED}/`), out)
  }
  const away = await berth(['user', 'list'], { ...env, PORT: '1', BERTH_PUBLIC_URL: 'http://127.0.0.1:2' })
  assert.match(away.err, /no service responds at http:\/\/127\.0\.0\.1:2; start it/)
})

function* withoutEnd() {
  for (;;) yield ' '.repeat(65_536)
}

test('a server at HOST and PORT that is not the service of BERTH_PUBLIC_URL gets no token', async (t) => {
  const there = await serve(
    t,
    serviceOf(() => there.origin),
  )
  const env = { BERTH_PUBLIC_URL: there.origin, BERTH_OPERATOR_TOKEN: TOKEN }
  const others: Record<string, RequestListener> = {
    'another Berth': serviceOf(() => 'https://another.example.com'),
    'a page for everything': (_, answer) => answer.end('<html>'),
    'an issuer that is not a string': serviceOf(() => ({ origin: there.origin })),
    'nothing there': (_, answer) => answer.writeHead(404).end(),
    'a way on': (_, answer) =>
      answer.writeHead(302, { location: `${there.origin}/.well-known/oauth-authorization-server` }).end(),
    'text without end': (_, answer) => pipeline(Readable.from(withoutEnd()), answer, () => {}),
  }
  for (const [at, [what, listener]] of Object.entries(others).entries()) {
    const here = await serve(t, listener)
    const { code, err } = await berth(['user', 'list'], { ...env, PORT: here.port })
    assert.deepEqual([code, err], [0, ''], what)
    assert.deepEqual([here.tokens, there.tokens.length], [[], at + 1], what)
  }
})

test('one place says where commands ask', () => {
  const files = globSync('src/cli/**/*.ts', { cwd: root })
  const own = files.filter((file) => /publicUrl \?\? listenOrigin/.test(readFileSync(join(root, file), 'utf8')))
  // The link of `berth welcome` is for a browser.
  assert.deepEqual(own, ['src/cli/command/welcome.ts'])
})
