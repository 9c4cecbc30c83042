/** Typed values are kept when a session ends in the middle of a form. docs/console.md: Sessions. */
import assert from 'node:assert/strict'
import {
  type Client,
  type Fields,
  openClient,
  openSignedInClient,
  PASSWORD,
} from '../support/clients/browser-client.ts'
import { onBothEngines, type World } from '../support/world.ts'

const PATH = '/console/t/admin/projects/web/variables'
const SECRET = 'typed & <kept> "€"\nin two lines'
const TYPED = { key: 'TOKEN', value: SECRET, target: ['production', 'preview'], type: 'sensitive', comment: 'why' }
const SHOWN = 'typed &amp; &lt;kept&gt; &quot;€&quot;\nin two lines'

/** The hidden fields of the page, as a browser sends them. */
function hidden(text: string): Fields {
  const plainOf = (value: string) =>
    value.replaceAll(
      /&(amp|lt|gt|quot|#39);/g,
      (_, name: string) => ({ amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" })[name]!,
    )
  const fields: Record<string, string[]> = {}
  for (const [, name, value] of text.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)"/g))
    fields[name!] = [...(fields[name!] ?? []), plainOf(value!)]
  return fields
}

async function openForm(world: World): Promise<Client> {
  const client = await openSignedInClient(world)
  await world.call('POST', '/v10/projects', { name: 'web' })
  assert.equal((await client.get(`${PATH}/new`)).status, 200)
  return client
}

/** Ends every session of the user by suspending and reinstating them. */
async function endSessions(world: World): Promise<void> {
  for (const suspended of [true, false]) {
    const changed = await world.operator('PATCH', `/operator/v1/users/${world.credentials.userId}`, { suspended })
    assert.equal(changed.status, 200, changed.text)
  }
}

async function countVariables(world: World): Promise<number> {
  return (await world.call('GET', '/v9/projects/web/env')).body.envs.length
}

onBothEngines(
  'when a session ends in the middle of a form, the form has the typed values after sign-in, and was not sent',
  async (world) => {
    const client = await openForm(world)
    await endSessions(world)
    const asked = await client.post(`${PATH}/new`, TYPED)
    assert.equal(asked.status, 401, asked.text)
    assert.match(asked.text, /What you typed is kept/)
    const { kept } = hidden(asked.text)
    const wrong = await client.post('/sign-in', { name: 'admin', password: 'not the password', kept: kept! })
    assert.equal(wrong.status, 403)
    assert.deepEqual(hidden(wrong.text).kept, kept)
    const signed = await client.post('/sign-in', { name: 'admin', password: PASSWORD, kept: kept! })
    assert.equal(signed.status, 200, signed.text)
    assert.match(signed.text, new RegExp(`action="${PATH}/new"`))
    const again = await client.post(`${PATH}/new`, hidden(signed.text))
    assert.equal(again.status, 422, again.text)
    assert.match(again.text, /Nothing was changed yet/)
    assert.ok(again.text.includes(`${SHOWN}</textarea>`), again.text)
    assert.match(again.text, /value="TOKEN"/)
    assert.equal(again.text.match(/ checked/g)?.length, 2)
    assert.match(again.text, /value="sensitive" selected/)
    assert.equal(await countVariables(world), 0)
    const sent = await client.post(`${PATH}/new`, TYPED)
    assert.deepEqual([sent.status, sent.location], [303, PATH], sent.text)
    assert.equal(await countVariables(world), 1)
  },
)

onBothEngines('a form that was kept over a sign-in is of the project that its page showed', async (world) => {
  const client = await openForm(world)
  const { shown } = hidden((await client.get(`${PATH}/new`)).text)
  await endSessions(world)
  await world.call('PATCH', '/v9/projects/web', { name: 'web-old' })
  await world.call('POST', '/v10/projects', { name: 'web' })
  const { kept } = hidden((await client.post(`${PATH}/new`, { ...TYPED, shown: shown! })).text)
  const signed = await client.post('/sign-in', { name: 'admin', password: PASSWORD, kept: kept! })
  const again = await client.post(`${PATH}/new`, hidden(signed.text))
  assert.equal(again.status, 404, again.text)
  assert.match(again.text, /Nothing was changed: another project has the name web now\./)
  assert.ok(again.text.includes(`${SHOWN}</textarea>`), again.text)
})

onBothEngines(
  'a form of another site is not saved, and neither is one with a foreign target or with an invalid format',
  async (world) => {
    const client = await openForm(world)
    await endSessions(world)
    const headers: Record<string, string>[] = [
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site', origin: 'https://evil.example' },
      { origin: 'https://evil.example' },
    ]
    for (const one of headers) {
      const answer = await client.post(`${PATH}/new`, TYPED, one)
      assert.deepEqual([answer.status, answer.location], [303, `/sign-in?return=${encodeURIComponent(`${PATH}/new`)}`])
      assert.doesNotMatch(answer.text, /TOKEN/)
    }
    const forged = await client.post(`${PATH}/new`, { ...TYPED, form: 'forged' })
    assert.equal(forged.status, 303)
    // Without the cookie of the ended session, the browser itself says that the form was on a page of ours.
    const stranger = openClient(world)
    assert.equal((await stranger.post(`${PATH}/new`, { ...TYPED, form: 'x' })).status, 303)
    assert.equal(
      (await stranger.post(`${PATH}/new`, { ...TYPED, form: 'x' }, { 'sec-fetch-site': 'same-origin' })).status,
      401,
    )
    for (const kept of [
      '{',
      '{}',
      '{"to":"https://evil.example/","fields":{}}',
      '{"to":"/console","fields":{"a":{}}}',
      '{"to":"//evil.example/console","fields":{}}',
    ]) {
      const visitor = openClient(world)
      await visitor.get('/sign-in')
      const signed = await visitor.post('/sign-in', { name: 'admin', password: PASSWORD, kept })
      assert.deepEqual([signed.status, signed.location], [303, '/console'], kept)
    }
  },
)

onBothEngines(
  'a session that ends during a route call redirects to the sign-in, with the typed values',
  async (world) => {
    const client = await openForm(world)
    const { db } = world.deps
    const { write } = db
    /** The next request records that the session is in use, which is the last write before the page calls routes. */
    const endNext = () => {
      world.deps.clock.set(world.deps.clock.now() + 600_000)
      db.write = async (work) => {
        db.write = write
        await endSessions(world)
        return write(work)
      }
    }
    endNext()
    const page = await client.get(PATH)
    assert.deepEqual([page.status, page.location], [303, `/sign-in?return=${encodeURIComponent(PATH)}`], page.text)
    const other = await openSignedInClient(world)
    await other.get(`${PATH}/new`)
    endNext()
    const form = await other.post(`${PATH}/new`, TYPED)
    assert.equal(form.status, 401, form.text)
    assert.match(hidden(form.text).kept![0]!, /typed & <kept>/)
    assert.equal(await countVariables(world), 0)
  },
)

onBothEngines(
  'a value too long for a field or the route is shown again in the form, and the longest valid value fits',
  async (world) => {
    const client = await openForm(world)
    const comment = 'c'.repeat(501)
    const long = await client.post(`${PATH}/new`, { ...TYPED, comment })
    assert.equal(long.status, 400)
    assert.match(long.text, /role="alert"/)
    assert.match(long.text, new RegExp(`value="${comment}"`))
    assert.ok(long.text.includes(`${SHOWN}</textarea>`))
    // The longest value: each character takes three bytes in the store and nine in the form.
    const whole = await client.post(`${PATH}/new`, { ...TYPED, value: '€'.repeat(21_845) })
    assert.equal(whole.status, 303, whole.text.slice(0, 2000))
    const more = await client.post(`${PATH}/new`, { ...TYPED, key: 'MORE', value: '€'.repeat(21_846) })
    assert.equal(more.status, 400)
    assert.match(more.text, /value="MORE"/)
    assert.equal((await client.post(`${PATH}/new`, { ...TYPED, value: 'x'.repeat(300_000) })).status, 413)
  },
)
