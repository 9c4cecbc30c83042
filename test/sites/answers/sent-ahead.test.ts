/** What visitors send ahead of what rules set, and headers that only the sites server adds. docs/prerendering.md: Answers of functions. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { functionOf, showFunctions } from '../functions/function-site.ts'

/** `vary`: as the query says. */
const FUNCTION = `let count = 0
export function GET(request) {
  const vary = new URL(request.url).searchParams.get('vary')
  const headers = { 'cache-control': 's-maxage=600', ...(vary && { vary }) }
  return new Response(++count + ' for ' + (request.headers.get('x-user') ?? 'all'), { headers })
}`

/** Nothing that a visitor sends as x-user reaches the function, and that of the session does. */
const ROUTES = [
  {
    ...{ src: '/api/it', continue: true },
    transforms: [{ type: 'request.headers', op: 'delete', target: { key: 'x-user' } }],
  },
  {
    ...{ src: '/api/it', continue: true, has: [{ type: 'cookie', key: 'user', value: '(?<user>.*)' }] },
    transforms: [{ type: 'request.headers', op: 'set', target: { key: 'x-user' }, args: '$user' }],
  },
]

test('a visitor who sends a header with the value that rules set for them leaves no answer for others', async (t) => {
  const { visit } = await showFunctions(t, functionOf('api/it', FUNCTION), { config: { routes: ROUTES } })
  const see = async (headers: Record<string, string> = {}) => (await visit('/api/it', headers)).text
  assert.equal(await see({ cookie: 'user=eve', 'x-user': 'eve' }), '1 for eve')
  assert.equal(await see(), '2 for all')
  assert.equal(await see({ cookie: 'user=eve' }), '1 for eve', 'the function gets the same')
  assert.equal(await see({ cookie: 'user=ann', 'x-user': 'ann' }), '3 for ann')
  assert.equal(await see({ 'user-agent': 'other', 'accept-language': 'de', 'sec-fetch-mode': 'cors' }), '2 for all')
})

test('an answer that varies by a header of the sites server is of one request', async (t) => {
  const { visit } = await showFunctions(t, functionOf('api/it', FUNCTION))
  for (const name of ['x-vercel-forwarded-for', 'Forwarded', 'x-vercel-id', 'x-invocation-id']) {
    const path = `/api/it?${new URLSearchParams({ vary: `accept, ${name}` })}`
    assert.notEqual((await visit(path)).text, (await visit(path)).text, name)
  }
})
