/**
 * Every form of the console: bad input of every kind, a session that is over, and the same form sent twice. A new form is
 * covered once it is in the table (form-table.ts). docs/console.md: Forms.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { acceptsIdempotencyKey } from '../../src/platform/http/route.ts'
import { ROUTES } from '../../src/routes.ts'
import {
  type Client,
  type Fields,
  openClient,
  openSignedInClient,
  PASSWORD,
  type PageResponse,
} from '../support/clients/browser-client.ts'
import { TYPED } from '../support/clients/typed-texts.ts'
import { digest } from '../support/stores/digest.ts'
import { onBothEngines, type World } from '../support/world.ts'
import { CONSOLE_FORMS, FORMS } from './form-table.ts'
import { openForms, routeOf } from './form-world.ts'

const PATHS = Object.keys(FORMS)
const WITH_FIELDS = PATHS.filter((path) => (FORMS[path]!.typed ?? []).length > 0)
/** What was typed is not shown again: a password, a code, and what is chosen from a list. */
const NOT_SHOWN = new Set([
  // Passkeys are for a service on https: test/accounts/second-factor/passkeys.test.ts.
  '/console/account/security/factors/passkeys',
  '/console/account/security/factors/passkeys/name',
  '/console/account/security/password',
  // Shown where the service sends mail: the test below.
  '/console/account/email/change',
  '/console/account/security/factors/codes',
  '/console/t/:slug/members/:uid/role',
  '/console/t/:slug/webhooks/:id/replay',
  '/console/operator/teams/:id/plan',
])
/** Without a mail server there is no form for another email. */
const MAIL = { BERTH_SMTP_URL: 'smtp://127.0.0.1:1', BERTH_MAIL_FROM: 'berth@example.com' }
/** What a schema says is for programs. */
const OF_A_SCHEMA =
  /should NOT |missing required property|should be [<>]=|should be (string|integer|number|array|object)\b/
const READS = ROUTES.filter(({ method }) => method === 'GET').map(({ operationId }) => operationId)
const EMOJI = TYPED.find((text) => text.startsWith('😀'))!
const HERE = { 'sec-fetch-site': 'same-origin' }

async function open(world: World) {
  const forms = await openForms(world)
  const client = await openSignedInClient(world)
  await client.get('/console/account')
  const typedInto = (path: string, text: string): Fields => ({
    ...forms.goodOf(path),
    ...Object.fromEntries(FORMS[path]!.typed!.map((name) => [name, text])),
  })
  return { ...forms, client, typedInto }
}

test('the table has every form of the console, once', () => {
  assert.deepEqual([...CONSOLE_FORMS.keys()].sort(), PATHS.toSorted())
})

test('each form documents a duplicate submission, or calls a route with an idempotency key', () => {
  for (const path of PATHS) {
    const route = routeOf(path)
    const isKeyed = route !== undefined && acceptsIdempotencyKey(route) && FORMS[path]!.good !== undefined
    if (!isKeyed) assert.ok(FORMS[path]!.twice ?? (route?.method === 'PUT' && 'a PUT'), path)
  }
})

onBothEngines('typed values are shown again as text, next to their errors', async (world) => {
  const { at, client, typedInto } = await open(world)
  for (const path of WITH_FIELDS)
    for (const text of TYPED) {
      const answer = await client.post(at(path), typedInto(path, text))
      const about = `${path} ${JSON.stringify(text.slice(0, 30))}: ${answer.status}`
      assert.ok(
        [200, 303, 400, 403, 404, 409, 422, 429].includes(answer.status),
        `${about} ${answer.text.slice(-2000)}`,
      )
      assert.doesNotMatch(answer.text, /<script>alert/, about)
      if (answer.status < 400) continue
      assert.doesNotMatch(answer.text, OF_A_SCHEMA, about)
      assert.match(answer.text, /<div class="shell">[\s\S]*role="alert"/, `${about}: the page of the form`)
      if (text === EMOJI && !NOT_SHOWN.has(path))
        assert.ok(answer.text.includes(text), `${about}: what was typed is kept`)
    }
})

onBothEngines(
  'a typed new email is shown again too, where the service sends mail',
  async (world) => {
    const client = await openSignedInClient(world)
    await client.get('/console/account')
    for (const text of TYPED.filter((one) => one !== '')) {
      const answer = await client.post('/console/account/email/change', { email: text })
      assert.ok([400, 429].includes(answer.status), answer.text)
      assert.match(answer.text, /role="alert"/)
      assert.doesNotMatch(answer.text, /<script>alert/)
      if (text === EMOJI) assert.ok(answer.text.includes(text))
    }
  },
  MAIL,
)

/** TABLE what no browser encodes so, and what a page shows of it. */
const NO_TEXT: readonly (readonly [sent: (name: string) => string, shown: string, says: string])[] = [
  [(name) => `${name}=a%00b%F0%9F%98%80`, 'ab😀', 'contains invalid characters'],
  [(name) => `${name}=a%ff%F0%9F%98%80`, 'a\ufffd😀', 'contains invalid characters'],
  [(name) => `${name}=a%zz%F0%9F%98%80`, 'a%zz😀', 'contains invalid characters'],
  [(name) => `${name}=one+%F0%9F%98%80&${name}=two`, 'one 😀', 'is given more than once'],
]

onBothEngines('bytes that are not text in a field are shown again in the form, and change nothing', async (world) => {
  const { at, client, goodOf } = await open(world)
  const before = await digest(world)
  for (const path of WITH_FIELDS) {
    const { properties } = CONSOLE_FORMS.get(path)!.form as { properties: Record<string, { type?: string }> }
    const [name] = FORMS[path]!.typed!
    const others = Object.entries(goodOf(path) ?? {}).flatMap(([one, values]) =>
      [values].flat().map((value) => [one, value]),
    )
    const encoded = new URLSearchParams(others.filter(([one]) => one !== name) as [string, string][])
    for (const [sent, shown, says] of NO_TEXT) {
      const isList = properties[name!]!.type === 'array'
      if (isList && says.includes('more than once')) continue
      const { status, text } = await client.postEncoded(at(path), `${sent(name!)}&${encoded}`)
      const about = `${path} ${sent(name!)}: ${status} ${text.slice(-1500)}`
      // Its page is not there without a mail server or https.
      if (status === 404 && NOT_SHOWN.has(path)) continue
      assert.equal(status, 400, about)
      assert.match(text, /<div class="shell">[\s\S]*role="alert"/, about)
      assert.ok(text.includes(` ${says}`) && text.includes('send the form again'), about)
      if (NOT_SHOWN.has(path)) continue
      assert.ok(text.includes(shown), about)
      assert.ok(!text.includes('\0'), about)
    }
  }
  assert.equal(await digest(world), before)
})

onBothEngines(
  'a field name that is not text is refused, and never read as the name that it resembles',
  async (world) => {
    const { client } = await open(world)
    const before = await digest(world)
    const { status, text } = await client.postEncoded('/console/t/admin/new', 'na%00me=mended&name=%F0%9F%98%80')
    assert.equal(status, 400)
    assert.match(text, /role="alert"[\s\S]*the name of a field is not valid text/)
    assert.match(text, /name="name" value="😀"/)
    assert.equal(await digest(world), before)
  },
)

onBothEngines('a form without its fields, with too many of one, or with a duplicate field', async (world) => {
  const { at, client, goodOf } = await open(world)
  for (const path of WITH_FIELDS) {
    const { form } = CONSOLE_FORMS.get(path)!
    const properties = form.properties as Record<string, { type?: string }>
    const lacking = await client.post(at(path))
    assert.ok(lacking.status < 500, `${path}: ${lacking.status}`)
    assert.doesNotMatch(lacking.text, OF_A_SCHEMA, path)
    for (const [name, { type }] of Object.entries(properties)) {
      const many = type === 'array' ? Array.from({ length: 2000 }, (_, one) => `x${one}`) : ['one', 'two']
      const answer = await client.post(at(path), { ...goodOf(path), [name]: many })
      // Trying a drain looks at its address alone.
      if (type === 'array' && path.endsWith('/drains/new/test')) continue
      assert.ok([400, 403, 404, 409, 413, 422].includes(answer.status), `${path} ${name}: ${answer.status}`)
      assert.match(answer.text, /role="alert"/, `${path} ${name}`)
      assert.doesNotMatch(answer.text, OF_A_SCHEMA, `${path} ${name}`)
    }
  }
})

onBothEngines('ids that are not there, and those of others, are not found', async (world) => {
  const { at, client, goodOf, samples } = await open(world)
  const before = await digest(world)
  for (const path of PATHS.filter((one) => /\/:(?!slug)/.test(one))) {
    const parts = path.split('/')
    const theirs = [samples.rival.projectId, samples.rival.teamId, '😀nobody.example.com']
    for (const id of theirs) {
      // The last one that the address names: what is above it is there.
      const last = parts.findLastIndex((part) => part.startsWith(':'))
      const url = at(path).split('/').with(last, encodeURIComponent(id)).join('/')
      const isOperators = path.startsWith('/console/operator') && id !== '😀nobody.example.com'
      if (isOperators) continue
      const answer = await client.post(url, { ...goodOf(path) })
      assert.ok([400, 404].includes(answer.status), `${url}: ${answer.status} ${answer.text.slice(-500)}`)
    }
  }
  assert.equal(await digest(world), before)
})

onBothEngines('the operator forms do nothing for a user who is not an operator', async (world) => {
  const { at, goodOf } = await openForms(world)
  const person = await openSignedInClient(world, (await world.user('person')).id, 'person')
  await person.get('/console/account')
  const before = await digest(world)
  for (const path of PATHS.filter((one) => one.startsWith('/console/operator'))) {
    const answer = await person.post(at(path), goodOf(path))
    assert.ok([401, 403].includes(answer.status), `${path}: ${answer.status}`)
  }
  assert.equal(await digest(world), before)
})

/** The hidden field that carries a form on. */
function keptIn({ text }: PageResponse): { to: string; fields: Fields } {
  const [, value = ''] = /name="kept" value="([^"]*)"/.exec(text) ?? []
  return JSON.parse(value.replaceAll('&quot;', '"').replaceAll('&amp;', '&'))
}

onBothEngines('a form of an ended session is shown again with the typed values, and does nothing', async (world) => {
  const { at, client, typedInto } = await open(world)
  const before = await digest(world)
  for (const path of WITH_FIELDS.filter((one) => CONSOLE_FORMS.get(one)!.savesForm)) {
    const typed = typedInto(path, EMOJI)
    const isShown = ({ text, status }: PageResponse, about: string) => {
      assert.equal(status, 422, `${path}, ${about}: ${status} ${text.slice(-2000)}`)
      assert.match(text, /role="alert"[\s\S]*Nothing was changed yet/, `${path}, ${about}`)
      if (!NOT_SHOWN.has(path)) assert.ok(text.includes(EMOJI), `${path}, ${about}`)
    }
    // Without a session: the page on which they sign in carries it on.
    const asked = await openClient(world).post(at(path), { form: 'former', ...typed }, HERE)
    assert.equal(asked.status, 401, `${path}: ${asked.status}`)
    const { to, fields } = keptIn(asked)
    assert.equal(to, at(path))
    isShown(await client.post(to, { ...fields, review: '1' }), 'after the sign-in')
    // Of the session before: they signed in again in another window.
    isShown(await client.post(at(path), { ...typed, form: 'former' }, HERE), 'of an earlier session')
    const [theirs, none] = [{ 'sec-fetch-site': 'cross-site' }, {}]
    for (const headers of [theirs, none])
      assert.equal((await client.post(at(path), { ...typed, form: 'former' }, headers)).status, 403, path)
  }
  assert.equal(await digest(world), before)
})

onBothEngines('a way back leads from every form to a page that is there', async (world) => {
  const { at, client } = await open(world)
  for (const path of PATHS) {
    const { location } = await openClient(world).post(at(path), { form: 'forged' })
    const back = new URL(location, 'https://berth.test').searchParams.get('return')!
    assert.ok(back.startsWith('/console') && at(path).startsWith(back), `${path}: ${location}`)
    const page = await client.get(back)
    assert.notEqual(page.status, 405, `${path}: ${back}`)
    const isOfLetter = /This link is incomplete/.test(page.text)
    if (page.status === 404 && !isOfLetter) assert.doesNotMatch(page.text, /Page not found/, `${path}: ${back}`)
  }
})

/** A page as it was shown, whenever that was. */
function withoutOnce({ status, location, text }: PageResponse) {
  return { status, location, text: text.replaceAll(/name="once" value="\w+"|>[^<]*<\/time>/g, '') }
}

/** The audit entries of all writes, and their events. Entries of secret reads do not count. */
async function linesOf({ deps: { db } }: World): Promise<unknown> {
  const lines = db.read.selectFrom('audit').select('stamp').where('type', 'not in', READS)
  return [await lines.execute(), await db.read.selectFrom('event').select('id').execute()]
}

onBothEngines('a form that is sent twice acts once, and returns the same response', async (world) => {
  const { at, client, goodOf } = await open(world)
  for (const path of PATHS) {
    const fields = goodOf(path)
    if (fields === undefined) continue
    const send = (): Promise<PageResponse> => client.post(at(path), { ...fields, once: 'shown-once' })
    const first = await send()
    assert.ok(first.status < 400, `${path}: ${first.status} ${first.text.slice(-1500)}`)
    const after = await linesOf(world)
    const second = await send()
    if (acceptsIdempotencyKey(routeOf(path)!)) {
      assert.deepEqual(withoutOnce(second), withoutOnce(first), path)
      assert.deepEqual(await linesOf(world), after, path)
    } else assert.ok(second.status < 500, `${path}: ${second.status}`)
  }
})

const HOOK = { url: 'https://hooks.example.com', events: ['project.created'] }
const WEBHOOKS = '/console/t/admin/webhooks/new'

async function countWebhooks(world: World): Promise<number> {
  return (await world.call('GET', '/v1/webhooks')).body.length
}

async function openWebhooks(world: World): Promise<Client> {
  const client = await openSignedInClient(world)
  await client.get(WEBHOOKS)
  return client
}

onBothEngines(
  'a button that is pressed twice at once: both answers are the same, and show the one secret',
  async (world) => {
    const client = await openWebhooks(world)
    const sent = { ...HOOK, once: 'shown-once' }
    const answers = await Promise.all([1, 2, 3].map(() => client.post(WEBHOOKS, sent)))
    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]))
    assert.equal(new Set(answers.map(({ text }) => /whsec_\w+/.exec(text)?.[0])).size, 1)
    assert.equal(await countWebhooks(world), 1)
  },
)

onBothEngines('a reloaded page, other fields, and another session each submit once more', async (world) => {
  const client = await openWebhooks(world)
  const [, once] = /name="once" value="(\w+)"/.exec((await client.get(WEBHOOKS)).text)!
  const [, next] = /name="once" value="(\w+)"/.exec((await client.get(WEBHOOKS)).text)!
  assert.notEqual(once, next)
  const other = openClient(world)
  await other.get('/sign-in')
  assert.equal((await other.post('/sign-in', { name: 'admin', password: PASSWORD })).status, 303)
  await other.get(WEBHOOKS)
  const sendings: [Client, Fields][] = [
    [client, { ...HOOK, once: once! }],
    [client, { ...HOOK, once: next! }],
    [client, { ...HOOK, url: 'https://others.example.com', once: once! }],
    [other, { ...HOOK, once: once! }],
    // Of a page that does not say by what its forms are known.
    [other, HOOK],
    [other, HOOK],
  ]
  for (const [at, [browser, fields]] of sendings.entries()) {
    assert.equal((await browser.post(WEBHOOKS, fields)).status, 200)
    assert.equal(await countWebhooks(world), at + 1)
  }
  const refused = { url: 'no url', events: ['project.created'], once: once! }
  for (let tries = 0; tries < 2; tries++) assert.equal((await client.post(WEBHOOKS, refused)).status, 400)
})
