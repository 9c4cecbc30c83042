/** At which addresses a service listens. src/platform/server/listen.ts. */
import assert from 'node:assert/strict'
import { isIP } from 'node:net'
import { test } from 'node:test'
import { listenToClients, listenToProxies } from '../../../src/platform/server/listen.ts'

test('a name is listened on at one address, and a name that does not resolve is a setting that is wrong', async () => {
  const hosts: string[] = []
  const app = { listen: async ({ host }: { host?: string }) => String(hosts.push(host!)) }
  const edge = { listen: async (host: string) => String(hosts.push(host)) }
  await listenToClients(app as Parameters<typeof listenToClients>[0], { host: 'localhost', port: 0 })
  await listenToProxies(edge, { host: 'localhost', port: 0 })
  assert.deepEqual(hosts.map(isIP), [4, 4])
  await listenToClients(app as Parameters<typeof listenToClients>[0], { host: '::1', port: 0 })
  assert.equal(hosts[2], '::1')
  const nowhere = { host: 'nobody.invalid', port: 0 }
  await assert.rejects(listenToClients(app as Parameters<typeof listenToClients>[0], nowhere), /^Error: HOST and PORT/)
  await assert.rejects(listenToProxies(edge, nowhere), /^Error: BERTH_EDGE_PORT/)
})
