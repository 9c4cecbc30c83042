/** An Astro app on its server output from source: pages, forms, actions, endpoints, server islands, middleware, prerendered and renewed pages. docs/frameworks.md. */
import { json } from '../source-builds.ts'
import type { App } from './visits.ts'

export const ASTRO: App = {
  name: 'astro',
  files: {
    'package.json': json({
      ...{ private: true, type: 'module', scripts: { build: 'astro build' } },
      dependencies: { astro: '7.3.5', '@astrojs/vercel': '11.0.11' },
    }),
    'astro.config.mjs': `import vercel from '@astrojs/vercel'
import { defineConfig } from 'astro/config'
const exclude = ['/', '/live', '/form', '/old', '/broken', '/stream', '/release', '/island', '/act', /^\\/api/, /^\\/post/, /^\\/_/]
export default defineConfig({ output: 'server', build: { inlineStylesheets: 'never' }, adapter: vercel({ isr: { expiration: 1, exclude } }) })
`,
    'public/robots.txt': 'User-agent: *\n',
    'src/middleware.ts': `import { defineMiddleware } from 'astro:middleware'
export const onRequest = defineMiddleware(async (context, next) => {
  context.locals.said = context.cookies.get('said')?.value ?? 'nothing'
  const response = await next()
  if (!context.isPrerendered) response.headers.set('x-middleware', 'seen')
  return response
})
`,
    'src/pages/index.astro': '---\nimport "../style.css"\n---\n<html><body><h1>home</h1></body></html>\n',
    'src/style.css': 'h1 { color: teal }\n',
    'src/pages/404.astro': '<h1>nothing here</h1>\n',
    'src/pages/500.astro': '<h1>broken page</h1>\n',
    'src/pages/pre.astro': '---\nexport const prerender = true\n---\n<h1>prerendered</h1>\n',
    'src/pages/isr.astro': '<h1>isr at {Date.now()}</h1>\n',
    'src/pages/live.astro': `---
Astro.response.headers.set('x-page', 'live')
const { url, clientAddress } = Astro
---
<h1>live at {Date.now()}</h1><p>{url.href} {clientAddress} {process.env.GREETING}</p>
`,
    'src/pages/post/[slug].astro': '<h1>post {Astro.params.slug}</h1>\n',
    'src/pages/old.astro': "---\nreturn Astro.redirect('/live', 301)\n---\n",
    'src/pages/broken.astro': "---\nthrow new Error('secret reason')\n---\n",
    'src/pages/form.astro': `---
if (Astro.request.method === 'POST') {
  const word = String((await Astro.request.formData()).get('word') ?? '')
  if (word !== '') {
    Astro.cookies.set('said', word, { path: '/' })
    return Astro.redirect('/form', 303)
  }
  Astro.response.status = 400
}
---
<h1>said {Astro.locals.said}</h1>
`,
    'src/actions/index.ts': `import { defineAction } from 'astro:actions'
import { z } from 'astro/zod'
export const server = {
  double: defineAction({ input: z.object({ n: z.number() }), handler: async ({ n }) => ({ twice: 2 * n }) }),
}
`,
    'src/pages/act.astro': '<h1>act</h1>\n',
    'src/components/Island.astro': '---\nconst { who } = Astro.props\n---\n<p>island of {who}</p>\n',
    'src/pages/island.astro':
      '---\nimport Island from "../components/Island.astro"\n---\n<h1>sea</h1><Island server:defer who="me"><p slot="fallback">waits</p></Island>\n',
    'src/pages/api/[name].ts': `import type { APIRoute } from 'astro'
export const GET: APIRoute = ({ params, url }) => Response.json({ name: params.name, q: url.searchParams.getAll('q') })
export const POST: APIRoute = async ({ request }) => Response.json(await request.json(), { status: 201 })
`,
    'src/pages/stream.ts': `export const GET = () => {
  const body = new ReadableStream({
    async start(to) {
      const say = (text: string) => to.enqueue(new TextEncoder().encode(text))
      say('first part')
      await new Promise<void>((resolve) => Object.assign(globalThis, { release: resolve }))
      say('last part')
      to.close()
    },
  })
  return new Response(body, { headers: { 'content-type': 'text/plain' } })
}
`,
    'src/pages/release.ts':
      "export const GET = () => { (globalThis as any).release(); return new Response('released') }\n",
  },
  probes: [
    { ask: 'GET /', status: 200, text: /<h1[^>]*>home<\/h1>/, has: { 'x-middleware': /^seen$/ } },
    { ask: 'HEAD /', status: 200 },
    { ask: 'GET /live', status: 200, text: /from the environment/, has: { 'x-page': /^live$/ } },
    {
      ask: 'GET /live?a=%C3%BC',
      status: 200,
      text: /:\/\/astro-[\w-]+\.berth\.localhost:\d+\/live\?a=%C3%BC 127\.0\.0\.1 /,
    },
    { ask: 'GET /pre', status: 200, text: /prerendered/ },
    { ask: 'GET /isr', status: 200, text: /isr at \d+/ },
    { ask: 'GET /form', status: 200, text: /said nothing/ },
    { ask: 'GET /form', headers: { cookie: 'said=hello' }, status: 200, text: /said hello/ },
    {
      ...{ ask: 'POST /form', form: { word: 'hello' }, from: 'own' },
      ...{ status: 303, has: { location: /^\/form$/, 'set-cookie': /^said=hello;/ } },
    },
    { ask: 'POST /form', form: { word: 'hello' }, from: 'other', status: 403 },
    { ask: 'POST /form', form: { word: '' }, from: 'own', status: 400, text: /said nothing/ },
    {
      ...{
        ask: 'POST /_actions/double',
        headers: { 'content-type': 'application/json' },
        body: '{"n":21}',
        from: 'own',
      },
      ...{ status: 200, text: /42/ },
    },
    { ask: 'GET /old', status: 301, has: { location: /^\/live$/ } },
    { ask: 'GET /post/a%20b', status: 200, text: /post a b/ },
    { ask: 'GET /island', status: 200, text: /<h1[^>]*>sea<\/h1>.*_server-islands\/Island/s },
    { ask: 'GET /nowhere', status: 404, text: /nothing here/ },
    { ask: 'GET /broken', status: 500, text: /broken page/ },
    { ask: 'GET /api/one?q=1&q=2', status: 200, text: /^{"name":"one","q":\["1","2"\]}$/ },
    {
      ...{ ask: 'POST /api/one', headers: { 'content-type': 'application/json' }, body: '{"a":1}' },
      ...{ status: 201, text: /^{"a":1}$/ },
    },
    { ask: 'GET /robots.txt', status: 200, text: /User-agent/ },
  ],
  changing: [{ path: '/live', value: /at (\d+)/ }],
  renewed: [{ path: '/isr', value: /at (\d+)/ }],
  asset: { page: '/', link: /href="(\/_astro\/[^"]+\.css)"/, caching: /immutable/ },
  streamed: { path: '/stream', first: /first part/, release: 'GET /release', last: /last part/ },
}
