/** Sites keep their cookies to themselves. docs/deploying-sites.md: Cookies. */
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { readOwnCookie, withoutOwnCookies, withoutSharedDomain } from '../../../src/sites/visitors/cookies.ts'
import { fairCostOf } from '../../attacks/processor-time.ts'
import { eventually } from '../../support/eventually.ts'
import { assertWithin } from '../../support/time-limits.ts'
import { openControlPlane, SITE } from './control-plane.ts'
import { openSitesServers, type Site, showSite } from './servers.ts'

const SUFFIX = { BERTH_PLATFORM_SUFFIX: 'apps.example' }

/** A site with one file, and with these rules for it. `suffix`: under which it is. */
function show(t: Parameters<typeof showSite>[0], rules: object, settings: Record<string, string> = SUFFIX) {
  const config = { routes: [{ src: '/', ...rules, continue: true }] }
  return showSite(t, { config, contents: { 'static/index.html': 'x' } }, settings)
}

function setting(key: unknown, args: string) {
  return { type: 'response.headers', op: 'set', target: { key }, args }
}

test('a transform sets no cookie for the sites of others, however it spells the name', async (t) => {
  for (const key of ['Set-Cookie', { eq: 'Set-Cookie' }, { eq: 'SET-COOKIE' }]) {
    const { visit } = await show(t, { transforms: [setting(key, 'a=1; Domain=apps.example; Secure')] })
    const { status, headers } = await visit(SITE, '/')
    assert.deepEqual([status, headers['set-cookie']], [200, ['a=1; Secure']])
  }
})

test('the suffix is that of the control plane where this machine has no setting, also while it is unavailable', async (t) => {
  const headers = { 'set-cookie': 'a=1; Domain=apps.example; Secure' }
  const offered = {
    config: { routes: [{ src: '/', headers, continue: true }] },
    contents: { 'static/index.html': 'x' },
  }
  const cookies = async ({ visit }: Pick<Site, 'visit'>) => (await visit(SITE, '/')).headers['set-cookie']
  assert.deepEqual(await cookies(await showSite(t, offered)), [headers['set-cookie']])
  const control = await openControlPlane(t, { ...offered, suffix: 'apps.example' })
  const servers = openSitesServers(t)
  const first = await servers.start(control.origin)
  await eventually(async () => (await first.visit(SITE, '/')).status === 200)
  assert.deepEqual(await cookies(first), ['a=1; Secure'])
  await first.stop()
  const second = await servers.start('http://127.0.0.1:1')
  assert.deepEqual(await cookies(second), ['a=1; Secure'])
  await second.stop()
  const stored = join(servers.folder, 'sites', 'hosts', 'hosts.ndjson')
  writeFileSync(stored, readFileSync(stored, 'utf8').replace(',"suffix":"apps.example"', ''))
  const upgraded = await servers.start(control.origin)
  await eventually(async () => (await cookies(upgraded))?.[0] === 'a=1; Secure')
})

test('transforms that cost too much for a response are 508, and others are answered', async (t) => {
  const own = Object.fromEntries(Array.from({ length: 100 }, (_, at) => [`x-${at}`, '1']))
  const transforms = Array.from({ length: 64 }, () => setting({ pre: 'x-' }, 'v'.repeat(1000)))
  const { visit } = await show(t, { headers: own, transforms })
  const { status, headers } = await visit(SITE, '/')
  assert.deepEqual([status, headers['x-vercel-error'], headers['x-1']], [508, 'ROUTING_TOO_LARGE', '1'])
  const few = await show(t, { headers: own, transforms: [setting({ pre: 'x-' }, 'v')] })
  assert.equal((await few.visit(SITE, '/')).status, 200)
})

test('a cookie of any length is read quickly, and one that browsers do not keep is not sent (a bound on time)', async (t) => {
  const long = `a=1; domain=${' '.repeat(256 * 1024)}x`
  const ms = await fairCostOf(() => withoutSharedDomain(long, 'apps.example').length, 5)
  assertWithin(ms, 5)
  const headers = { 'set-cookie': `a=${'1'.repeat(8190)}` }
  const kept = await show(t, { headers })
  assert.deepEqual((await kept.visit(SITE, '/')).headers['set-cookie'], [headers['set-cookie']])
  const longer = await show(t, { headers, transforms: [{ ...setting('set-cookie', '1'), op: 'append' }] })
  const { status, headers: sent } = await longer.visit(SITE, '/')
  assert.deepEqual([status, sent['set-cookie']], [200, undefined])
})

test('a site below the suffix has no cookies of others cleared, and one with a domain of its own clears its own', async (t) => {
  const parent = SITE.slice(SITE.indexOf('.') + 1)
  for (const [key, value, cleared] of [
    ['Clear-Site-Data', '"cookies"', undefined],
    ['clear-site-data', '"*"', undefined],
    [{ eq: 'CLEAR-Site-Data' }, '"cache", "Cookies"', undefined],
    ['clear-site-data', '"cache"', '"cache"'],
  ] as const) {
    const below = await show(t, { transforms: [setting(key, value)] }, { BERTH_PLATFORM_SUFFIX: parent })
    assert.equal((await below.visit(SITE, '/')).headers['clear-site-data'], cleared, value)
  }
  const own = await show(t, { headers: { 'clear-site-data': '"cookies"' } })
  assert.equal((await own.visit(SITE, '/')).headers['clear-site-data'], '"cookies"')
})

test('a site sets no cookie of a name of Berth', async (t) => {
  for (const cookie of [
    '__Host-berth_site=a; Secure; Path=/',
    'berth_site=a',
    ' Berth_Site =a',
    '=berth_site_begun=a',
  ]) {
    const { visit } = await show(t, { transforms: [setting('set-cookie', cookie)] })
    const { status, headers } = await visit(SITE, '/')
    assert.deepEqual([status, headers['set-cookie']], [200, undefined], cookie)
  }
  const other = await show(t, { transforms: [setting('set-cookie', 'berth_sites=a')] })
  assert.deepEqual((await other.visit(SITE, '/')).headers['set-cookie'], ['berth_sites=a'])
})

test('a cookie of Berth counts under its exact name and where it is there once; a site receives none', async () => {
  for (const [header, read] of [
    ['a=1; __Host-berth_site=s', 's'],
    ['__Host-berth_site=s ; b=2', 's'],
    ['b=2;\t__Host-berth_site=s \t', 's'],
    ['__Host-berth_site=s\u00a0; b=2', 's\u00a0'],
    ['__Host-berth_site =planted', undefined],
    ['berth_site=planted', undefined],
    ['berth_site=planted; __Host-berth_site=s', 's'],
    ['__Host-berth_site=s; __Host-berth_site=planted', undefined],
    ['__host-berth_site=planted', undefined],
    ['x__Host-berth_site=planted', undefined],
    ['\u00a0__Host-berth_site=planted', undefined],
    ['', undefined],
  ] as const)
    assert.equal(readOwnCookie(header, 'berth_site', true), read, header)
  assert.equal(readOwnCookie('__Host-berth_site=s; berth_site=mine', 'berth_site', false), 'mine')
  for (const [header, kept] of [
    ['a=1; __Host-berth_site=s; b=2', 'a=1; b=2'],
    ['berth_site=s; __Host-berth_site_begun=s;berth_site_begun', undefined],
    ['__HOST-Berth_Site=s; \u00a0berth_site=s; a', 'a'],
    ['__Secure-berth_site=s; c=berth_site=1', 'c=berth_site=1'],
    ['__Host-berth_bypass=secret; a=1', 'a=1'],
    ['__Host-berth_bypass=secret; a=1\u00a0', 'a=1\u00a0'],
  ] as const)
    assert.equal(withoutOwnCookies(header), kept, header)
})
