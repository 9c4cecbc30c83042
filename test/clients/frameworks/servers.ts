/** Servers without configuration: Hono, Express and Fastify. docs/frameworks.md. */
import { type Files, json } from '../source-builds.ts'
import type { App, Probe } from './visits.ts'

/** TABLE what each server answers, in its own words. */
export const SERVER_PROBES: readonly Probe[] = [
  { ask: 'GET /', status: 200, text: /home/ },
  { ask: 'HEAD /', status: 200 },
  {
    ask: 'GET /live/a%20b?q=1&q=2',
    status: 200,
    text: /^{"id":"a b","q":\["1","2"\],"at":\d+,"greeting":"from the environment"}$/,
  },
  { ask: 'GET /who', status: 200, text: /^(?:https?:\/\/)[\w-]+\.berth\.localhost:\d+ 127\.0\.0\.1$/ },
  {
    ...{ ask: 'POST /echo', headers: { 'content-type': 'application/json' }, body: '{"a":[1]}' },
    ...{ status: 201, text: /^{"a":\[1\]}$/ },
  },
  {
    ask: 'POST /form',
    form: { word: 'hello' },
    from: 'own',
    status: 303,
    has: { location: /^\/$/, 'set-cookie': /^said=hello/ },
  },
  { ask: 'GET /said', headers: { cookie: 'other=1; said=hello' }, status: 200, text: /^said hello$/ },
  { ask: 'GET /old', status: 301, has: { location: /^\/live\/1$/ } },
  { ask: 'GET /broken', status: 500 },
  { ask: 'GET /nowhere', status: 404 },
]
/** The builders of Hono and Express take files of `public/`, those of Fastify and NestJS do not. */
export const PUBLIC_FILE: Probe = { ask: 'GET /robots.txt', status: 200, text: /User-agent/ }
export const CHANGING = [{ path: '/live/1', value: /"at":(\d+)/ }]
const STREAMED = { path: '/stream', first: /first part/, release: 'GET /release', last: /last part/ }

export function serverApp(
  name: string,
  dependencies: Record<string, string>,
  files: Files,
  more: readonly Probe[] = [],
): App {
  const shared = {
    'package.json': json({
      private: true,
      type: 'module',
      dependencies,
      devDependencies: { '@types/node': '24.10.1' },
    }),
    'public/robots.txt': 'User-agent: *\n',
  }
  return {
    name,
    files: { ...shared, ...files },
    probes: [...SERVER_PROBES, ...more],
    changing: CHANGING,
    streamed: STREAMED,
  }
}

export const HONO = serverApp(
  'hono',
  { hono: '4.13.19' },
  {
    'src/index.ts': `import { Hono } from 'hono'
import { getCookie, setCookie } from 'hono/cookie'
import { csrf } from 'hono/csrf'
import { streamText } from 'hono/streaming'
const app = new Hono()
let release = () => {}
app.use(csrf())
app.get('/', (c) => c.html('<h1>home</h1>'))
app.get('/live/:id', (c) => c.json({ id: c.req.param('id'), q: c.req.queries('q') ?? [], at: Date.now(), greeting: process.env.GREETING }))
app.get('/who', (c) => c.text(new URL(c.req.url).origin + ' ' + c.req.header('x-forwarded-for')))
app.post('/echo', async (c) => c.json(await c.req.json(), 201))
app.post('/form', async (c) => { setCookie(c, 'said', String((await c.req.parseBody()).word)); return c.redirect('/', 303) })
app.get('/said', (c) => c.text('said ' + getCookie(c, 'said')))
app.get('/old', (c) => c.redirect('/live/1', 301))
app.get('/broken', () => { throw new Error('secret reason') })
app.get('/stream', (c) => streamText(c, async (to) => {
  await to.write('first part')
  await new Promise<void>((resolve) => { release = resolve })
  await to.write('last part')
}))
app.get('/release', (c) => { release(); return c.text('released') })
export default app
`,
  },
  [PUBLIC_FILE, { ask: 'POST /form', form: { word: 'hello' }, from: 'other', status: 403 }],
)

export const EXPRESS = serverApp(
  'express',
  { express: '5.3.0', '@types/express': '5.0.6' },
  {
    'src/index.ts': `import express from 'express'
const app = express()
let release = () => {}
app.set('trust proxy', 'loopback')
app.use(express.json(), express.urlencoded())
app.get('/', (req, res) => { res.send('<h1>home</h1>') })
app.get('/live/:id', (req, res) => { res.json({ id: req.params.id, q: req.query.q ?? [], at: Date.now(), greeting: process.env.GREETING }) })
app.get('/who', (req, res) => { res.send(req.protocol + '://' + req.host + ' ' + req.ip) })
app.post('/echo', (req, res) => { res.status(201).json(req.body) })
app.post('/form', (req, res) => { res.cookie('said', req.body.word).redirect(303, '/') })
app.get('/said', (req, res) => { res.send('said ' + /said=(\\w+)/.exec(req.headers.cookie ?? '')?.[1]) })
app.get('/old', (req, res) => { res.redirect(301, '/live/1') })
app.get('/broken', () => { throw new Error('secret reason') })
app.get('/stream', (req, res) => {
  res.write('first part')
  release = () => { res.end('last part') }
})
app.get('/release', (req, res) => { release(); res.send('released') })
export default app
`,
  },
  [PUBLIC_FILE],
)

export const FASTIFY = serverApp(
  'fastify',
  { fastify: '5.12.8', '@fastify/formbody': '9.0.1', '@fastify/cookie': '11.1.5' },
  {
    'src/index.ts': `import { PassThrough } from 'node:stream'
import cookie from '@fastify/cookie'
import form from '@fastify/formbody'
import fastify from 'fastify'
const app = fastify({ trustProxy: 'loopback' })
let release = () => {}
app.register(form)
app.register(cookie)
app.get('/', (request, reply) => { reply.type('text/html'); return '<h1>home</h1>' })
app.get('/live/:id', (request: any) => ({ id: request.params.id, q: request.query.q ?? [], at: Date.now(), greeting: process.env.GREETING }))
app.get('/who', (request) => request.protocol + '://' + request.host + ' ' + request.ip)
app.post('/echo', (request, reply) => { reply.status(201); return request.body })
app.post('/form', (request: any, reply) => reply.setCookie('said', request.body.word).redirect('/', 303))
app.get('/said', (request) => 'said ' + request.cookies.said)
app.get('/old', (request, reply) => reply.redirect('/live/1', 301))
app.get('/broken', () => { throw new Error('secret reason') })
app.get('/stream', (request, reply) => {
  const body = new PassThrough()
  body.write('first part')
  release = () => { body.end('last part') }
  return reply.send(body)
})
app.get('/release', () => { release(); return 'released' })
app.listen({ port: 3000 })
`,
  },
)
