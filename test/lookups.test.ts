/** Looking names up is counted, and slow names of tenants hold up nothing that is sent. review: L1. */
import assert from 'node:assert/strict'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { onBothEngines } from './world.ts'

onBothEngines(
  'every look-up is counted, for a domain and for an account, and told',
  async (world) => {
    const config = (call: typeof world.call, name: string) => call('GET', `/v6/domains/${name}/config`)
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

const silent = createSocket('udp4').bind(0, '127.0.0.1')
await once(silent, 'listening')
silent.unref()

onBothEngines(
  'while all places of look-ups wait for silent name servers, what is sent asks DNS at once',
  async (world) => {
    const heard = new Set<string>()
    silent.on('message', (question) => heard.add(question.toString('latin1')))
    const slow = Array.from({ length: 40 }, (_, at) => world.call('GET', `/v6/domains/s${at}.example.com/config`))
    while (heard.size < 32) await new Promise((resolve) => setTimeout(resolve, 10))
    const post = { url: 'http://hooks.example.org/', headers: {}, body: '' }
    const sent = world.deps.outside.egress.post(post, AbortSignal.timeout(6000))
    const since = performance.now()
    while (![...heard].some((question) => question.includes('hooks'))) {
      assert.ok(performance.now() - since < 1000, 'the name of the hook was not asked for')
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
    await Promise.all([...slow, sent])
  },
  { BERTH_DNS_SERVERS: `127.0.0.1:${silent.address().port}` },
)
