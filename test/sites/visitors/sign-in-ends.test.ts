/** How long a member stays in a protected site, and what comes before the sign-in. docs/edge.md: Sign-in of members. */
import assert from 'node:assert/strict'
import type { IncomingHttpHeaders } from 'node:http'
import { test } from 'node:test'
import { challengeOf } from '../../../src/platform/verdict/site-sign-in.ts'
import { openClient, openSignedInClient, PASSWORD, seedPassword } from '../../support/clients/browser-client.ts'
import { setUpCodes } from '../../support/clients/second-factor.ts'
import { eventually } from '../../support/eventually.ts'
import { onBothEngines, type World } from '../../support/world.ts'
import { SETTINGS } from '../../support/worlds/sites-world.ts'
import {
  approve,
  type Browser,
  beginAt,
  enter,
  HOST,
  memberOf,
  OTHER,
  openBrowser,
  openMembersOnly,
} from './members.ts'
import { showSite } from './servers.ts'

async function isIn(browser: Browser, host = HOST): Promise<boolean> {
  return (await browser.visit(host, '/', { accept: '*/*' })).status === 200
}

type Member = Awaited<ReturnType<typeof memberOf>>

/** TABLE what ends a visit -> how it happens to a member of the first team. */
const ENDS: Record<string, (world: World, member: Member) => Promise<unknown>> = {
  'is removed from the team': (world, { id }) =>
    world.call('DELETE', `/v1/teams/${world.credentials.teamId}/members/${id}`),
  'gets a role that sees no projects': (world, { id }) =>
    world.call('PATCH', `/v1/teams/${world.credentials.teamId}/members/${id}`, { role: 'BILLING' }),
  'is suspended': (world, { id }) => world.operator('PATCH', `/operator/v1/users/${id}`, { suspended: true }),
  'signs out of the console': async (_, { client }) => {
    await client.get('/console')
    assert.equal((await client.post('/sign-out')).status, 303)
  },
  'gets a new password': (world, { id }) => seedPassword(world, id, 'another long password'),
  'is removed for good': (world, { id }) => world.operator('DELETE', `/operator/v1/users/${id}`),
}

onBothEngines(
  'a visit ends with the next request when its user may no longer see the project, and no other visit does',
  async (world, t) => {
    const { browser, close } = await openMembersOnly(world, t)
    const stays = await memberOf(world, 'stays', 'VIEWER')
    const staying = browser()
    await enter(stays.client, staying)
    for (const [at, [how, end]] of Object.entries(ENDS).entries()) {
      const member = await memberOf(world, `member${at}`, 'DEVELOPER')
      const mine = browser()
      await enter(member.client, mine)
      const other = browser()
      const unredeemed = await approve(member.client, await beginAt(other))
      assert.ok(await isIn(mine), how)
      await end(world, member)
      assert.equal(await isIn(mine), false, how)
      assert.equal((await other.visit(HOST, unredeemed)).status, 403, `a code of a user who ${how}`)
      assert.equal(await isIn(other), false, how)
      assert.ok(await isIn(staying), how)
    }
    await setUpCodes(world, await openSignedInClient(world))
    const { teamId } = world.credentials
    await world.call('PATCH', `/v2/teams/team?teamId=${teamId}`, { requireSecondFactor: true })
    assert.equal(await isIn(staying), false, 'the team demands a second factor')
    await close()
  },
  SETTINGS,
)

onBothEngines(
  'a visit ends after twelve hours, when the project moves to another account, and never with a change of the protection',
  async (world, t) => {
    const { browser, close, protect, id, teamId } = await openMembersOnly(world, t)
    const ada = await memberOf(world, 'ada', 'VIEWER')
    const mine = browser()
    await enter(ada.client, mine)
    await protect({ ssoProtection: null })
    await eventually(async () => (await browser().visit(HOST)).status === 200)
    await protect({ ssoProtection: { deploymentType: 'all' } })
    await eventually(async () => (await browser().visit(HOST)).status === 303)
    assert.ok(await isIn(mine))
    world.deps.clock.set(world.deps.clock.now() + 12 * 3_600_000 - 60_000)
    assert.ok(await isIn(mine))
    world.deps.clock.set(world.deps.clock.now() + 60_000)
    assert.equal(await isIn(mine), false)
    await enter(ada.client, mine)
    // To the personal account of the first user, who is a member of both.
    const admin = await openSignedInClient(world)
    const ofAdmin = browser()
    await enter(admin, ofAdmin)
    const { code } = (await world.call('POST', `/projects/${id}/transfer-request?teamId=${teamId}`, {})).body
    await world.call('PUT', `/projects/transfer-request/${code}`, {})
    await world.operator('POST', '/operator/v1/timers/project-transfers/run', {})
    assert.deepEqual([await isIn(mine), await isIn(ofAdmin)], [false, false])
    assert.deepEqual(await world.deps.db.read.selectFrom('site_session').selectAll().execute(), [])
    await enter(admin, ofAdmin)
    assert.ok(await isIn(ofAdmin), 'a user who sees it there comes in again')
    assert.equal((await ada.client.get(await beginAt(mine))).status, 404)
    await close()
  },
  SETTINGS,
)

onBothEngines(
  'pause and redirects come first, and a project without sign-in redirects no visitor to the console',
  async (world, t) => {
    const { browser, close, protect, id, teamId, site } = await openMembersOnly(world, t)
    const ofTeam = `?teamId=${teamId}` as const
    const back = '/_berth/sign-in?code='.padEnd(64, 'a')
    await world.call('POST', `/v1/projects/${id}/pause${ofTeam}`)
    await eventually(async () => (await browser().visit(HOST)).status === 503)
    await eventually(async () => (await browser().visit(HOST, back)).status === 503)
    await world.call('POST', `/v1/projects/${id}/unpause${ofTeam}`)
    await world.call('PATCH', `/v9/projects/${id}/domains/${HOST}${ofTeam}`, { redirect: OTHER })
    await eventually(async () => (await browser().visit(HOST)).status === 307)
    assert.equal((await browser().visit(HOST)).headers.location, `https://${OTHER}/`)
    await eventually(async () => (await browser().visit(OTHER)).status === 303)
    await protect({ ssoProtection: { deploymentType: 'preview' } })
    await eventually(async () => (await browser().visit(OTHER)).status === 200)
    const ordinary = await browser().visit(OTHER, back)
    assert.deepEqual([ordinary.status, ordinary.headers['x-vercel-error']], [404, 'NOT_FOUND'])
    // A password as well: it is asked for, as before.
    await protect({
      ssoProtection: { deploymentType: 'all' },
      passwordProtection: { deploymentType: 'all', password: 'pässword: 100 %' },
    })
    await eventually(async () => (await browser().visit(OTHER)).status === 401)
    // Its page has the way for members, for those alone who could go it.
    const way = /<a href="\/_berth\/sign-in">sign in<\/a>/
    assert.match((await browser().visit(OTHER)).text, way)
    assert.doesNotMatch((await browser().visit(OTHER, '/', { accept: '*/*' })).text, way)
    const both = browser()
    const { client } = await memberOf(world, 'ada', 'VIEWER')
    await enter(client, both, OTHER, '/', '/_berth/sign-in')
    assert.ok(await isIn(both, OTHER))
    assert.equal((await browser().visit(OTHER, '/_berth/sign-in', { accept: '*/*' })).status, 401)
    // Only trusted addresses guard: no sign-in would help.
    await protect({
      ssoProtection: { deploymentType: 'all' },
      passwordProtection: null,
      trustedIps: { deploymentType: 'all', protectionMode: 'additional', addresses: [{ value: '203.0.113.7' }] },
    })
    await eventually(async () => (await browser().visit(OTHER)).status === 403)
    const trusted = openBrowser(site, { 'x-forwarded-proto': 'https', 'x-forwarded-for': '203.0.113.7' })
    assert.equal((await trusted.visit(OTHER)).status, 303)
    await close()
  },
  SETTINGS,
)

onBothEngines(
  'while the control plane is unavailable members stay outside, and no code, state or cookie is in a log, an address or a Referer',
  async (world, t) => {
    const { browser, close, site, control, id, teamId } = await openMembersOnly(world, t)
    const stranger = openClient(world)
    const ada = await memberOf(world, 'ada', 'VIEWER')
    const mine = browser()
    const page = await beginAt(mine)
    // The whole way of a user who is not signed in yet.
    const first = await stranger.get(page)
    await stranger.get(first.location)
    const signed = await stranger.post(first.location, { name: 'ada', password: PASSWORD })
    assert.deepEqual([signed.status, signed.location], [303, page], signed.text)
    const shown = await stranger.get(page)
    assert.match(String(shown.headers['content-security-policy']), new RegExp(`form-action 'self' https://${HOST};`))
    assert.equal(shown.headers['referrer-policy'], 'no-referrer')
    const begun = mine.jarOf(HOST).get('__Host-berth_site_begun')!
    assert.ok(!page.includes(begun.slice(0, 43)), 'the state stays in the browser')
    const back = await approve(stranger, page)
    await mine.visit(HOST, back)
    assert.ok(await isIn(mine))
    const secrets = [begun.slice(0, 43), back.slice(-43), mine.jarOf(HOST).get('__Host-berth_site')!]
    const rows = JSON.stringify(await world.deps.db.read.selectFrom('site_session').selectAll().execute())
    for (const secret of secrets) {
      assert.match(secret, /^\w{43}$/)
      for (const text of [site.logged(), world.logged(), rows]) assert.ok(!text.includes(secret))
    }
    assert.match(site.logged(), /"path":"\/_berth\/sign-in"/)
    const { entries } = (await world.operator('GET', '/operator/v1/audit?type=enterSite')).body
    assert.deepEqual(
      entries.map((entry: { subjectId: string; accountId: string }) => [entry.subjectId, entry.accountId]),
      [[id, teamId]],
    )
    const waiting = browser()
    const later = await approve(ada.client, await beginAt(waiting))
    await control.close()
    assert.equal((await mine.visit(HOST)).status, 503)
    const closed = await waiting.visit(HOST, later)
    assert.deepEqual([closed.status, closed.headers['set-cookie']], [503, undefined])
    await close()
  },
  SETTINGS,
)

test('on a laptop the cookies go without the prefix, and the browser is led back to the port that it asked', async (t) => {
  const host = 'web-1.berth.localhost'
  const redeemed: IncomingHttpHeaders[] = []
  const { site } = await showSite(t, {
    host,
    contents: { 'static/index.html': 'secret' },
    protection: { signIn: 'all' },
    check: ({ url, headers }, response) => {
      if (url === '/sites/v1/sign-ins') {
        redeemed.push(headers)
        return response.end(JSON.stringify({ secret: 's'.repeat(43), seconds: 60 }))
      }
      if (headers['x-sites-session'] === 's'.repeat(43)) return response.end()
      const page = 'http://localhost:3000/sites/sign-in'
      return response.writeHead(403, { 'x-edge-error': 'NOT_ALLOWED', 'x-edge-sign-in': page }).end('no')
    },
  })
  const mine = openBrowser(site, {})
  const led = await mine.visit(`${host}:3002`, '/page')
  const { searchParams } = new URL(led.headers.location!)
  assert.equal(searchParams.get('site'), `http://${host}:3002`)
  assert.match(
    String(led.headers['set-cookie']),
    /^berth_site_begun=[\w.-]+; Path=\/; HttpOnly; SameSite=Lax; Max-Age=600$/,
  )
  const entered = await mine.visit(`${host}:3002`, `/_berth/sign-in?code=${'c'.repeat(43)}`)
  assert.deepEqual([entered.status, entered.headers.location], [303, '/page'])
  assert.equal(
    entered.headers['set-cookie']![0],
    `berth_site=${'s'.repeat(43)}; Path=/; HttpOnly; SameSite=Lax; Max-Age=60`,
  )
  const [asked] = redeemed
  assert.deepEqual([redeemed.length, asked!['x-sites-host'], asked!['x-sites-code']], [1, host, 'c'.repeat(43)])
  assert.equal(challengeOf(String(asked!['x-sites-state'])), searchParams.get('challenge'))
  assert.equal((await mine.visit(`${host}:3002`)).text, 'secret')
})
