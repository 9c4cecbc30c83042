/** Shows the sites of two tenants until standard input ends, and prints where. Functions are plain processes. */
import { once } from 'node:events'
import type { TestContext } from 'node:test'
import { functionOf } from '../../sites/functions/function-site.ts'
import { showTenants } from '../../sites/functions/tenants.ts'
import { pngOf } from '../../sites/pictures/png.ts'

const SHARED = `export const GET = (request) => new Response(request.url.padEnd(2000), { headers: { 'cache-control': 's-maxage=600' } })`

const ends: (() => unknown)[] = []
const t = { after: (end: () => unknown) => void ends.push(end) } as unknown as TestContext
const contents = {
  ...functionOf('api/shared', SHARED),
  ...functionOf('api/own', `export const GET = () => new Response('own')`),
  ...functionOf('page', SHARED),
  'functions/page.prerender-config.json': JSON.stringify({ type: 'Prerender', expiration: 600 }),
  'static/a.png': pngOf(10, 10),
  'static/file.txt': 'a file',
}
const { site } = await showTenants(t, {}, contents, { images: { sizes: [64], domains: [] } })
console.log(site.origin)
await once(process.stdin.resume(), 'end')
for (const end of ends.toReversed()) await end()
process.exit(0)
