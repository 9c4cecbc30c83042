/** Edit forms send only what was changed: two users who change different fields do not undo each other. docs/console.md: Forms. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { changedKeys, INITIAL_VALUES_FIELD, initialFields, initialFormData } from '../../src/console/edit-form.ts'
import { checkboxesField, checkboxField, radios, select, textAreaField } from '../../src/console/fields.ts'
import { html, unescapeText } from '../../src/platform/pages/html.ts'
import { Type } from '../../src/platform/schema/builder.ts'
import { ROUTES } from '../../src/routes.ts'
import { type Client, type Fields, openClient, openSignedInClient } from '../support/clients/browser-client.ts'
import { digest } from '../support/stores/digest.ts'
import { onBothEngines, type World } from '../support/world.ts'
import { CONSOLE_FORMS } from './form-table.ts'
import { openForms, routeOf } from './form-world.ts'

const T = '/console/t/:slug'
const PROJECT = `${T}/projects/:name`
const SETTINGS = `${PROJECT}/settings`
const VARIABLE = `${PROJECT}/variables/:id/edit`

/** TABLE edit forms: the page of each, what one user changes in it, and what another one does. */
const CHANGES: Record<string, { page?: (url: string) => string; first: Fields; second: Fields }> = {
  [SETTINGS]: { first: { buildCommand: 'make "it" & more' }, second: { rootDirectory: 'app' } },
  [`${SETTINGS}/protection`]: {
    page: above,
    first: { signInFor: 'preview' },
    second: { passwordFor: 'all', password: 'a secret' },
  },
  [`${SETTINGS}/retention`]: { first: { expiration: '1w' }, second: { expirationErrored: '1d' } },
  [`${SETTINGS}/environments/:environmentSlugOrId`]: {
    first: { description: 'before it is live' },
    second: { branchType: 'equals', branchPattern: 'next' },
  },
  [VARIABLE]: { first: { comment: 'why' }, second: { target: ['preview', 'development'] } },
  [`${T}/variables/:id/edit`]: { first: { comment: 'why' }, second: { target: ['preview', 'development'] } },
  // Branch, environment and redirect exclude each other.
  [`${PROJECT}/domains/:domain`]: { first: { gitBranch: 'next' }, second: {} },
  [`${T}/apps/:id/change`]: {
    // The levels are one list of the route.
    first: { logoUrl: 'https://app.example.com/logo.png', 'level-domain': 'read' },
    second: { name: 'Other', 'level-team': 'read' },
  },
  [`${T}/webhooks/:id/edit`]: {
    first: { url: 'https://hooks.example.com/next' },
    second: { events: 'deployment.ready' },
  },
  [`${T}/settings`]: { first: { description: 'One line\r\nand another' }, second: { sensitive: 'on' } },
  '/console/operator/teams/:id/plan': {
    page: above,
    first: { plan: 'pro', softBlocked: 'true' },
    second: { paymentMissing: 'true' },
  },
  '/console/account': { first: { name: 'Ann' }, second: { username: 'ann' } },
}
/** TABLE the forms that change one thing by a PATCH, and have no other field to undo. */
const OF_ONE_FIELD = [
  `${PROJECT}/automatic-promotion`,
  `${PROJECT}/deployments/:id/cancel`,
  `${PROJECT}/variables/shared/:id`,
  `${PROJECT}/crons`,
  `${SETTINGS}/bypass`,
  `${SETTINGS}/bypass/revoke`,
  `${SETTINGS}/bypass/variable`,
  `${SETTINGS}/data-cache`,
  `${SETTINGS}/git/branch`,
  `${T}/members/:uid/role`,
  `${T}/drains/:id/enable`,
  `${T}/drains/:id/disable`,
  `${T}/webhooks/:id/enable`,
  `${T}/projects/:name/deployments/:id/cancel`,
  '/console/operator/people/:id/operator',
  '/console/operator/people/:id/suspended',
  '/console/operator/runners/:id/drain',
]
const PATHS = Object.keys(CHANGES)
const READS = ROUTES.filter(({ method }) => method === 'GET').map(({ operationId }) => operationId)

function above(url: string): string {
  return url.slice(0, url.lastIndexOf('/'))
}

/** What the field of a form holds; undefined where the page has no such form, or the form no such field. */
function wasIn(text: string, action: string): string | undefined {
  const form = text.split('<form ').find((one) => one.includes(` action="${action}"`))
  const found = / name="was" value="([^"]*)"/.exec(form?.split('</form>')[0] ?? '')?.[1]
  return found === undefined ? undefined : unescapeText(found)
}

/** The fields of a form as they are shown, with the hidden one. */
async function openForm(client: Client, path: string, url: string): Promise<Fields> {
  const page = await client.get((CHANGES[path]!.page ?? String)(url))
  const was =
    wasIn(page.text, url) ?? assert.fail(`${path}: the form has no field "was" ${page.status} ${page.text.slice(-900)}`)
  return { ...fieldsOf(was), was }
}

function fieldsOf(was: string): Fields {
  const pairs = new URLSearchParams(was)
  return Object.fromEntries(
    [...new Set(pairs.keys())].map((name) => [name, name === 'target' ? pairs.getAll(name) : pairs.get(name)!]),
  )
}

async function open(world: World) {
  const forms = await openForms(world)
  await world.operator('PATCH', `/operator/v1/accounts/${world.credentials.userId}`, { plan: 'enterprise' })
  const client = await openSignedInClient(world)
  return { ...forms, client }
}

/** The settings of a project, which is all that there is. */
async function openSettings(world: World) {
  await world.call('POST', '/v10/projects', { name: 'web' })
  return { client: await openSignedInClient(world), url: '/console/t/admin/projects/web/settings' }
}

/** The audit entries of all writes, and their events. */
async function linesOf({ deps: { db } }: World) {
  const lines = await db.read.selectFrom('audit').select('stamp').where('type', 'not in', READS).execute()
  return [lines, await db.read.selectFrom('event').select('id').execute()]
}

test('every edit form contains its initial values', () => {
  const withField = [...CONSOLE_FORMS].filter(
    ([, { form }]) => INITIAL_VALUES_FIELD in ((form as { properties?: object })?.properties ?? {}),
  )
  assert.deepEqual(withField.map(([path]) => path).sort(), PATHS.toSorted())
  const patching = [...CONSOLE_FORMS.keys()].filter((path) => routeOf(path)?.method === 'PATCH')
  assert.deepEqual(
    patching.filter((path) => !PATHS.includes(path) && !OF_ONE_FIELD.includes(path)),
    [],
  )
  for (const path of OF_ONE_FIELD) assert.ok(CONSOLE_FORMS.has(path), path)
})

onBothEngines(
  'concurrent edits of different fields are both saved, and an unchanged form writes nothing',
  async (world) => {
    const { at, client } = await open(world)
    for (const path of PATHS) {
      const url = at(path)
      const { first, second } = CHANGES[path]!
      const shown = await openForm(client, path, url)
      const [store, lines] = [await digest(world), await linesOf(world)]
      const unchanged = await client.post(url, shown)
      assert.equal(unchanged.status, 303, `${path}: ${unchanged.text.slice(-900)}`)
      assert.equal((await client.get(unchanged.location)).status, 200, `${path}: ${unchanged.location}`)
      assert.ok(!String(unchanged.headers['set-cookie']).includes('berth_done'), `${path}: nothing was saved`)
      assert.deepEqual([await digest(world), await linesOf(world)], [store, lines], path)
      for (const change of [first, second]) {
        const answer = await client.post(url, { ...shown, ...change })
        assert.equal(answer.status, 303, `${path}: ${answer.text.slice(-900)}`)
      }
      const { was: _, ...after } = await openForm(client, path, url)
      const { was: __, ...before } = shown
      assert.deepEqual(after, { ...before, ...first, ...second, ...('password' in before && { password: '' }) }, path)
    }
  },
)

onBothEngines('the line of a change in the audit log names the fields that were changed', async (world) => {
  const client = await openSignedInClient(world)
  const shown = await openForm(client, '/console/account', '/console/account')
  assert.equal((await client.post('/console/account', { ...shown, name: 'Ann' })).status, 303)
  const { call } = world
  await call('POST', '/v10/projects', { name: 'web' })
  const settings = await openForm(client, SETTINGS, '/console/t/admin/projects/web/settings')
  await client.post('/console/t/admin/projects/web/settings', { ...settings, devCommand: 'mine' })
  const lines = world.deps.db.read
    .selectFrom('audit')
    .selectAll()
    .where('type', 'in', ['changeProfile', 'updateProject'])
  const rows = await lines.orderBy('stamp').execute()
  assert.deepEqual(
    rows.map((row) => [row.type, row.fields_json]),
    [
      ['changeProfile', '["name"]'],
      ['updateProject', '["devCommand"]'],
    ],
  )
})

onBothEngines(
  'when two users change the same field the later change wins, and an unchecked box is a change',
  async (world) => {
    const { client, url } = await openSettings(world)
    const shown = await openForm(client, SETTINGS, url)
    assert.equal(shown.autoAssignCustomDomains, 'on')
    const { autoAssignCustomDomains: _, ...off } = shown
    for (const buildCommand of ['one', 'two']) await client.post(url, { ...shown, buildCommand })
    await client.post(url, off)
    const after = await openForm(client, SETTINGS, url)
    assert.deepEqual([after.buildCommand, after.autoAssignCustomDomains], ['two', undefined])
  },
)

onBothEngines(
  'a form that was refused, and one that was saved over a sign-in, keep the initial values',
  async (world) => {
    const { client, url } = await openSettings(world)
    const shown = await openForm(client, SETTINGS, url)
    await client.post(url, { ...shown, buildCommand: 'theirs' })
    const refused = await client.post(url, { ...shown, name: 'Bad Name', devCommand: 'mine' })
    assert.deepEqual([refused.status, wasIn(refused.text, url)], [400, shown.was])
    const kept = await openClient(world).post(url, { form: 'former', ...shown }, { 'sec-fetch-site': 'same-origin' })
    const { fields } = JSON.parse(unescapeText(/name="kept" value="([^"]*)"/.exec(kept.text)![1]!))
    assert.equal(fields.was, shown.was)
    const back = await client.post(url, { ...fields, review: '1' })
    assert.deepEqual([back.status, wasIn(back.text, url)], [422, shown.was])
    assert.equal((await client.post(url, { ...shown, devCommand: 'mine' })).status, 303)
    const after = await openForm(client, SETTINGS, url)
    assert.deepEqual([after.buildCommand, after.devCommand], ['theirs', 'mine'])
    // The other form of the page is as it was.
    const other = `${url}/protection`
    assert.equal(wasIn(refused.text, other), 'passwordFor=&password=&signInFor=')
  },
)

onBothEngines('a form without initial values, or with invalid ones, sends all its fields', async (world) => {
  const { client, url } = await openSettings(world)
  for (const was of [undefined, '', 'x', '%%%&=', 'name=web\u0000']) {
    const { was: _, ...shown } = await openForm(client, SETTINGS, url)
    await client.post(url, { ...shown, buildCommand: 'theirs' })
    const answer = await client.post(url, { ...shown, ...(was !== undefined && { was }) })
    if (was?.includes('\u0000')) assert.equal(answer.status, 400)
    else assert.equal((await openForm(client, SETTINGS, url)).buildCommand, '', String(was))
  }
})

onBothEngines('a forged field grants no permission that the caller does not have', async (world) => {
  const viewer = await world.user('viewer')
  await world.join(viewer, 'VIEWER')
  const owner = await openSignedInClient(world)
  const { slug } = (await world.call('GET', `/v2/teams/${world.credentials.teamId}`)).body as { slug: string }
  const url = `/console/t/${slug}/settings`
  const shown = await openForm(owner, `${T}/settings`, url)
  const client = await openSignedInClient(world, viewer.id, 'viewer')
  await client.get('/console')
  const before = await digest(world)
  for (const was of ['name=x&slug=x&sensitive=on', String(shown.was)])
    assert.equal((await client.post(url, { ...shown, description: 'mine', was })).status, 403)
  assert.equal(await digest(world), before)
})

onBothEngines('the initial values never contain the value of a variable', async (world) => {
  const { at, client } = await open(world)
  const url = at(VARIABLE)
  const { was, ...fields } = await openForm(client, VARIABLE, url)
  assert.equal(fields.value, '')
  for (const first of [{ was: was! }, {}]) {
    const refused = await client.post(url, { ...fields, key: 'not a key', value: 'typed-secret', ...first })
    assert.equal(refused.status, 400)
    assert.equal(wasIn(refused.text, url), was)
  }
})

test('the fields that a browser sends from an untouched form', () => {
  const fields = html`<input type="hidden" name="h" value="&amp; &lt;"><input name="l" value="${'a\nb'}" title="${'x checked'}">
${checkboxField('on', 'On', true)}${checkboxField('off', 'Off', false)}<input type="checkbox" name="named" value="checked">
${checkboxesField(
  'many',
  'Many',
  [
    ['a', 'A'],
    ['b', 'B'],
    ['c', 'C'],
  ],
  { chosen: ['a', 'c'] },
)}${radios(
  'one',
  'One',
  [
    ['x', 'X', ''],
    ['y', 'Y', ''],
  ],
  { value: 'y' },
)}
${select('first', 'First', [
  ['', 'none'],
  ['z', 'Z'],
])}${select(
  'chosen',
  'Chosen',
  [
    ['', 'none'],
    ['z', 'Z'],
  ],
  { value: 'z' },
)}
<select name="words"><option>a &amp; b</option><option selected>c &quot;d&quot;</option></select>
${textAreaField('text', 'Text', { value: '\none\r\ntwo "three" </textarea>' })}<button name="b">B</button><input value="nameless">`
  assert.deepEqual(
    [...new URLSearchParams(initialFormData(fields))],
    [
      ['h', '& <'],
      ['l', 'ab'],
      ['on', 'on'],
      ['many', 'a'],
      ['many', 'c'],
      ['one', 'y'],
      ['first', ''],
      ['chosen', 'z'],
      ['words', 'c "d"'],
      ['text', '\r\none\r\ntwo "three" </textarea>'],
    ],
  )
})

test('keys that belong together are sent together, and initial values that the schema refuses are ignored', () => {
  const body = { a: 1, b: [1], c: 'x' }
  assert.deepEqual(changedKeys({ ...body, a: 2 }, body), { a: 2 })
  assert.deepEqual(changedKeys({ ...body, b: [2] }, body, [['a', 'b']]), { a: 1, b: [2] })
  assert.equal(changedKeys(body, { ...body, d: 1 }, [['a', 'b']]), undefined)
  const form = Type.Object({ name: Type.String({ maxLength: 3 }), many: Type.Optional(Type.Array(Type.String())) })
  assert.deepEqual(initialFields(form, { was: 'name=abc&many=x' }), { name: 'abc', many: ['x'] })
  for (const was of ['name=abcd', 'many=x', 'other=1', '', undefined, ['name=abc']])
    assert.equal(initialFields(form, { was }), undefined)
})
