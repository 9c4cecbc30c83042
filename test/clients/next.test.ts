/** A Next.js app from source to its pages: app and pages router, static, dynamic and renewed pages, an API route and a server action. docs/functions.md: Next.js. */
import assert from 'node:assert/strict'
import { request } from 'node:http'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { get, pngOf } from '../sites/pictures/png.ts'
import { eventually } from '../support/eventually.ts'
import { isDriven } from './ledger.ts'
import { type Files, folderWith, json, startLaptop } from './source-builds.ts'

const FILES: Files = {
  'package.json': json({
    ...{ private: true, scripts: { build: 'next build' } },
    dependencies: { next: '16.4.6', react: '19.2.0', 'react-dom': '19.2.0' },
  }),
  'next.config.mjs':
    'export default { redirects: async () => [{ source: "/old/:a", destination: "/ssr?a=:a", permanent: false }] }\n',
  'app/layout.jsx': 'export default ({ children }) => <html><body>{children}</body></html>\n',
  'app/page.jsx': 'export default () => <h1>home</h1>\n',
  'public/photo.png': pngOf(800, 400),
  'app/photo/page.jsx':
    'import Image from "next/image"\nexport default () => <Image src="/photo.png" width={400} height={200} alt="" />\n',
  'app/not-found.jsx': 'export default () => <h1>nothing here</h1>\n',
  'app/ssr/page.jsx':
    'export default async ({ searchParams }) => <h1>{"ssr " + JSON.stringify(await searchParams)}</h1>\n',
  'app/post/[slug]/page.jsx':
    'export default async ({ params }) => <h1>{"post " + (await params).slug}</h1>\nexport const dynamic = "force-dynamic"\n',
  'app/isr/[id]/page.jsx': `export const revalidate = 1
export const generateStaticParams = async () => [{ id: '1' }]
export default async ({ params }) => <h1>{'isr ' + (await params).id + ' at ' + Date.now()}</h1>
`,
  'app/api/hello/route.js':
    'export const GET = (request) => Response.json({ url: request.url })\nexport const POST = async (request) => Response.json(await request.json())\n',
  'app/action/page.jsx': `import { cookies } from 'next/headers'
async function say(form) { 'use server'; (await cookies()).set('said', String(form.get('v'))) }
export default async () => <form action={say}><p>{'said ' + ((await cookies()).get('said')?.value ?? 'nothing')}</p><input name="v" /></form>
`,
  // Each function answers itself at this address, so its fetches have one key.
  'lib/fetched.js': `import { createServer } from 'node:http'
let ready
const listen = () => new Promise((go) => createServer((_, res) => res.end(String(Date.now()))).on('error', go).listen(39017, '127.0.0.1', go))
export const fetched = async () => { await (ready ??= listen()); return (await fetch('http://127.0.0.1:39017/posts', { next: { tags: ['posts'], revalidate: 3600 } })).text() }
`,
  'app/data/[id]/page.jsx': `import { fetched } from '../../../lib/fetched'
export const generateStaticParams = async () => []
export default async ({ params }) => <h1>{'data ' + (await params).id + ' of ' + (await fetched())}</h1>
`,
  'app/api/data/route.js': `import { revalidateTag } from 'next/cache'
import { fetched } from '../../../lib/fetched'
export const dynamic = 'force-dynamic'
export const fetchCache = 'default-cache'
export const GET = async () => new Response('data of ' + (await fetched()))
export const POST = async () => { revalidateTag('posts', { expire: 0 }); return new Response('done') }
`,
  'app/update/page.jsx': `import { updateTag } from 'next/cache'
async function update() { 'use server'; updateTag('posts') }
export const dynamic = 'force-dynamic'
export default () => <form action={update}><input name="v" /></form>
`,
  'app/shared/route.js': `export const dynamic = 'force-dynamic'
export const GET = () => new Response('shared ' + Date.now(), { headers: { 'cache-control': 's-maxage=3600', 'vercel-cache-tag': 'shared' } })
`,
  'pages/legacy/[id].jsx': `export const getStaticPaths = async () => ({ paths: [{ params: { id: 'a' } }], fallback: 'blocking' })
export const getStaticProps = async ({ params }) => ({ props: { id: params.id, at: Date.now() }, revalidate: 1 })
export default ({ id, at }) => <h1>{'legacy ' + id + ' at ' + at}</h1>
`,
}

/** TABLE path → status and text of the page. */
const PAGES: readonly [path: string, status: number, page: RegExp][] = [
  ['/', 200, /<h1>home<\/h1>/],
  ['/ssr?a=1', 200, /ssr \{&quot;a&quot;:&quot;1&quot;\}/],
  ['/post/first', 200, /post first/],
  ['/isr/1', 200, /isr 1 at \d+/],
  ['/isr/7', 200, /isr 7 at \d+/],
  ['/legacy/a', 200, /legacy a at \d+/],
  ['/legacy/b', 200, /legacy b at \d+/],
  ['/api/hello', 200, /"url":"https?:\/\/[^"]+\/api\/hello"/],
  ['/action', 200, /said nothing/],
  ['/nowhere', 404, /nothing here/],
]

/** Sends a form as a browser without scripts does. */
async function send(origin: string, host: string, path: string, fields: Record<string, string>) {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) form.append(name, value)
  const { headers, body } = new Response(form)
  const sent = request(`${origin}${path}`, {
    method: 'POST',
    headers: { host, 'content-type': headers.get('content-type')! },
  })
  sent.end(Buffer.from(await new Response(body).arrayBuffer()))
  const [reply] = (await new Promise((resolve) => sent.once('response', (...all) => resolve(all)))) as [
    import('node:http').IncomingMessage,
  ]
  return { status: reply.statusCode, cookies: reply.headers['set-cookie'] ?? [], text: await text(reply) }
}

test('a Next.js app is deployed from source, and its pages answer and renew themselves', {
  timeout: 7_200_000,
}, async (t) => {
  if (!isDriven('cli-64.0.2')) return t.skip('is not driven in short')
  const laptop = await startLaptop(t)
  const { host } = await laptop.deploy(folderWith(t, FILES, 'next-app'), '64.0.2', [
    '--build-env',
    'NEXT_TELEMETRY_DISABLED=1',
  ])
  for (const [path, status, page] of PAGES)
    await t.test(`${path} answers ${status}`, async () => {
      // A function that starts on a busy machine may not be ready in time.
      await eventually(async () => (await laptop.page(host, path)).status !== 503)
      const seen = await laptop.page(host, path)
      assert.equal(seen.status, status, seen.text)
      assert.match(seen.text.replaceAll('<!-- -->', ''), page)
    })
  for (const path of ['/isr/1', '/isr/7', '/legacy/b'])
    await t.test(`${path} is cached, and renews itself`, async () => {
      const timeOf = async () => Number(/ at (\d+)/.exec((await laptop.page(host, path)).text)?.[1])
      const first = await timeOf()
      await eventually(async () => (await timeOf()) > first)
      assert.match(String((await laptop.page(host, path)).headers['x-vercel-cache']), /^(?:HIT|STALE)$/)
    })
  await t.test('an RSC request gets the payload of the page, and the page stays', async () => {
    const payload = await laptop.page(host, '/isr/7', { rsc: '1' })
    assert.match(String(payload.headers['content-type']), /text\/x-component/)
    assert.match(String((await laptop.page(host, '/isr/7')).headers['content-type']), /text\/html/)
  })
  await t.test('a redirect of its configuration', async () => {
    const { status, headers } = await laptop.page(host, '/old/5')
    assert.deepEqual([status, headers.location], [307, '/ssr?a=5'])
  })
  await t.test('a picture of next/image has its width and a format of the browser', async () => {
    const { text: page } = await laptop.page(host, '/photo')
    const [, source = ''] = / src="([^"]*\/_next\/image[^"]*)"/.exec(page) ?? assert.fail(page)
    const ask = () => get(laptop.sites(), source.replaceAll('&amp;', '&'), { host, accept: 'image/webp,*/*' })
    // The original is sent while sharp is being installed.
    await eventually(async () => (await ask()).headers['x-berth-picture'] === undefined)
    const { status, headers, bytes } = await ask()
    assert.deepEqual([status, headers['content-type']], [200, 'image/webp'], String(bytes.subarray(0, 200)))
  })
  await t.test('a server action of a form', async () => {
    const { text: page } = await laptop.page(host, '/action')
    const name = /name="(\$ACTION_[^"]+)"/.exec(page)?.[1] ?? assert.fail(page)
    const { status, cookies } = await send(laptop.sites(), host, '/action', { [name]: '', v: 'hello' })
    assert.equal(status, 200)
    assert.match(cookies.join(), /said=hello/)
    assert.match((await laptop.page(host, '/action', { cookie: 'said=hello' })).text, /said hello/)
  })
  const timeOf = async (path: string) => Number(/data [^<]*of (\d+)/.exec(await textOf(path))?.[1])
  const textOf = async (path: string) => (await laptop.page(host, path)).text.replaceAll('<!-- -->', '')
  await t.test('what one function fetches is cached for its pages, and for other functions', async () => {
    const first = await timeOf('/data/1')
    assert.ok(first > 0, await textOf('/data/1'))
    assert.deepEqual([await timeOf('/data/2'), await timeOf('/api/data')], [first, first])
    assert.equal((await laptop.page(host, '/data/1')).headers['x-vercel-cache'], 'HIT')
  })
  await t.test('a route handler that revalidates a tag renews data and pages', async () => {
    const first = await timeOf('/data/1')
    assert.equal((await send(laptop.sites(), host, '/api/data', {})).status, 200)
    // Next.js purges behind the response of a route handler.
    await eventually(async () => (await timeOf('/data/1')) > first)
    const second = await timeOf('/data/1')
    assert.deepEqual([await timeOf('/data/1'), await timeOf('/api/data')], [second, second])
  })
  await t.test('a server action that updates a tag does so too', async () => {
    const first = await timeOf('/data/1')
    const { text: page } = await laptop.page(host, '/update')
    const name = /name="(\$ACTION_[^"]+)"/.exec(page)?.[1] ?? assert.fail(page)
    assert.equal((await send(laptop.sites(), host, '/update', { [name]: '' })).status, 200)
    assert.ok((await timeOf('/data/1')) > first)
  })
  await t.test('a route handler with s-maxage is asked once', async () => {
    const [one, other] = [await laptop.page(host, '/shared'), await laptop.page(host, '/shared')]
    assert.deepEqual([one.text, one.headers['x-vercel-cache']], [other.text, 'MISS'])
    assert.equal(other.headers['x-vercel-cache'], 'HIT')
  })
  assert.equal(await laptop.running.kill('SIGTERM'), 0)
})
