/** Looking names up is counted, and slow names of tenants hold up nothing that is sent. docs/threats.md T63. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { openDns } from '../../../src/platform/adapters/dns.ts'
import { openEgress } from '../../../src/platform/adapters/egress.ts'
import { eventually } from '../../support/eventually.ts'
import { startDnsServer } from '../../support/servers/dns-server.ts'
import { receiver } from '../../support/servers/receiver.ts'
import { onBothEngines } from '../../support/world.ts'

const dns = await startDnsServer()
after(() => dns.close())

onBothEngines(
  'every look-up is counted for its domain and its account, and is in the metrics',
  async (world) => {
    const config = (call: typeof world.call, name: string) => call.try('GET', `/v6/domains/${name}/config`)
    for (let at = 0; at < 20; at++) assert.equal((await config(world.call, 'www.example.com')).status, 200)
    const more = await config(world.call, 'www.example.com')
    assert.deepEqual([more.status, more.headers['x-ratelimit-limit']], [429, '20'])
    assert.match(String(more.headers.ratelimit), /"domain-lookup"/)
    // One was refused after the account had been charged for it.
    for (let at = 21; at < 120; at++) assert.equal((await config(world.call, `d${at}.example.com`)).status, 200)
    const most = await config(world.call, 'another.example.com')
    assert.deepEqual([most.status, most.headers['x-ratelimit-limit']], [429, '120'])
    const { call } = await world.user('other')
    assert.equal((await config(call, 'www.example.com')).status, 200)
  },
  { BERTH_RATE_LIMITS: 'on' },
)
test('an account with 48 endpoints of silent names leaves room for the deliveries of another', async (t) => {
  const hook = await receiver(t)
  const egress = openEgress(openDns([dns.address]), () => true)
  const controller = new AbortController()
  const ended: string[] = []
  const post = async (accountId: string, host: string) => {
    const url = `http://${host}:${new URL(hook.url).port}/`
    const posted = await egress.post({ url, headers: {}, body: '', accountId }, controller.signal)
    ended.push(accountId)
    return posted
  }
  const asked = () => new Set(dns.asked.filter((question) => question.includes('sink'))).size
  const silent = Array.from({ length: 48 }, (_, at) => {
    dns.zones.set(`sink${at}.org`, { silent: true })
    return post('many', `sink${at}.org`)
  })
  await eventually(() => asked() >= 16)
  // No more are asked for meanwhile.
  await new Promise((resolve) => setTimeout(resolve, 200))
  assert.equal(asked(), 16, 'IPv4 and IPv6 of each name are one question each')
  dns.zones.set('prompt.org', { a: ['127.0.0.1'] })
  assert.equal(((await post('few', 'prompt.org')) as { statusCode: number }).statusCode, 200)
  assert.deepEqual(ended, ['few'])
  controller.abort()
  for (const posted of await Promise.all(silent)) assert.ok('error' in posted)
  await egress.close()
})

test('connections are kept for the next delivery of an account, shared with no other, and closed when none is left', async (t) => {
  const hook = await receiver(t)
  const egress = openEgress(openDns([dns.address]), () => true)
  const ports: number[] = []
  const closed: Promise<unknown>[] = []
  hook.answer((response, _got, { socket }) => {
    if (!ports.includes(socket.remotePort!)) closed.push(once(socket, 'close'))
    ports.push(socket.remotePort!)
    response.end()
  })
  const post = (accountId: string) =>
    egress.post({ url: hook.url, headers: {}, body: '', accountId }, new AbortController().signal)
  for (const accountId of ['one', 'one', 'other']) {
    assert.equal('error' in (await post(accountId)), false)
    // The connection is free for the next request once all that has come was read.
    for (let turn = 0; turn < 10; turn++) await nextTurn()
  }
  assert.equal(ports[0], ports[1])
  assert.notEqual(ports[1], ports[2])
  await Promise.all(closed)
  assert.equal(closed.length, 2)
  assert.equal('error' in (await post('one')), false, 'and are opened again')
  await egress.close()
})
