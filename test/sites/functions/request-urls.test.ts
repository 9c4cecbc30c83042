/** What a function learns of the address that a visitor asked. docs/functions.md: Requests. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sendRaw } from '../visitors/servers.ts'
import { functionOf, showFunctions } from './function-site.ts'

/** Frameworks compare the origin of a form with that of the request. */
test('no path gives a function another origin than that of its site', async (t) => {
  const { origin } = await showFunctions(
    t,
    functionOf('api/web', 'export const PUT = (request) => Response.json(request.url)'),
    { config: { routes: [{ src: '/.*', dest: '/api/web' }] } },
  )
  for (const path of ['//elsewhere.example/form', '/\\elsewhere.example/form', '///a', '/@elsewhere.example', '//']) {
    const reply = await sendRaw(t, origin, `PUT ${path} HTTP/1.1\r\nhost: site.example\r\nconnection: close\r\n\r\n`)
    assert.match(reply, /^HTTP\/1\.1 200 [\s\S]*"http:\/\/site\.example\/[^"]*"/, path)
  }
})

test('the query of a path that begins with two slashes is read', async (t) => {
  const { visit } = await showFunctions(
    t,
    functionOf('api/query', 'export default (req, res) => res.json(req.query)'),
    { config: { routes: [{ src: '/.*', dest: '/api/query' }] } },
  )
  for (const path of ['//?a=1', '//[?a=1']) assert.equal((await visit(path, {}, 'PUT')).text, '{"a":"1"}', path)
})

test('a server finds the port that it listens at, in each form', async (t) => {
  const listening = (words: string) => `import { createServer } from 'node:http'
const server = createServer((req, res) => res.end('at ' + server.address().port))
server.listen(${words})`
  const FORMS = { number: '4001', word: "'4002'", object: "{ port: 4003, host: '0.0.0.0' }", none: '' }
  const functions = Object.entries(FORMS).map(([name, words]) => functionOf(`api/${name}`, listening(words)))
  const { visit } = await showFunctions(t, Object.assign({}, ...functions))
  const seen = await Promise.all(Object.keys(FORMS).map(async (name) => (await visit(`/api/${name}`)).text))
  assert.deepEqual(seen, ['at 4001', 'at 4002', 'at 4003', 'at 3000'])
})

test('an application of Fastify as default export answers, whether it listens on its own or not', async (t) => {
  const application = (more: string) => `import fastify from ${JSON.stringify(import.meta.resolve('fastify'))}
const app = fastify()
app.get('/*', (request) => 'asked for ' + request.url)
${more}
export default app`
  const { visit } = await showFunctions(t, {
    ...functionOf('api/own', application('app.listen({ port: 4004 })')),
    ...functionOf('api/none', application('')),
  })
  for (const path of ['/api/own', '/api/none']) assert.equal((await visit(path)).text, `asked for ${path}`)
})

test('a request comes from a proxy on the same machine, whose headers frameworks trust', async (t) => {
  const module = `export default (req, res) => res.json([req.socket.remoteAddress, req.socket.remoteFamily])`
  const { visit } = await showFunctions(t, functionOf('api/peer', module))
  assert.equal((await visit('/api/peer')).text, '["127.0.0.1","IPv4"]')
})
