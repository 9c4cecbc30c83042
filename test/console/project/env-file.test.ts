/** A `.env` text in the console: its plan comes first and names no value, and applying it does what the plan says. docs/console.md. */
import assert from 'node:assert/strict'
import { openSignedInClient } from '../../support/clients/browser-client.ts'
import { onBothEngines, type World } from '../../support/world.ts'

const PATH = '/console/t/admin/projects/web/variables/import'
const TEXT = 'KEPT=same-value-1\r\nCHANGED=new-value-2\r\nADDED="line one\r\nline two"\r\n'

async function open(world: World) {
  const client = await openSignedInClient(world)
  await world.call('POST', '/v10/projects', {
    name: 'web',
    environmentVariables: ['KEPT=same-value-1', 'CHANGED=old-value-3', 'GOES=old-value-4'].map((line) => {
      const [key, value] = line.split('=')
      return { key, value, target: 'preview' }
    }),
  })
  assert.match((await client.get(PATH)).text, /data-turbo="false"/)
  return client
}

/** What a page holds outside of the field into which the text was typed. */
function withoutText(page: string): string {
  return page.replace(/<textarea id="text"[\s\S]*?<\/textarea>/, '')
}

/** What binds a plan that is shown to what is applied. */
function digestIn(page: string): string {
  return /name="planDigest" value="([^"]+)"/.exec(page)![1]!
}

async function valuesOf({ call }: World): Promise<Record<string, string>> {
  return (await call('GET', '/v3/env/pull/web/preview')).body.env
}

onBothEngines('a pasted text is planned, then applied; no value is on the plan but in the field', async (world) => {
  const client = await open(world)
  const before = await valuesOf(world)
  const form = { text: TEXT, target: ['preview'], mode: 'replace', type: 'encrypted' }
  const plan = await client.post(PATH, { ...form, step: 'plan' })
  assert.equal(plan.status, 200, plan.text)
  const told = withoutText(plan.text)
  assert.notEqual(told, plan.text)
  for (const value of ['same-value-1', 'new-value-2', 'old-value-3', 'old-value-4', 'line one'])
    assert.doesNotMatch(told, new RegExp(value))
  assert.doesNotMatch(plan.text, /old-value/, 'values that are there are nowhere in it')
  for (const [title, key] of [
    ['New', 'ADDED'],
    ['Changed', 'CHANGED'],
    ['Removed', 'GOES'],
    ['Unchanged', 'KEPT'],
  ])
    assert.match(
      told,
      new RegExp(`<h2>${title} <span class="soft">1</span></h2>\\s*<ul class="plain"><li><code>${key}<`),
    )
  assert.match(told, /Delete 1, apply 2 changes/)
  assert.deepEqual(await valuesOf(world), before, 'a plan changes nothing')

  const typed = /<textarea id="text"[^>]*>\n([\s\S]*?)<\/textarea>/.exec(plan.text)![1]!.replaceAll('&quot;', '"')
  const applied = await client.post(PATH, { ...form, text: typed, step: 'apply', planDigest: digestIn(plan.text) })
  assert.deepEqual([applied.status, applied.location], [303, '/console/t/admin/projects/web/variables'], applied.text)
  assert.deepEqual(await valuesOf(world), {
    ADDED: 'line one\nline two',
    CHANGED: 'new-value-2',
    KEPT: 'same-value-1',
  })
  const { entries } = (await world.operator('GET', '/operator/v1/audit?limit=100')).body
  assert.deepEqual(
    entries.map(({ type }) => type).filter((type) => type.endsWith('ProjectEnvFile')),
    ['putProjectEnvFile', 'previewProjectEnvFile'],
    'a plan is not an import',
  )
})

onBothEngines(
  'only the reviewed plan is applied: once another user changed one of its variables, the new plan is shown',
  async (world) => {
    const client = await open(world)
    const form = { text: TEXT, target: ['preview'], mode: 'merge', type: 'encrypted' }
    const first = digestIn((await client.post(PATH, { ...form, step: 'plan' })).text)
    await world.call('POST', '/v10/projects/web/env', { key: 'ADDED', value: 'of-others-5', target: ['preview'] })
    const before = await valuesOf(world)
    const refused = await client.post(PATH, { ...form, step: 'apply', planDigest: first })
    assert.equal(refused.status, 409, refused.text)
    assert.match(refused.text, /role="alert"[^>]*>[\s\S]*?The variables were changed after this plan was made/)
    assert.match(refused.text, /<h2>Changed <span class="soft">2</)
    assert.doesNotMatch(refused.text, /of-others-5/)
    assert.deepEqual(await valuesOf(world), before)
    const applied = await client.post(PATH, { ...form, step: 'apply', planDigest: digestIn(refused.text) })
    assert.equal(applied.status, 303, applied.text)
    // The same form once more: it was applied, and now nothing of it would change.
    const twice = await client.post(PATH, { ...form, step: 'apply', planDigest: digestIn(refused.text) })
    assert.equal(twice.status, 409)
    assert.match(twice.text, /No changes/)
    // Without a plan that was shown nothing is applied.
    const unseen = await client.post(PATH, { ...form, text: 'UNSEEN=1', step: 'apply' })
    assert.match(unseen.text, /<h1>Review changes<\/h1>/)
    assert.equal((await valuesOf(world)).UNSEEN, undefined)
  },
)

onBothEngines(
  'a block in the form of one variable is planned for the environments that are chosen there',
  async (world) => {
    const client = await open(world)
    const NEW = PATH.replace('import', 'new')
    const page = (await client.get(NEW)).text
    const chosen = (text: string) => [...text.matchAll(/name="target" value="(\w+)" checked/g)].map(([, one]) => one)
    assert.deepEqual(chosen(page), ['production', 'preview', 'development'])
    assert.deepEqual(chosen((await client.get(PATH)).text), chosen(page), 'the same where a block is pasted')
    assert.doesNotMatch(page, /name="key"[^>]* required/, 'a block has no key of its own')

    const form = { target: ['preview'], type: 'plain' }
    const inKey = await client.post(NEW, { ...form, key: 'ALONE=typed-value-6', value: '' })
    assert.match(inKey.text, /<h1>Review changes<\/h1>[\s\S]*<li><code>ALONE</)
    assert.doesNotMatch(withoutText(inKey.text), /typed-value-6/)
    const inValue = await client.post(NEW, { ...form, key: ' ', value: TEXT })
    assert.match(inValue.text, /<h2>New <span class="soft">1</)
    assert.deepEqual(chosen(inValue.text), ['preview'])
    assert.match(inValue.text, /<option value="plain" selected>/)
    const [, action] = /<form class="card[^>]* action="([^"]+)"/.exec(inValue.text)!
    assert.equal(action, PATH)
    const digest = { planDigest: digestIn(inValue.text), mode: 'merge', step: 'apply' }
    assert.equal((await client.post(action!, { ...form, ...digest, text: TEXT })).status, 303)
    assert.equal((await valuesOf(world)).ADDED, 'line one\nline two')

    const unreadable = await client.post(NEW, { ...form, key: '', value: 'GOOD=1\nnot a line' })
    assert.match(unreadable.text, /<h1>Paste a \.env file<\/h1>[\s\S]*<li>Line 2 [\s\S]*GOOD=1\nnot a line<\/textarea>/)
    const both = await client.post(NEW, { ...form, key: 'A=1', value: 'x' })
    assert.match(
      both.text,
      /<h1>Add variable<\/h1>[\s\S]*id="key-fault"/,
      'a key with a value of its own is one variable',
    )
    const empty = await client.post(NEW, { ...form, key: '', value: 'no pair' })
    assert.match(empty.text, /<h1>Add variable<\/h1>[\s\S]*id="key-fault"/)
  },
)

onBothEngines('unreadable lines are reported by number, and the pasted text is kept', async (world) => {
  const client = await open(world)
  const text = 'GOOD=1\r\nnot a line\r\n2BAD=x\r\nOPEN="never closed'
  const refused = await client.post(PATH, { text, target: ['preview'], mode: 'merge', type: 'plain', step: 'plan' })
  assert.equal(refused.status, 400)
  assert.match(refused.text, /3 lines are invalid\. Nothing was changed\./)
  assert.equal(refused.text.split('role="alert"').length, 2, 'it is said once')
  for (const line of [2, 3, 4]) assert.match(refused.text, new RegExp(`<li>Line ${line} `))
  assert.match(refused.text, /GOOD=1\r\nnot a line\r\n2BAD=x\r\nOPEN=&quot;never closed<\/textarea>/)
  assert.match(refused.text, /name="target" value="preview" checked/)
  assert.doesNotMatch(refused.text, /name="target" value="development" checked/)
  assert.match(refused.text, /<option value="plain" selected>/)

  const nowhere = await client.post(PATH, { text: 'A=1', mode: 'merge', type: 'encrypted', step: 'apply' })
  assert.equal(nowhere.status, 400)
  assert.match(nowhere.text, /A=1<\/textarea>/)
  assert.match(nowhere.text, /id="target-fault"/)
})

onBothEngines('a text of a mebibyte passes, and one that the route does not take is refused', async (world) => {
  const client = await open(world)
  const comment = `# ${'"'.repeat(1000)}\n`
  const fits = comment.repeat(Math.floor((1024 * 1024 - 10) / comment.length))
  const form = { target: ['preview'], mode: 'merge', type: 'encrypted', step: 'apply' }
  const plan = await client.post(PATH, { ...form, text: `${fits}A=1\n` })
  assert.equal(plan.status, 200)
  const planDigest = digestIn(plan.text)
  assert.equal((await client.post(PATH, { ...form, text: `${fits}A=1\n`, planDigest })).status, 303)
  assert.equal((await client.post(PATH, { ...form, text: `${fits}${comment}A=1\n` })).status, 413)
})

onBothEngines('a user who cannot write production is refused its plan', async (world) => {
  const guest = await world.user('guest')
  await world.join(guest, 'DEVELOPER')
  const client = await openSignedInClient(world, guest.id, 'guest')
  await world.call('POST', `/v10/projects?teamId=${world.credentials.teamId}`, { name: 'web' })
  const { slug } = (await world.call('GET', `/v2/teams/${world.credentials.teamId}`)).body as { slug: string }
  const path = `/console/t/${slug}/projects/web/variables/import`
  await client.get(path)
  const form = { text: 'A=1', mode: 'merge', type: 'encrypted', step: 'plan' }
  assert.equal((await client.post(path, { ...form, target: ['production'] })).status, 403)
  assert.equal((await client.post(path, { ...form, target: ['preview'] })).status, 200)
})

onBothEngines(
  'a comment that was typed with a pasted block is shown again, and said not to be saved',
  async (world) => {
    const client = await open(world)
    const block = { key: '', value: 'NEW=1\nOTHER=2', target: ['preview'], type: 'encrypted' }
    const variables = PATH.replace(/import$/, 'new')
    const plan = await client.post(variables, { ...block, comment: 'why <it> is' })
    assert.match(plan.text, /<h1>Review changes<\/h1>/)
    const said = /A block has no comment, so yours is not saved: “why &lt;it&gt; is”/
    assert.match(plan.text, said)
    assert.match(plan.text, /<input type="hidden" name="comment" value="why &lt;it&gt; is">/)
    const wrong = await client.post(variables, { ...block, value: 'NEW=1\nno line', comment: 'why <it> is' })
    assert.match(wrong.text, said)
    const none = await client.post(variables, { ...block, comment: '' })
    assert.doesNotMatch(none.text, /A block has no comment/)
  },
)
