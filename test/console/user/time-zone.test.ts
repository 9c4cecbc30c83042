/** The time zone that a user chooses for a browser. docs/console.md: Page layout. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { clockTime, inTimeZone, lastUsedLabel, relativeAndExactTime } from '../../../src/console/time.ts'
import { timeZones } from '../../../src/platform/pages/cookies.ts'
import { openSignedInClient } from '../../support/clients/browser-client.ts'
import { onBothEngines } from '../../support/world.ts'

const PROFILE = '/console/account'
const SUMMER = Date.UTC(2026, 6, 1, 22, 30, 5)
const ISO = '2026-07-01T22:30:05.000Z'

test('exact times are those of the zone, and what programs read stays in UTC', () => {
  const shown = (zone: string | undefined) => inTimeZone(relativeAndExactTime(SUMMER, SUMMER), zone).markup
  const berlin = '2026-07-02 00:30:05 GMT+02:00'
  assert.equal(
    shown('Europe/Berlin'),
    `<time datetime="${ISO}" title="${berlin}">just now</time><br><span class="soft small"><time datetime="${ISO}" title="${berlin}">${berlin}</time></span>`,
  )
  for (const zone of ['UTC', undefined])
    assert.equal(
      shown(zone),
      `<time datetime="${ISO}" title="${ISO}">just now</time><br><span class="soft small"><time datetime="${ISO}" title="${ISO}">2026-07-01 22:30:05 UTC</time></span>`,
    )
  const asia = (one: Parameters<typeof inTimeZone>[0]) => inTimeZone(one, 'Asia/Kathmandu').markup
  const kathmandu = '2026-07-02 04:15:05 GMT+05:45'
  assert.equal(asia(clockTime(SUMMER)), `<time datetime="${ISO}" title="${kathmandu}">04:15:05</time>`)
  assert.equal(
    asia(lastUsedLabel(SUMMER, SUMMER, SUMMER)),
    `<time datetime="${ISO}" title="${kathmandu} (to the hour)">within the last hour</time>`,
  )
})

test('every time zone of the list can be used', () => {
  const all = timeZones()
  assert.ok(all.length > 300 && new Set(all).size === all.length, `${all.length}`)
  for (const zone of all) assert.match(inTimeZone(clockTime(SUMMER), zone).markup, />\d\d:\d\d:\d\d<\/time>$/, zone)
})

onBothEngines('a browser keeps the time zone that its user chose, and a forged one counts as UTC', async (world) => {
  const client = await openSignedInClient(world)
  const title = async () =>
    /<time datetime="[^"]*" title="([^"]*)"/.exec((await client.get(`${PROFILE}/security`)).text)![1]!
  assert.match(await title(), /Z$/)
  assert.match((await client.get(PROFILE)).text, /value="UTC" selected/)
  const chosen = await client.post(`${PROFILE}/time-zone`, { timeZone: 'Asia/Kabul' })
  assert.deepEqual([chosen.status, chosen.location], [303, PROFILE], chosen.text)
  assert.match(
    String(chosen.headers['set-cookie']),
    /berth_time_zone=Asia\/Kabul; Path=\/; HttpOnly; SameSite=Lax; Max-Age=34560000/,
  )
  assert.match(await title(), /GMT\+04:30$/)
  assert.match((await client.get(PROFILE)).text, /value="Asia\/Kabul" selected/)
  for (const timeZone of ['Mars/Olympus', '', 'utc', '"><b>', 'x'.repeat(65)])
    assert.equal((await client.post(`${PROFILE}/time-zone`, { timeZone })).status, 400, timeZone)
  for (const forged of ['Mars/Olympus', '+05:45', '"><b>', 'constructor', 'x'.repeat(4000)]) {
    client.cookies.set('berth_time_zone', forged)
    assert.match(await title(), /Z$/, forged)
  }
  await client.get(PROFILE)
  await client.post(`${PROFILE}/time-zone`, { timeZone: 'UTC' })
  assert.equal(client.cookies.has('berth_time_zone'), false)
})
