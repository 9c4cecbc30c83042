/** A React Router app (framework mode) from source: pages, loaders, actions, resources, streams and prerendered pages. docs/frameworks.md. */
import { type Files, json } from '../source-builds.ts'
import type { App } from './visits.ts'

const ROUTER = '7.18.4'

const FILES: Files = {
  'package.json': json({
    ...{ private: true, type: 'module', scripts: { build: 'react-router build' } },
    dependencies: {
      ...{ react: '19.2.0', 'react-dom': '19.2.0', isbot: '5.2.3' },
      ...{ 'react-router': ROUTER, '@react-router/node': ROUTER, '@vercel/react-router': '1.3.6' },
    },
    devDependencies: { '@react-router/dev': ROUTER, vite: '7.3.8' },
  }),
  'vite.config.js':
    'import { reactRouter } from "@react-router/dev/vite"\nexport default { plugins: [reactRouter()] }\n',
  'react-router.config.js': `import { vercelPreset } from '@vercel/react-router/vite'
export default { ssr: true, prerender: ['/about'], presets: [vercelPreset()] }
`,
  'public/robots.txt': 'User-agent: *\n',
  'app/root.jsx': `import { isRouteErrorResponse, Link, Links, Meta, Outlet, Scripts } from 'react-router'
export const Layout = ({ children }) => (
  <html lang="en"><head><link rel="icon" href="data:," /><Meta /><Links /></head><body>
    <nav><Link to="/">home</Link> <Link to="/live/7">live</Link> <Link to="/form">form</Link></nav>
    {children}<Scripts />
  </body></html>
)
export default () => <Outlet />
export const ErrorBoundary = ({ error }) =>
  <h1>{isRouteErrorResponse(error) ? 'error ' + error.status + ' ' + error.data : 'broken'}</h1>
`,
  'app/routes.js': `import { index, route } from '@react-router/dev/routes'
const NAMES = ['about', 'form', 'old', 'broken', 'stream', 'release', 'api']
export default [
  index('routes/home.jsx'),
  route('live/:id', 'routes/live.jsx'),
  ...NAMES.map((name) => route(name, 'routes/' + name + '.jsx')),
]
`,
  'app/routes/home.jsx': 'export default () => <h1>home</h1>\n',
  'app/routes/about.jsx':
    'export const loader = () => ({ made: "at the build" })\nexport default ({ loaderData }) => <h1>{"made " + loaderData.made}</h1>\n',
  'app/routes/live.jsx': `import { data } from 'react-router'
export const headers = ({ loaderHeaders }) => loaderHeaders
export const loader = ({ params, request }) => {
  if (params.id === 'none') throw data('no such page', { status: 404 })
  const agent = request.headers.get('user-agent')
  return data({ id: params.id, at: Date.now(), url: request.url, agent, greeting: process.env.GREETING }, { headers: { 'x-page': 'live' } })
}
export default ({ loaderData: { id, at, url, greeting } }) =>
  <><h1>{'live ' + id}</h1><p>{'at ' + at}</p><p>{url + ' ' + greeting}</p></>
`,
  'app/routes/form.jsx': `import { createCookie, data, Form, redirect } from 'react-router'
const said = createCookie('said', { path: '/' })
export const loader = async ({ request }) => ({ said: (await said.parse(request.headers.get('cookie'))) ?? 'nothing' })
export const action = async ({ request }) => {
  const word = (await request.formData()).get('word')
  if (!word) return data({ missing: true }, { status: 400 })
  return redirect('/form', { headers: { 'set-cookie': await said.serialize(word) } })
}
export default ({ loaderData, actionData }) => <>
  <h1>{'said ' + loaderData.said}</h1>{actionData?.missing && <p>a word is missing</p>}
  <Form method="post"><input name="word" /><button>say</button></Form>
</>
`,
  'app/routes/old.jsx':
    "import { redirect } from 'react-router'\nexport const loader = () => redirect('/live/1', 301)\n",
  'app/routes/broken.jsx':
    "export const loader = () => { throw new Error('secret reason') }\nexport default () => null\n",
  'app/routes/stream.jsx': `import { Suspense } from 'react'
import { Await } from 'react-router'
export const loader = () => ({
  first: 'first part',
  later: new Promise((resolve) => { globalThis.release = () => resolve('last part') }),
})
export default ({ loaderData }) => <>
  <h1>{loaderData.first}</h1>
  <Suspense fallback="waits"><Await resolve={loaderData.later}>{(text) => <p>{text}</p>}</Await></Suspense>
</>
`,
  'app/routes/release.jsx': "export const loader = () => { globalThis.release(); return new Response('released') }\n",
  'app/routes/api.jsx': `export const loader = ({ request }) => Response.json({ q: new URL(request.url).searchParams.getAll('q') })
export const action = async ({ request }) => Response.json({ method: request.method, body: await request.json() }, { status: 201 })
`,
}

export const REACT_ROUTER: App = {
  name: 'router',
  files: FILES,
  probes: [
    { ask: 'GET /', status: 200, text: /<h1>home<\/h1>/ },
    { ask: 'HEAD /', status: 200 },
    { ask: 'GET /about', status: 200, text: /made at the build/ },
    { ask: 'GET /about.data', status: 200, text: /at the build/ },
    { ask: 'GET /live/7', status: 200, text: /live 7.*from the environment/s, has: { 'x-page': /^live$/ } },
    { ask: 'GET /live/7?a=%C3%BC', status: 200, text: /:\/\/router-[\w-]+\.berth\.localhost:\d+\/live\/7\?a=%C3%BC/ },
    { ask: 'GET /live/a%20b', status: 200, text: /live a b/ },
    { ask: 'GET /live/7.data', status: 200, text: /from the environment/, has: { 'content-type': /text\/x-script/ } },
    { ask: 'GET /live/none', status: 404, text: /error 404 no such page/ },
    { ask: 'GET /nowhere', status: 404, text: /error 404/ },
    { ask: 'GET /broken', status: 500, text: /broken|error 500/ },
    { ask: 'GET /form', status: 200, text: /said nothing/ },
    {
      ...{ ask: 'POST /form', form: { word: 'hello' }, from: 'own' },
      ...{ status: 302, has: { location: /^\/form$/, 'set-cookie': /^said=/ } },
    },
    { ask: 'GET /form', headers: { cookie: 'said=ImhlbGxvIg%3D%3D' }, status: 200, text: /said hello/ },
    { ask: 'POST /form', form: { word: 'hello' }, from: 'other', status: 400 },
    { ask: 'POST /form', form: { word: '' }, from: 'own', status: 400, text: /a word is missing/ },
    { ask: 'POST /form.data', form: { word: 'hello' }, from: 'own', status: 202, text: /redirect/i },
    { ask: 'GET /old', status: 301, has: { location: /^\/live\/1$/ } },
    { ask: 'GET /api?q=1&q=2', status: 200, text: /^{"q":\["1","2"\]}$/ },
    {
      ...{ ask: 'PUT /api', headers: { 'content-type': 'application/json' }, body: '{"a":1}', from: 'own' },
      ...{ status: 201, text: /^{"method":"PUT","body":{"a":1}}$/ },
    },
    { ask: 'GET /robots.txt', status: 200, text: /User-agent/ },
  ],
  changing: [{ path: '/live/7', value: /at (\d+)/ }],
  asset: { page: '/', link: /href="(\/assets\/[^"]+\.js)"/, caching: /immutable/ },
  streamed: { path: '/stream', first: /first part/, release: 'GET /release', last: /last part/ },
}
