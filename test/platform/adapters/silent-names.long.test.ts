/** Slow names of one account hold up nothing of another. docs/threats.md T63. */
import assert from 'node:assert/strict'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { after, test } from 'node:test'
import { openDns } from '../../../src/platform/adapters/dns.ts'
import { eventually } from '../../support/eventually.ts'
import { startDnsServer } from '../../support/servers/dns-server.ts'
import { assertWithin } from '../../support/time-limits.ts'
import { onBothEngines } from '../../support/world.ts'

const silent = createSocket('udp4').bind(0, '127.0.0.1')
await once(silent, 'listening')
silent.unref()
const dns = await startDnsServer()
after(() => dns.close())

onBothEngines(
  'deliveries ask DNS at once while all slots of look-ups wait for silent name servers (a bound on time)',
  async (world) => {
    const heard = new Set<string>()
    silent.on('message', (question) => heard.add(question.toString('latin1')))
    // One account never has them all.
    const users = await Promise.all(['a', 'b', 'c', 'd', 'e'].map((name) => world.user(name)))
    const calls = [world, ...users].flatMap(({ call }) => Array(7).fill(call) as (typeof call)[])
    const slow = calls.map((call, at) => call.try('GET', `/v6/domains/s${at}.example.com/config`))
    await eventually(() => heard.size >= 32)
    const post = { url: 'http://hooks.example.org/', headers: {}, body: '', accountId: 'one' }
    const sent = world.deps.adapters.egress.post(post, AbortSignal.timeout(6000))
    assertWithin(await eventually(() => [...heard].some((question) => question.includes('hooks'))), 1000)
    await Promise.all([...slow, sent])
  },
  { BERTH_DNS_SERVERS: `127.0.0.1:${silent.address().port}` },
)

onBothEngines(
  'an account with 100 silent names does not hold up the verify of another, and is answered (a bound on time)',
  async (world) => {
    const { call } = await world.user('other')
    await call('POST', '/v10/projects', { name: 'web' })
    const added = await call('POST', '/v10/projects/web/domains', { name: 'prompt.net' })
    const [{ domain, value }] = added.body.verification
    dns.zones.set(domain, { txt: [[value]] })
    const names = Array.from({ length: 100 }, (_, at) => `silent${at}.org`)
    for (const name of names) dns.zones.set(name, { silent: true })
    const before = dns.asked.length
    const slow = Promise.all(names.map((name) => world.call.try('GET', `/v6/domains/${name}/config`)))
    await eventually(() => dns.asked.length >= before + 16)
    const began = performance.now()
    const verified = await call('POST', '/v9/projects/web/domains/prompt.net/verify')
    const took = performance.now() - began
    assert.equal(verified.status, 200, verified.text)
    assertWithin(took, 1000)
    const statuses = new Set((await slow).map(({ status }) => status))
    statuses.delete(200)
    // PostgreSQL runs 16 requests of one account at once: a request that waits longer than 10 s for a turn gets 429.
    assert.deepEqual([...statuses], world.engine === 'postgres' ? [429] : [])
  },
  // Turns as long as in use: those of a patient test would let all of them wait.
  { BERTH_DNS_SERVERS: dns.address, BERTH_TEST_PATIENCE: '1' },
)

test('one account takes half of the slots, the next takes half of the rest; slots come back, and accounts take turns', async () => {
  const { readTxt } = openDns([dns.address])
  dns.zones.set('slow.org', { txt: [['yes']], delayMs: 100 })
  const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
  // Names without a response are looked up again: the count is of names, not of queries.
  const asked = () => new Set(dns.asked).size
  let names = 0
  const stuckOf = (asker: string) =>
    Array.from({ length: 40 }, () => {
      const name = `stuck${names++}.org`
      dns.zones.set(name, { silent: true })
      return readTxt(name, asker)
    })
  for (const _ of ['first', 'once more']) {
    const waiting = []
    for (const [asker, places] of [16, 8, 4].entries()) {
      const before = asked()
      waiting.push(...stuckOf(`asker ${asker}`))
      await eventually(() => asked() >= before + places)
      // No more may be asked for.
      await pause(200)
      assert.equal(asked() - before, places)
    }
    assert.deepEqual(new Set(await Promise.all(waiting)), new Set([undefined]))
  }
  const ended: string[] = []
  const ask = (asker: string) => readTxt('slow.org', asker).then((found) => ended.push(`${asker} ${found}`))
  const many = Array.from({ length: 160 }, () => ask('many'))
  await Promise.all([...many, ask('few'), ask('few')])
  assert.ok(ended.lastIndexOf('few yes') < 60, `the few ended as number ${ended.lastIndexOf('few yes')}`)
  assert.deepEqual(new Set(ended), new Set(['many yes', 'few yes']))
})
