/** A SvelteKit app from source: pages, data, form actions, endpoints, streams, prerendered and renewed pages. docs/frameworks.md. */
import { json } from '../source-builds.ts'
import type { App } from './visits.ts'

export const SVELTE: App = {
  name: 'svelte',
  files: {
    'package.json': json({
      ...{ private: true, type: 'module', scripts: { build: 'vite build' } },
      devDependencies: {
        ...{ '@sveltejs/kit': '2.70.4', '@sveltejs/adapter-auto': '7.0.1', '@sveltejs/adapter-vercel': '6.3.4' },
        ...{ '@sveltejs/vite-plugin-svelte': '6.2.3', svelte: '5.57.3', vite: '7.3.8' },
      },
    }),
    'vite.config.js': 'import { sveltekit } from "@sveltejs/kit/vite"\nexport default { plugins: [sveltekit()] }\n',
    'svelte.config.js':
      'import adapter from "@sveltejs/adapter-auto"\nexport default { kit: { adapter: adapter() } }\n',
    'static/robots.txt': 'User-agent: *\n',
    'src/app.html':
      '<!doctype html><html><head><link rel="icon" href="data:,">%sveltekit.head%</head><body>%sveltekit.body%</body></html>\n',
    'src/hooks.server.js': `export async function handle({ event, resolve }) {
  event.locals.said = event.cookies.get('said') ?? 'nothing'
  const response = await resolve(event)
  response.headers.set('x-hook', 'seen')
  return response
}
`,
    'src/routes/+layout.svelte': `<script>let { children } = $props()</script>
<nav><a href="/">home</a> <a href="/live">live</a> <a href="/form">form</a></nav>{@render children()}\n`,
    'src/routes/+error.svelte': `<script>import { page } from '$app/state'</script><h1>{page.status} {page.error.message}</h1>\n`,
    'src/routes/+page.js': 'export const prerender = true\n',
    'src/routes/+page.svelte': '<h1>home</h1>\n',
    'src/routes/live/+page.server.js': `import { env } from '$env/dynamic/private'
export const load = ({ url, request, getClientAddress, setHeaders }) => {
  setHeaders({ 'x-page': 'live' })
  return { at: Date.now(), url: url.href, agent: request.headers.get('user-agent'), address: getClientAddress(), greeting: env.GREETING }
}
`,
    'src/routes/live/+page.svelte':
      '<script>let { data } = $props()</script><h1>live</h1><p>at {data.at}</p><p>{data.url} {data.address} {data.greeting}</p>\n',
    'src/routes/form/+page.server.js': `import { fail, redirect } from '@sveltejs/kit'
export const load = ({ locals }) => ({ said: locals.said })
export const actions = {
  say: async ({ request, cookies }) => {
    const word = String((await request.formData()).get('word') ?? '')
    if (word === '') return fail(400, { missing: true })
    cookies.set('said', word, { path: '/' })
    redirect(303, '/form')
  },
}
`,
    'src/routes/form/+page.svelte': `<script>import { enhance } from '$app/forms'
let { data, form } = $props()</script>
<h1>said {data.said}</h1>{#if form?.missing}<p>a word is missing</p>{/if}
<form method="POST" action="?/say" use:enhance><input name="word"><button>say</button></form>\n`,
    'src/routes/old/+page.server.js':
      "import { redirect } from '@sveltejs/kit'\nexport const load = () => redirect(308, '/live')\n",
    'src/routes/post/[slug]/+page.js':
      "import { error } from '@sveltejs/kit'\nexport const load = ({ params }) => params.slug === 'none' ? error(404, 'no such post') : { slug: params.slug }\n",
    'src/routes/post/[slug]/+page.svelte': '<script>let { data } = $props()</script><h1>post {data.slug}</h1>\n',
    'src/routes/broken/+page.server.js': "export const load = () => { throw new Error('secret reason') }\n",
    'src/routes/broken/+page.svelte': '<h1>never</h1>\n',
    'src/routes/api/+server.js': `import { json, text } from '@sveltejs/kit'
export const GET = ({ url, cookies }) => json({ q: url.searchParams.getAll('q'), said: cookies.get('said') })
export const POST = async ({ request }) => json(await request.json(), { status: 201 })
export const PUT = async ({ request }) => text(String((await request.arrayBuffer()).byteLength))
`,
    'src/routes/stream/+page.server.js': `export const load = () => ({
  first: 'first part',
  later: new Promise((resolve) => { globalThis.release = () => resolve('last part') }),
})
`,
    'src/routes/stream/+page.svelte':
      '<script>let { data } = $props()</script><h1>{data.first}</h1>{#await data.later then text}<p>{text}</p>{/await}\n',
    'src/routes/release/+server.js':
      "export const GET = () => { globalThis.release(); return new Response('released') }\n",
    'src/routes/isr/+page.server.js':
      'export const config = { isr: { expiration: 1 } }\nexport const load = () => ({ at: Date.now() })\n',
    'src/routes/isr/+page.svelte': '<script>let { data } = $props()</script><h1>isr at {data.at}</h1>\n',
  },
  probes: [
    { ask: 'GET /', status: 200, text: /<h1>home<\/h1>/ },
    { ask: 'HEAD /', status: 200 },
    { ask: 'GET /live', status: 200, text: /from the environment/, has: { 'x-page': /^live$/, 'x-hook': /^seen$/ } },
    {
      ask: 'GET /live?a=%C3%BC',
      status: 200,
      text: /:\/\/svelte-[\w-]+\.berth\.localhost:\d+\/live\?a=%C3%BC 127\.0\.0\.1 /,
    },
    { ask: 'GET /live/__data.json', status: 200, text: /"type":"data".*"at"/, has: { 'content-type': /json/ } },
    { ask: 'GET /live/', status: 308, has: { location: /^\/live$/ } },
    { ask: 'GET /form', status: 200, text: /said nothing/ },
    { ask: 'GET /form', headers: { cookie: 'said=hello' }, status: 200, text: /said hello/ },
    ...(['own', 'other'] as const).map((from) => ({
      ...{ ask: 'POST /form?/say', form: { word: 'hello' }, from },
      ...(from === 'own'
        ? { status: 303, has: { location: /^\/form$/, 'set-cookie': /^said=hello;/ } }
        : { status: 403 }),
    })),
    { ask: 'POST //elsewhere.example/form?/say', form: { word: 'hello' }, from: 'other', status: 403 },
    { ask: 'POST /form?/say', form: { word: '' }, from: 'own', status: 400, text: /a word is missing/ },
    { ask: 'GET /old', status: 308, has: { location: /^\/live$/ } },
    { ask: 'GET /post/a%20b', status: 200, text: /post a b/ },
    { ask: 'GET /post/none', status: 404, text: /404 no such post/ },
    { ask: 'GET /nowhere', status: 404, text: /404 Not found/i },
    { ask: 'GET /broken', status: 500, text: /500 Internal Error/ },
    { ask: 'GET /api?q=1&q=2', headers: { cookie: 'said=a' }, status: 200, text: /^{"q":\["1","2"\],"said":"a"}$/ },
    {
      ...{ ask: 'POST /api', headers: { 'content-type': 'application/json' }, body: '{"a":[1]}' },
      ...{ status: 201, text: /^{"a":\[1\]}$/ },
    },
    { ask: 'PUT /api', body: 'x'.repeat(100_000), status: 200, text: /^100000$/ },
    { ask: 'DELETE /api', status: 405, has: { allow: /GET/ } },
    { ask: 'GET /robots.txt', status: 200, text: /User-agent/ },
    { ask: 'GET /_app/version.json', status: 200, text: /version/ },
    { ask: 'GET /_app/immutable/none.js', status: 404 },
    { ask: 'GET /isr', status: 200, text: /isr at \d+/ },
    { ask: 'GET /isr/__data.json', status: 200, text: /"type":"data"/ },
  ],
  changing: [{ path: '/live', value: /at (\d+)/ }],
  renewed: [{ path: '/isr', value: /at (\d+)/ }],
  asset: { page: '/', link: /href="([^"]+_app\/immutable\/[^"]+\.js)"/, caching: /immutable/ },
  streamed: { path: '/stream', first: /first part/, release: 'GET /release', last: /last part/ },
}
