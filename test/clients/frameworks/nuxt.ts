/** Nuxt and Nitro apps from source: pages, payloads, endpoints, rules of routes, streams, prerendered and renewed pages. docs/frameworks.md. */
import { type Files, json } from '../source-builds.ts'
import type { App, Probe } from './visits.ts'

/** Of Nitro, in both apps. */
const SERVER: Files = {
  'api/hello.get.ts': `export default defineEventHandler((event) => {
  setResponseHeader(event, 'x-page', 'hello')
  const { q } = getQuery(event)
  return { q, said: getCookie(event, 'said'), url: getRequestURL(event).href, address: getRequestIP(event, { xForwardedFor: true }) }
})
`,
  'api/hello.post.ts': `export default defineEventHandler(async (event) => {
  const body = await readBody(event)
  setCookie(event, 'said', String(body.word))
  setResponseStatus(event, 201)
  return body
})
`,
  'api/post/[slug].ts':
    "export default defineEventHandler((event) => ({ slug: getRouterParam(event, 'slug', { decode: true }) }))\n",
  'api/broken.ts': "export default defineEventHandler(() => { throw new Error('secret reason') })\n",
  'api/teapot.ts':
    "export default defineEventHandler(() => { throw createError({ statusCode: 418, statusMessage: 'teapot' }) })\n",
  'routes/go.ts': "export default defineEventHandler((event) => sendRedirect(event, '/live', 302))\n",
  'routes/stream.ts': `export default defineEventHandler(() => new ReadableStream({
  async start(to) {
    const say = (text: string) => to.enqueue(new TextEncoder().encode(text))
    say('first part')
    await new Promise<void>((resolve) => Object.assign(globalThis, { release: resolve }))
    say('last part')
    to.close()
  },
}))
`,
  'routes/release.ts':
    "export default defineEventHandler(() => { (globalThis as any).release(); return 'released' })\n",
  'middleware/seen.ts':
    "export default defineEventHandler((event) => setResponseHeader(event, 'x-middleware', 'seen'))\n",
}

const SERVER_PROBES: readonly Probe[] = [
  {
    ...{ ask: 'GET /api/hello?q=1&q=2', headers: { cookie: 'said=a' }, status: 200 },
    ...{ text: /"q":\s*\["1",\s*"2"\],\s*"said":\s*"a"/, has: { 'x-page': /^hello$/, 'x-middleware': /^seen$/ } },
  },
  {
    ask: 'GET /api/hello',
    status: 200,
    text: /:\/\/(?:nuxt|nitro)-[\w-]+\.berth\.localhost:\d+\/api\/hello".*"127\.0\.0\.1"/s,
  },
  {
    ...{ ask: 'POST /api/hello', headers: { 'content-type': 'application/json' }, body: '{"word":"hello"}' },
    ...{ status: 201, text: /"word":\s*"hello"/, has: { 'set-cookie': /^said=hello/ } },
  },
  { ask: 'POST /api/hello', form: { word: 'hello' }, from: 'own', status: 201, has: { 'set-cookie': /^said=hello/ } },
  { ask: 'GET /api/post/a%20b', status: 200, text: /"slug":\s*"a b"/ },
  { ask: 'GET /api/broken', status: 500 },
  { ask: 'GET /api/teapot', status: 418, text: /teapot/ },
  { ask: 'GET /go', status: 302, has: { location: /^\/live$/ } },
  { ask: 'GET /old', status: 301, has: { location: /^\/live$/ } },
  { ask: 'GET /robots.txt', status: 200, text: /User-agent/ },
]

const RULES = `'/old': { redirect: { to: '/live', statusCode: 301 } }, '/live': { headers: { 'x-rule': 'live' } }, '/isr': { isr: 1 }, '/pre': { prerender: true }`

function below(folder: string, files: Files): Files {
  return Object.fromEntries(Object.entries(files).map(([path, content]) => [`${folder}/${path}`, content]))
}

export const NUXT: App = {
  name: 'nuxt',
  files: {
    'package.json': json({
      ...{ private: true, type: 'module', scripts: { build: 'nuxt build' } },
      dependencies: { nuxt: '4.5.2' },
      // Nuxt 4.5.2 does not build with Vite 8.4.0: EXTERNAL_MODULES_CANNOT_BE_TRANSFORMED_TO_MODULES.
      overrides: { vite: '8.3.8' },
    }),
    'nuxt.config.ts': `export default defineNuxtConfig({
  compatibilityDate: '2025-07-01', telemetry: false,
  runtimeConfig: { greeting: 'of the build' },
  routeRules: { ${RULES} },
})
`,
    'public/robots.txt': 'User-agent: *\n',
    ...below('server', SERVER),
    'app/app.vue': '<template><NuxtPage /></template>\n',
    'app/error.vue': `<script setup>defineProps({ error: Object })</script><template><h1>error {{ error.statusCode ?? error.status }}</h1></template>\n`,
    'app/pages/index.vue': '<template><h1>home</h1></template>\n',
    'app/pages/pre.vue':
      '<script setup>const { data } = await useAsyncData("made", async () => ({ made: "at the build" }))</script><template><h1>made {{ data.made }}</h1></template>\n',
    'app/pages/isr.vue':
      '<script setup>const at = useState("at", () => Date.now())</script><template><h1>isr at {{ at }}</h1></template>\n',
    'app/pages/live.vue': `<script setup>
const { greeting } = useRuntimeConfig()
const at = useState('at', () => Date.now())
const said = useCookie('said')
const { data } = await useFetch('/api/hello')
const url = useRequestURL().href
</script><template><h1>live</h1><p>at {{ at }}</p><p>{{ url }} {{ greeting }} said {{ said }} {{ data.said }}</p></template>
`,
    'app/pages/post/[slug].vue': `<script setup>
const { slug } = useRoute().params
if (slug === 'none') throw createError({ statusCode: 404, statusMessage: 'no such post' })
</script><template><h1>post {{ slug }}</h1></template>
`,
    'app/pages/away.vue': `<script setup>await navigateTo('/live', { redirectCode: 301 })</script><template><h1>never</h1></template>\n`,
  },
  words: ['--env', 'NUXT_GREETING=from the environment'],
  probes: [
    { ask: 'GET /', status: 200, text: /<h1>home<\/h1>/ },
    { ask: 'HEAD /', status: 200 },
    { ask: 'GET /live', status: 200, text: /from the environment/, has: { 'x-rule': /^live$/ } },
    { ask: 'GET /live?a=1', status: 200, text: /:\/\/nuxt-[\w-]+\.berth\.localhost:\d+\/live\?a=1 / },
    { ask: 'GET /live', headers: { cookie: 'said=hello' }, status: 200, text: /said hello hello/ },
    { ask: 'GET /pre', status: 200, text: /made at the build/ },
    { ask: 'GET /pre/_payload.json', status: 200, text: /at the build/ },
    { ask: 'GET /isr', status: 200, text: /isr at \d+/ },
    { ask: 'GET /post/a%20b', status: 200, text: /post a b/ },
    { ask: 'GET /post/none', status: 404, text: /error 404/, headers: { accept: 'text/html' } },
    { ask: 'GET /nowhere', status: 404, text: /error 404/, headers: { accept: 'text/html' } },
    { ask: 'GET /away', status: 301, has: { location: /^\/live$/ } },
    { ask: 'DELETE /api/hello', status: 404 },
    ...SERVER_PROBES,
  ],
  changing: [{ path: '/live', value: /at (\d+)/ }],
  renewed: [{ path: '/isr', value: /at (\d+)/ }],
  asset: { page: '/', link: /(\/_nuxt\/[^"]+\.js)"/, caching: /immutable/ },
  streamed: { path: '/stream', first: /first part/, release: 'GET /release', last: /last part/ },
}

export const NITRO: App = {
  name: 'nitro',
  files: {
    'package.json': json({
      ...{ private: true, type: 'module', scripts: { build: 'nitropack build' } },
      dependencies: { nitropack: '2.13.6' },
    }),
    'nitro.config.ts': `export default defineNitroConfig({ compatibilityDate: '2025-07-01', srcDir: 'server', publicAssets: [{ dir: '../public' }], routeRules: { ${RULES} } })\n`,
    'tsconfig.json': '{ "extends": "./.nitro/types/tsconfig.json" }\n',
    'public/robots.txt': 'User-agent: *\n',
    ...below('server', SERVER),
    'server/routes/index.ts': "export default defineEventHandler(() => '<h1>home</h1>')\n",
    'server/routes/live.ts': `export default defineEventHandler(() => 'live at ' + Date.now() + ' ' + process.env.GREETING)\n`,
    'server/routes/pre.ts': "export default defineEventHandler(() => 'made at the build')\n",
    'server/routes/isr.ts': "export default defineEventHandler(() => 'isr at ' + Date.now())\n",
  },
  probes: [
    { ask: 'GET /', status: 200, text: /<h1>home<\/h1>/ },
    { ask: 'GET /live', status: 200, text: /from the environment/, has: { 'x-rule': /^live$/ } },
    { ask: 'GET /pre', status: 200, text: /made at the build/ },
    { ask: 'GET /isr', status: 200, text: /isr at \d+/ },
    { ask: 'GET /nowhere', status: 404 },
    { ask: 'DELETE /api/hello', status: 405 },
    ...SERVER_PROBES,
  ],
  changing: [{ path: '/live', value: /at (\d+)/ }],
  renewed: [{ path: '/isr', value: /at (\d+)/ }],
  streamed: { path: '/stream', first: /first part/, release: 'GET /release', last: /last part/ },
}
