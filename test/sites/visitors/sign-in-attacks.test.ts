/** Attacks on the sign-in of members at sites: codes, cookies, ways out, and users who are not members. docs/threats.md T390 to T399. */
import assert from 'node:assert/strict'
import { eventually } from '../../support/eventually.ts'
import { onBothEngines, type World } from '../../support/world.ts'
import type { EdgeReply } from '../../support/worlds/edge-world.ts'
import { SETTINGS } from '../../support/worlds/sites-world.ts'
import {
  approve,
  type Browser,
  beginAt,
  ELSEWHERE,
  enter,
  HOST,
  memberOf,
  OTHER,
  openMembersOnly,
  strangerOf,
} from './members.ts'

const OVER_HTTPS = { 'x-forwarded-proto': 'https' }

function isOver({ status, headers }: EdgeReply): boolean {
  return status === 403 && headers['x-vercel-error'] === 'SIGN_IN_OVER' && headers['set-cookie'] === undefined
}

/** Whether a browser sees the site. */
async function isIn(browser: Browser, host = HOST): Promise<boolean> {
  const { status, text } = await browser.visit(host, '/', { accept: '*/*' })
  assert.equal(text.includes('secret'), status === 200)
  return status === 200
}

function rowsOf({ deps }: World) {
  return deps.db.read.selectFrom('site_session').selectAll().execute()
}

onBothEngines(
  'a code counts once, within a minute, on its host and in the browser that began',
  async (world, t) => {
    const { browser, close } = await openMembersOnly(world, t)
    const { client } = await memberOf(world, 'ada', 'VIEWER')
    const mine = browser()
    const stateless = browser()
    const theirs = browser()
    await beginAt(theirs)
    const back = await approve(client, await beginAt(mine))
    await beginAt(mine, OTHER)
    assert.ok(isOver(await stateless.visit(HOST, back)), 'a browser that began nothing')
    assert.ok(isOver(await theirs.visit(HOST, back)), 'the browser of another user')
    assert.ok(isOver(await mine.visit(OTHER, back)), 'another host of the project')
    mine.jarOf(OTHER).set('__Host-berth_site_begun', mine.jarOf(HOST).get('__Host-berth_site_begun')!)
    assert.ok(isOver(await mine.visit(OTHER, back)), 'another host, with the state of the first')
    for (const other of [
      `${back}x`,
      back.slice(0, -1),
      `${back}&a=1`,
      back.replace('code', 'Code'),
      '/_berth/sign-in?code=',
    ])
      assert.ok(isOver(await mine.visit(HOST, other)), other)
    assert.ok(isOver(await mine.visit(HOST, back, {}, 'POST')))
    assert.ok(isOver(await mine.visit(HOST, back, {}, 'HEAD')))
    const begun = new Map(mine.jarOf(HOST))
    assert.equal((await mine.visit(HOST, back)).status, 303)
    assert.ok(await isIn(mine))
    for (const [name, value] of begun) theirs.jarOf(HOST).set(name, value)
    assert.ok(isOver(await theirs.visit(HOST, back)), 'a replay with all that the first browser had')
    assert.equal(await isIn(theirs), false)
    assert.ok(await isIn(mine), 'a replay ends nothing')

    const late = browser()
    const lateBack = await approve(client, await beginAt(late))
    world.deps.clock.set(world.deps.clock.now() + 60_001)
    assert.ok(isOver(await late.visit(HOST, lateBack)), 'after a minute')
    const inTime = browser()
    const inTimeBack = await approve(client, await beginAt(inTime))
    world.deps.clock.set(world.deps.clock.now() + 59_000)
    assert.equal((await inTime.visit(HOST, inTimeBack)).status, 303)
    await close()
  },
  SETTINGS,
)

onBothEngines(
  'of twenty who redeem a code at once one comes in',
  async (world, t) => {
    const { browser, close } = await openMembersOnly(world, t)
    const { client } = await memberOf(world, 'ada', 'VIEWER')
    for (let round = 0; round < 3; round++) {
      const mine = browser()
      const back = await approve(client, await beginAt(mine))
      const cookie = [...mine.jarOf(HOST)].map(([name, value]) => `${name}=${value}`).join('; ')
      const answers = await Promise.all(Array.from({ length: 20 }, () => browser().visit(HOST, back, { cookie })))
      const entered = answers.filter(({ status }) => status === 303)
      assert.deepEqual([entered.length, answers.filter(isOver).length], [1, 19])
    }
    assert.equal((await rowsOf(world)).length, 3)
    await close()
  },
  SETTINGS,
)

onBothEngines(
  'a cookie counts on its host and project alone, over https, and where it is there once',
  async (world, t) => {
    const { browser, close, site, id, otherId, teamId } = await openMembersOnly(world, t)
    const { client } = await memberOf(world, 'ada', 'VIEWER')
    const mine = browser()
    const unredeemed = (await approve(client, await beginAt(browser()))).slice(-43)
    const back = await approve(client, await beginAt(mine))
    const code = back.slice(-43)
    const waiting = mine.jarOf(HOST).get('__Host-berth_site_begun')!.slice(0, 43)
    await mine.visit(HOST, back)
    const secret = mine.jarOf(HOST).get('__Host-berth_site')!
    const see = async (host: string, cookie: string, headers: Record<string, string> = OVER_HTTPS) =>
      (await site.visit(host, '/', { ...headers, cookie })).status
    assert.equal(await see(HOST, `a=b; __Host-berth_site=${secret}`), 200)
    assert.equal(await see(OTHER, `__Host-berth_site=${secret}`), 403, 'another host of the project')
    assert.equal(await see(ELSEWHERE, `__Host-berth_site=${secret}`), 403, 'another project of the team')
    assert.equal(await see('web.host.test', `__Host-berth_site=${secret}`), 403, 'the own url of the deployment')
    for (const cookie of [
      `berth_site=${secret}`,
      `__Secure-berth_site=${secret}`,
      `__host-berth_site=${secret}`,
      `__Host-berth_site=${secret}; __Host-berth_site=${'x'.repeat(43)}`,
      `__Host-berth_site=${secret}; __Host-berth_site=${secret}`,
      `\u00a0__Host-berth_site=${secret}`,
      `__Host-berth_site=${secret}x`,
      `__Host-berth_site=${code}`,
      `__Host-berth_site=${unredeemed}`,
      `__Host-berth_site=${waiting}`,
      '__Host-berth_site=',
    ])
      assert.equal(await see(HOST, cookie), 403, cookie)
    assert.equal(await see(HOST, `__Host-berth_site=${secret}`, {}), 403, 'over plain http')
    assert.equal(await see(HOST, '', { ...OVER_HTTPS, 'x-sites-session': secret }), 403, 'a header of the channel')
    // The secret of the console's own cookie, and what is in the store.
    const row = (await rowsOf(world)).find(({ challenge }) => challenge === null)
    for (const other of [client.cookies.get('berth_session')!, row!.hash])
      assert.equal(await see(HOST, `__Host-berth_site=${other}`), 403)
    // The host becomes one of another project of the team.
    await world.call('POST', `/v1/projects/${id}/domains/${HOST}/move?teamId=${teamId}`, { projectId: otherId })
    await eventually(async () => {
      const moved = browser()
      await enter(client, moved).catch(() => {})
      return (await moved.visit(HOST)).text === 'other secret'
    })
    assert.equal(await see(HOST, `__Host-berth_site=${secret}`), 403, 'a host that went to another project')
    await close()
  },
  SETTINGS,
)

onBothEngines(
  'who is none of the members gets a sentence and no code, the same as for what is not there',
  async (world, t) => {
    const { browser, close, protect } = await openMembersOnly(world, t)
    const mine = browser()
    const page = await beginAt(mine)
    const sentences = new Set<string>()
    const hear = async (client: Awaited<ReturnType<typeof strangerOf>>['client'], at: string) => {
      const shown = await client.get(at)
      assert.equal(shown.status, 404, shown.text)
      const sent = await client.post(at, { form: client.token() })
      assert.equal(sent.status, 404, sent.text)
      for (const { text } of [shown, sent]) sentences.add(/<\/header>(.*)<\/main>/s.exec(text)![1]!)
    }
    const eve = await strangerOf(world, 'eve')
    await eve.client.get('/console')
    const { client: billing } = await memberOf(world, 'bill', 'BILLING')
    await billing.get('/console')
    await hear(eve.client, page)
    await hear(billing, page)
    await hear(eve.client, page.replace('one.apps', 'nowhere.apps'))
    assert.equal(sentences.size, 1, [...sentences].join('\n'))
    assert.match([...sentences][0]!, /No site at this address has a sign-in for members/)
    // The members of another account neither, where it has become theirs to see nothing.
    await protect({ ssoProtection: { deploymentType: 'preview' } })
    const { client } = await memberOf(world, 'ada', 'VIEWER')
    await client.get('/console')
    await hear(client, page)
    assert.deepEqual(await rowsOf(world), [])
    await close()
  },
  SETTINGS,
)

onBothEngines(
  'no address leads out of the host: neither that of the console nor the path that was wanted',
  async (world, t) => {
    const { browser, close, site } = await openMembersOnly(world, t)
    const { client } = await memberOf(world, 'ada', 'VIEWER')
    const challenge = new URLSearchParams((await beginAt(browser())).split('?')[1]).get('challenge')!
    for (const wrong of [
      'https://evil.example',
      `https://${HOST}@evil.example`,
      `https://${HOST}.evil.example`,
      `https://evil.example\\@${HOST}`,
      `https://${HOST}/`,
      `https://${HOST}/..//evil.example`,
      `https://${HOST}#`,
      `https://${HOST.toUpperCase()}`,
      `https://${HOST}:443`,
      `https://${HOST}:99999`,
      `https://${HOST}\n`,
      ` https://${HOST}`,
      `https:${HOST}`,
      `http://${HOST}`,
      `//${HOST}`,
      `\\\\${HOST}`,
      `javascript://${HOST}`,
      HOST,
      '',
      'null',
      `https://${'a.'.repeat(200)}example`,
    ]) {
      const at = `/sites/sign-in?${new URLSearchParams({ site: wrong, challenge })}`
      const shown = await client.get(at)
      assert.ok([400, 404].includes(shown.status), `${wrong}: ${shown.status}`)
      const sent = await client.post(at)
      assert.deepEqual([[400, 404].includes(sent.status), sent.location], [true, ''], wrong)
    }
    assert.deepEqual(await rowsOf(world), [])
    for (const [uri, wanted] of [
      ['//evil.example/', '/'],
      ['/\\evil.example/', '/'],
      ['/.//evil.example/', '/'],
      ['/%0d%0aset-cookie:a=b', '/%0d%0aset-cookie:a=b'],
      ['/a/../b?c=//evil.example', '/b?c=//evil.example'],
      [`/${'a'.repeat(1999)}`, `/${'a'.repeat(1999)}`],
      [`/${'a'.repeat(2000)}`, '/'],
      [`/?${'a'.repeat(1999)}`, '/'],
      ['/_berth/sign-in/', '/_berth/sign-in/'],
    ] as const)
      await enterTo(uri, wanted)
    for (const forged of [
      'https://evil.example',
      '//evil.example',
      '\\\\evil.example',
      'https:evil',
      '/.//evil.example',
      '/\t/evil.example',
    ])
      await enterTo('/', '/', forged)

    /** `forged`: the path in the cookie that the browser holds meanwhile. */
    async function enterTo(uri: string, wanted: string, forged?: string) {
      const mine = browser()
      const back = await approve(client, await beginAt(mine, HOST, uri))
      const begun = mine.jarOf(HOST).get('__Host-berth_site_begun')!
      const path = forged === undefined ? begun.split('.')[1]! : Buffer.from(forged).toString('base64url')
      mine.jarOf(HOST).set('__Host-berth_site_begun', `${begun.slice(0, 43)}.${path}`)
      const entered = await mine.visit(HOST, back)
      const { location } = entered.headers
      assert.equal(new URL(location!, `https://${HOST}/`).host, HOST)
      if (forged === undefined) assert.equal(location, wanted, uri)
    }
    const raw = await site.visit(HOST, '/', { ...OVER_HTTPS, accept: 'text/html' })
    assert.doesNotMatch(raw.headers.location!, /code=/)
    await close()
  },
  SETTINGS,
)

onBothEngines(
  'a page that is only opened makes no code, and neither does a form from elsewhere',
  async (world, t) => {
    const { browser, close } = await openMembersOnly(world, t)
    const { client } = await memberOf(world, 'ada', 'VIEWER')
    const { client: other } = await memberOf(world, 'bob', 'VIEWER')
    const page = await beginAt(browser())
    assert.equal((await client.get(page)).status, 200)
    await other.get(page)
    for (const [fields, headers] of [
      [{ form: '' }, {}],
      [{ form: other.token() }, {}],
      [{}, { origin: 'https://evil.example' }],
      [{}, { 'sec-fetch-site': 'cross-site' }],
    ] as const) {
      const { status, location } = await client.post(page, fields, headers)
      assert.deepEqual([status, location], [403, ''], JSON.stringify([fields, headers]))
    }
    assert.deepEqual(await rowsOf(world), [])
    assert.equal((await client.post(page)).status, 303)
    assert.equal((await rowsOf(world)).length, 1)
    await close()
  },
  SETTINGS,
)
