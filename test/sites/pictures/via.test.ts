/** Who says that a request came through other sites decides nothing about the pictures of others. docs/pictures.md: Sources. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { SITE } from '../visitors/control-plane.ts'
import { showSite } from '../visitors/servers.ts'
import { get, imagePath, pngOf } from './png.ts'

const HOP = '1.1 berth'

test('a visitor who says through which servers a request came makes no picture fail for others', async (t) => {
  const seen: (string | undefined)[] = []
  const server = createServer(({ headers: { via } }, response) => {
    seen.push(via)
    response.writeHead(via!.split(', ').every((hop) => hop === HOP) ? 200 : 400).end(pngOf(10, 10))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  const other = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const routes = [{ src: '/made/(.*)', dest: `${other}/$1` }]
  const config = { images: { sizes: [64], domains: ['127.0.0.1'] }, routes }
  const { origin } = await showSite(t, { config }, {}, (address) => address === '127.0.0.1')
  const picture = (url: string, via?: string) =>
    get(origin, imagePath(url), { host: SITE, ...(via !== undefined && { via }) })
  const hops = (count: number) => Array.from({ length: count }, () => HOP).join(', ')
  for (const url of [`${other}/a.png`, '/made/a.png']) {
    await picture(url, `1.1 ${'x'.repeat(8000)}`)
    await picture(url, hops(3))
    const { status, headers } = await picture(url)
    assert.deepEqual([status, headers['x-vercel-error']], [200, undefined], url)
  }
  assert.ok(seen.every((via) => via!.length <= hops(4).length))
})
