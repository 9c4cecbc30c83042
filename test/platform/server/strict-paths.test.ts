/** A path has one spelling, so a path that a proxy in front blocks stays blocked. src/platform/server/strict-paths.ts; docs/threats.md T58. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { Agent, type IncomingMessage, request } from 'node:http'
import { test } from 'node:test'
import { unversionedPath } from '../../../src/platform/http/route.ts'
import { ROUTES } from '../../../src/routes.ts'
import { SCREENS } from '../../../src/screens.ts'
import { MANY } from '../../support/iterations.ts'
import { onBothEngines, openWorld } from '../../support/world.ts'
import { openEdgeOf } from '../../support/worlds/edge-world.ts'

const PAGES = ['/metrics', '/healthz', '/readyz', '/openapi.json', '/docs', '/.well-known/oauth-authorization-server']
/** Answered in one spelling, without a slash at the end and without a host before it. */
const EXACT = ['/metrics', '/healthz', '/readyz', '/docs']

const escaped = (text: string) => `%${text.charCodeAt(0).toString(16).padStart(2, '0')}`

const ESCAPES = ['%23', '%3f', '%20', '%00', '%5c', '%252f']

/** Other spellings of a path; `words` says which of its segments are fixed, `only` the segment that is spelled otherwise, where not each is. */
function spellingsOf(path: string, words: boolean[], only?: number): string[] {
  const parts = path.split('/').slice(1)
  const all = parts.flatMap((part, at) => {
    if (only !== undefined && only % parts.length !== at) return []
    const one = (...said: string[]) => `/${parts.with(at, said.join('/')).join('/')}`
    const around = [one('', part), one('x', '..', part)]
    if (!words[at]) return around
    const [first, last] = [part[0]!, part.at(-1)!]
    return [
      ...around,
      one(escaped(first) + part.slice(1)),
      one(escaped(first).toUpperCase() + part.slice(1)),
      one(part.slice(0, -1) + escaped(last)),
      one(first.toUpperCase() + part.slice(1)),
      one(`${part};a=b`),
      one(`${part}%2f`),
    ]
  })
  const every = `/${parts.map((part, at) => (words[at] ? [...part].map(escaped).join('') : part)).join('/')}`
  const around = ['#', '#x', '//', '/.', '/x/..', '/%2e', ...(words.at(-1) ? ESCAPES : [])].map((end) => path + end)
  const before = ['/', '/.', '/x/..', '/%2e', '/%2E%2e', '\\', '/%2f'].map((start) => start + path)
  const further = [every, `${every}?a=b`, `http://x${every}`, `HTTPS://x/${path}`, path.replaceAll('/', '%2f')]
  return [...all, ...around, ...before, ...further].filter((spelling) => spelling !== path)
}

/** Pages whose address is in a letter. Without the link of the letter they answer 404, as an address that is not theirs does. */
const OF_LETTERS = SCREENS.flatMap(({ name, query }) =>
  'link' in ((query as { properties?: object })?.properties ?? {}) ? [name] : [],
)

/** Every path that is answered: how it is requested, and the name that it has in the log. */
function paths(): { method: string; pattern: string; operation: string; exact: boolean }[] {
  return [
    ...ROUTES.map(({ method, path, operationId, auth }) => ({
      method,
      pattern: path,
      operation: operationId,
      exact: auth === 'operator',
    })),
    ...SCREENS.map(({ method, path, name }) => ({ method, pattern: path, operation: name, exact: false })),
    ...PAGES.map((path) => ({
      method: 'GET',
      pattern: path,
      operation: path.slice(1),
      exact: EXACT.includes(path),
    })),
  ]
}

/** Sends a request without a token for a target as it is written, which a URL would normalize. */
function asker(address: string) {
  const { hostname, port } = new URL(address)
  const agent = new Agent({ keepAlive: true, maxSockets: 4 })
  const ask = async (method: string, path: string): Promise<IncomingMessage> => {
    const asked = request({ hostname, port, method, path, agent })
    asked.end()
    const [answer] = (await once(asked, 'response')) as [IncomingMessage]
    answer.resume()
    return answer
  }
  return { ask, end: () => agent.destroy() }
}

type Expected = { path: string; operation: string; answers: boolean }

// On one engine: routing reads no store.
test('every path answers as it is written and by no other spelling of its fixed words', async (t) => {
  const world = await openWorld('sqlite')
  t.after(() => world.close())
  const { ask, end } = asker(await world.listen())
  const asked = new Map<string, Expected>()
  const expect = async (method: string, expected: Expected) => {
    const answer = await ask(method, expected.path)
    asked.set(String(answer.headers['x-request-id']), expected)
  }
  // In `npm test` every second path is spelled otherwise, in one segment.
  for (const [at, { method, pattern, operation, exact }] of paths().entries()) {
    const fixed = pattern.split('/').map((word) => !word.startsWith(':'))
    const path = pattern.replaceAll(/:\w+/g, 'ab-1')
    const others = [
      ...(MANY || at % 2 === 0 ? spellingsOf(path, fixed.slice(1), MANY ? undefined : at) : []),
      ...(exact ? [`${path}/`, `${path}/?a=b`] : []),
    ]
    const bare = exact ? path : unversionedPath(path)
    for (const path of others) await expect(method, { path, operation, answers: false })
    for (const plain of [path, `${path}?a=%62`, bare, `${bare}?`])
      await expect(method, { path: plain, operation, answers: true })
    // A proxy that blocks a path may compare it with the whole target of the request.
    await expect(method, { path: `http://x${path}`, operation, answers: !exact })
    for (const nowhere of [`http://${path}`, `HTTPS://${path}`, `x:${path}`])
      await expect(method, { path: nowhere, operation, answers: false })
  }
  end()
  const lines = world
    .logged()
    .split('\n')
    .filter((line) => line.includes('"msg":"answered"'))
  const seen = new Set<string>()
  const named = new Set(paths().flatMap(({ pattern, operation }) => (pattern.includes(':') ? [operation] : [])))
  for (const line of lines) {
    const { requestId, operation, status } = JSON.parse(line)
    const expected = asked.get(requestId)
    if (expected === undefined) continue
    seen.add(requestId)
    if (OF_LETTERS.includes(expected.operation) && operation === expected.operation && status === 404) continue
    const answers = operation === expected.operation && status !== 404
    // Another one may, to which what is odd here is a name.
    const nothing = operation === 'unreached' || status === 404 || named.has(operation)
    const what = `${expected.operation} ${expected.path} -> ${operation} ${status}`
    assert.equal(answers, expected.answers, what)
    assert.ok(expected.answers || nothing, what)
  }
  assert.equal(seen.size, asked.size)
})

onBothEngines('the listener for proxies answers at its paths as they are written', async (world) => {
  const { origin } = await openEdgeOf(world)
  const { ask, end } = asker(origin)
  const nothing = ({ statusCode, headers }: IncomingMessage) =>
    (statusCode === 404 && String(headers['content-type']).startsWith('text/plain')) || statusCode === 400
  for (const path of ['/edge/v1/page', '/edge/v1/snapshot', '/edge/v1/ready']) {
    assert.ok(!nothing(await ask('GET', path)), path)
    for (const spelling of spellingsOf(path, [true, true, true]))
      assert.ok(nothing(await ask('GET', spelling)), spelling)
  }
  end()
})
