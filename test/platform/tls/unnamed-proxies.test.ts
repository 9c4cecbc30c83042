/** Proxies with TLS that BERTH_TRUSTED_PROXIES does not name are reported. docs/limits.md: Behind a proxy. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createUnnamedProxies } from '../../../src/platform/tls/unnamed-proxies.ts'
import { onBothEngines, type World } from '../../support/world.ts'

const HTTPS = { 'x-forwarded-proto': 'https', 'x-forwarded-for': '203.0.113.7' }

/** What the health of the service says of proxies, once these requests came. */
async function foundAfter(world: World, ...requests: Record<string, string>[]): Promise<string[]> {
  const address = await world.listen()
  for (const headers of requests) assert.equal((await fetch(`${address}/healthz`, { headers })).status, 200)
  const { findings } = (await world.operator('GET', '/operator/v1/health')).body
  return findings
    .filter(({ about }: { about: string }) => about === 'proxies')
    .map(({ is, found, advice }: { is: string; found: string; advice?: string }) => `${is}: ${found} (${advice})`)
}

onBothEngines('the health of a service names the proxy that no setting names, and the setting', async (world) => {
  const [found, ...more] = await foundAfter(
    world,
    HTTPS,
    { 'x-forwarded-proto': 'http, https' },
    { 'x-forwarded-proto': 'http' },
    {},
  )
  assert.deepEqual(more, [])
  assert.match(found!, /^worry: 2 requests over https came by 127\.0\.0\.1, which BERTH_TRUSTED_PROXIES does not name/)
  assert.match(found!, /add 127\.0\.0\.1 to BERTH_TRUSTED_PROXIES/)
  assert.equal(world.logged().match(/"address":"127\.0\.0\.1","msg":"requests come by a proxy/g)?.length, 1)
})

onBothEngines(
  'a named proxy causes no warning',
  async (world) => assert.deepEqual(await foundAfter(world, HTTPS), []),
  { BERTH_TRUSTED_PROXIES: '127.0.0.1' },
)

test('of addresses that send the header no more are kept than a few, and those with most requests come first', () => {
  const told: object[] = []
  const warn = (line: object) => void told.push(line)
  const { note, seen } = createUnnamedProxies({ trustedProxies: undefined }, { warn } as never)
  const from = (remoteAddress: string) => note({ headers: HTTPS, socket: { remoteAddress } } as never)
  for (let at = 0; at < 100; at++) from(`203.0.113.${at}`)
  from('::ffff:203.0.113.9')
  assert.deepEqual([seen().length, told.length], [20, 20])
  assert.deepEqual(seen()[0], { address: '203.0.113.9', requests: 2 })
})
