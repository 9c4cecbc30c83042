/** The pages of the operator: who may see them, and what is done by them. docs/console.md: Operator. */
import assert from 'node:assert/strict'
import { chmodSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import { after } from 'node:test'
import { operatorScreens } from '../../../src/console/operator/screens.ts'
import { DELIVERY_STATES } from '../../../src/console/webhooks/deliveries.ts'
import { openClient, openSignedInClient, PASSWORD, pathOf, seedPassword } from '../../support/clients/browser-client.ts'
import { setUpCodes } from '../../support/clients/second-factor.ts'
import { eventually } from '../../support/eventually.ts'
import { readQueuedMail } from '../../support/queued-mail.ts'
import { startDnsServer } from '../../support/servers/dns-server.ts'
import { endDeliveries, tamper } from '../../support/states.ts'
import { onBothEngines } from '../../support/world.ts'
import { seedInstallation, seedIntegration } from '../../support/worlds/integration-world.ts'

const ROOT = '/console/operator'
const LISTS = operatorScreens.filter(({ method, path }) => method === 'GET' && !/:|\/export$/.test(path))

onBothEngines(
  'every page of the operator exists for an operator who gave a password recently, and for no other user',
  async (world) => {
    const ada = await world.user('ada')
    const [operator, person] = [await openSignedInClient(world), await openSignedInClient(world, ada.id, 'ada')]
    assert.ok(LISTS.length >= 13, `${LISTS.length}`)
    for (const { path } of LISTS) {
      const shown = await operator.get(path)
      assert.equal(shown.status, 200, `${path}: ${shown.text}`)
      assert.match(shown.text, /aria-current="page"/, path)
      const refused = await person.get(path)
      assert.equal(refused.status, 403, path)
      assert.match(refused.text, /<p role="alert">Only an operator of this service can see or do this\.<\/p>/, path)
      assert.doesNotMatch(refused.text, /href="\/console\/operator/, path)
      assert.match((await openClient(world).get(path)).location, /^\/sign-in\?return=/)
    }
    const { text } = await operator.get(ROOT)
    assert.ok(text.includes(`<span>${world.engine === 'sqlite' ? 'embedded SQLite' : 'PostgreSQL'}</span>`))
    world.deps.clock.set(world.deps.clock.now() + 3_600_000)
    for (const { path } of LISTS)
      assert.equal((await operator.get(path)).location, `/confirm?return=${encodeURIComponent(path)}`)
  },
)

onBothEngines('an operator invites a user, who sets a password, and suspends and reinstates them', async (world) => {
  const client = await openSignedInClient(world)
  await client.get(`${ROOT}/people/invite`)
  const invite = { email: 'Ada@Example.com', username: 'ada', name: 'Ada & co' }
  const refused = await client.post(`${ROOT}/people/invite`, { ...invite, username: 'No Name' })
  assert.equal(refused.status, 400)
  assert.match(refused.text, /value="No Name"/)
  const invited = await client.post(`${ROOT}/people/invite`, invite)
  assert.equal(invited.status, 200, invited.text)
  const [link] = /https?:\/\/[^<]*\/set-password\?link=\w+/.exec(invited.text) ?? assert.fail(invited.text)
  const mailed = await world.deps.db.read.selectFrom('mail').select('recipient').execute()
  assert.deepEqual(mailed.map(({ recipient }) => recipient).sort(), ['ada@example.com', 'admin@berth.localhost'])
  const ada = openClient(world)
  await ada.get(pathOf(link))
  assert.equal((await ada.post(pathOf(link), { password: PASSWORD, again: PASSWORD })).location, '/console')
  const found = await client.get(`${ROOT}/people?search=ADA`)
  assert.match(found.text, /Ada &amp; co/)
  assert.doesNotMatch(found.text, />admin</)
  const path = /\/console\/operator\/people\/usr_\w+/.exec(found.text)![0]
  assert.match((await client.get(path)).text, /<h2>Suspend<\/h2>/)
  assert.equal((await client.post(`${path}/suspended`, { suspended: 'true' })).location, path)
  assert.equal((await ada.get('/console')).location, '/sign-in?return=%2Fconsole', 'the session ended at once')
  assert.match((await client.get(path)).text, /<h2>Reinstate<\/h2>/)
  assert.equal((await client.post(`${path}/suspended`)).location, path)
  assert.match((await client.get(path)).text, /<h2>Suspend<\/h2>/)
  assert.equal((await client.post(`${path}/operator`, { operator: 'true' })).location, path)
  await ada.get('/sign-in')
  await ada.post('/sign-in', { name: 'ada', password: PASSWORD })
  assert.equal((await ada.get(ROOT)).status, 200)
  assert.equal((await client.get(`${ROOT}/people/usr_unknown`)).status, 404)
  const { entries } = (await world.operator('GET', '/operator/v1/audit')).body
  const line = entries.find(({ type }: { type: string }) => type === 'operatorUpdateUser')!
  assert.equal(line.actor.id, world.credentials.userId, 'the log names the user')
})

onBothEngines(
  'an operator removes lost second factors of a user: the sessions of the user end, and they get an email',
  async (world) => {
    const ada = await world.user('ada')
    const theirs = await openSignedInClient(world, ada.id, 'ada')
    const operator = await openSignedInClient(world)
    const path = `${ROOT}/people/${ada.id}`
    assert.match((await operator.get(path)).text, /None\. Password only/)
    await setUpCodes(world, theirs)
    const shown = await operator.get(path)
    assert.match(shown.text, /Set up: one-time codes\./)
    assert.match(
      shown.text,
      /Check that the request comes from <strong>ada<\/strong>[\s\S]*<details class="twice" id="[^"]+">/,
    )
    // Neither a user without the operator role, nor an operator who must sign in again, can remove them.
    await theirs.get('/invitations')
    assert.equal((await theirs.post(`${path}/second-factors`)).status, 403)
    assert.match((await theirs.get('/invitations')).text, /Invitations/)
    await operator.get(path)
    assert.equal((await operator.post(`${path}/second-factors`)).location, path)
    assert.match((await operator.get(path)).text, /None\. Password only/)
    assert.equal((await theirs.get('/invitations')).location, '/sign-in?return=%2Finvitations', 'the session has ended')
    const letter = (await readQueuedMail(world)).find(({ subject }) => subject === 'Your second factors were removed')!
    assert.deepEqual([letter.recipient, /signed out everywhere/.test(letter.body_text)], ['ada@example.com', true])
    const { entries } = (await world.operator('GET', '/operator/v1/audit?type=operatorRemoveSecondFactors')).body
    assert.deepEqual(
      entries.map(({ actor, subjectId }: { actor: { id: string }; subjectId: string }) => [actor.id, subjectId]),
      [[world.credentials.userId, ada.id]],
    )
    // Nothing changes for a user without a second factor: their session continues.
    await theirs.get('/sign-in')
    assert.equal((await theirs.post('/sign-in', { name: 'ada', password: PASSWORD })).status, 303)
    assert.equal((await operator.post(`${path}/second-factors`)).location, path)
    assert.equal((await theirs.get('/invitations')).status, 200)
    world.deps.clock.set(world.deps.clock.now() + 3_600_000)
    assert.match((await operator.post(`${path}/second-factors`)).text, /Confirm that it is you/)
  },
)

onBothEngines('the page of a user says where each session signed in, as their own page does', async (world) => {
  const ada = await world.user('ada')
  await seedPassword(world, ada.id)
  const theirs = openClient(world)
  const agent = 'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0'
  await theirs.get('/sign-in')
  await theirs.post('/sign-in', { name: 'ada', password: PASSWORD }, { 'user-agent': agent })
  const other = openClient(world)
  await other.get('/sign-in')
  await other.post('/sign-in', { name: 'ada', password: PASSWORD }, { 'user-agent': '<b>' })
  const { sessions } = (await world.operator('GET', `/operator/v1/users/${ada.id}`)).body
  assert.deepEqual(sessions.map(({ agent, address }) => [agent, address]).toSorted(), [
    ['<b>', '127.0.0.1'],
    [agent, '127.0.0.1'],
  ])
  const operator = await openSignedInClient(world)
  const { text } = await operator.get(`${ROOT}/people/${ada.id}`)
  for (const browser of ['Firefox on Linux', '&lt;b&gt;'])
    assert.match(
      text,
      new RegExp(`data-label="Browser">${browser}</td><td data-label="IP address">127\\.0\\.0\\.1</td>`),
    )
  await tamper(world, 'session', { agent: null, address: null }, { user_id: ada.id })
  const old = (await operator.get(`${ROOT}/people/${ada.id}`)).text
  assert.match(old, /data-label="Browser">Unknown browser<[^>]*>.*Not recorded/)
})

onBothEngines('an operator signs a user out of all browsers, and tokens keep working', async (world) => {
  const ada = await world.user('ada')
  const theirs = await openSignedInClient(world, ada.id, 'ada')
  const operator = await openSignedInClient(world)
  const path = `${ROOT}/people/${ada.id}`
  assert.match((await operator.get(path)).text, /aria-label="Sessions"[\s\S]*Sign out everywhere/)
  await theirs.get('/invitations')
  assert.equal((await theirs.post(`${path}/sessions/end`)).status, 403)
  await operator.get(path)
  const ended = await operator.post(`${path}/sessions/end`)
  assert.deepEqual([ended.status, ended.location], [303, path], ended.text)
  const after = (await operator.get(path)).text
  assert.match(after, /Signed out everywhere\.[\s\S]*Not signed in anywhere\./)
  assert.doesNotMatch(after, /\/sessions\/end"/)
  assert.equal((await theirs.get('/invitations')).location, '/sign-in?return=%2Finvitations')
  assert.equal((await ada.call('GET', '/v2/user')).status, 200)
  const { entries } = (await world.operator('GET', '/operator/v1/audit?type=operatorEndSessions')).body
  assert.deepEqual(
    entries.map(({ actor, subjectId }: { actor: { id: string }; subjectId: string }) => [actor.id, subjectId]),
    [[world.credentials.userId, ada.id]],
  )
})

onBothEngines(
  'a team is created and its plan set; a token revoked; a key rotated and retired; a timer run; an integration deleted',
  async (world) => {
    const client = await openSignedInClient(world)
    await client.get(`${ROOT}/teams/new`)
    assert.equal(
      (await client.post(`${ROOT}/teams/new`, { slug: 'acme', name: 'Acme', ownerId: 'nobody' })).status,
      400,
    )
    const made = await client.post(`${ROOT}/teams/new`, { slug: 'acme', name: 'Acme', ownerId: 'admin' })
    assert.match(made.location, /\/teams\/team_/, made.text)
    await client.get(made.location)
    assert.equal((await client.post(`${made.location}/plan`, { plan: 'gold' })).status, 400)
    assert.equal(
      (await client.post(`${made.location}/plan`, { plan: 'enterprise', softBlocked: 'true' })).location,
      made.location,
    )
    const team = (await client.get(made.location)).text
    assert.match(team, /<option selected>enterprise/)
    assert.match(team, /name="softBlocked" value="true" checked/)
    assert.doesNotMatch(team, /name="paymentMissing" value="true" checked/)

    const token = (
      await world.operator('POST', '/operator/v1/tokens', { userId: world.credentials.userId, name: 'to end' })
    ).body
    const tokens = await client.get(`${ROOT}/tokens?search=to+end`)
    assert.match(tokens.text, /to end/)
    assert.ok(!tokens.text.includes(token.token))
    const revoked = await client.post(`${ROOT}/tokens/${token.id}/end`, { search: 'ada & co' })
    assert.equal(revoked.location, `${ROOT}/tokens?search=ada+%26+co`)
    assert.equal((await world.as(token.token).try('GET', '/v2/user')).status, 401)
    assert.equal((await client.post(`${ROOT}/tokens/${token.id}/end`)).status, 404)

    await world.call('POST', '/v10/projects', {
      name: 'web',
      environmentVariables: [{ key: 'A', value: 'a', target: 'production' }],
    })
    const before = (await world.operator('GET', '/operator/v1/keys')).body.activeKeyId
    assert.equal((await client.post(`${ROOT}/keys/rotate`)).location, `${ROOT}/keys`)
    assert.notEqual((await world.operator('GET', '/operator/v1/keys')).body.activeKeyId, before)
    assert.match((await client.get(`${ROOT}/keys`)).text, new RegExp(`${before}/retire`))
    assert.equal((await client.post(`${ROOT}/keys/${before}/retire`)).status, 303)

    const timer = async (name: string) =>
      new RegExp(`<tr[^>]*><td[^>]*>${name}</td>[^]*?</tr>`).exec((await client.get(`${ROOT}/timers`)).text)![0]
    assert.match(await timer('store-size'), /<td[^>]*>never<\/td><td[^>]*>0<\/td>\s*<td[^>]*>0<\/td>/)
    assert.equal((await client.post(`${ROOT}/timers/store-size/run`)).location, `${ROOT}/timers`)
    assert.doesNotMatch(await timer('store-size'), /never/)
    assert.equal((await client.post(`${ROOT}/timers/no-such/run`)).status, 404)
    assert.equal((await world.call.try('GET', '/v9/projects/nobody')).status, 404)
    const overview = (await client.get(ROOT)).text
    assert.match(overview, /<dt>Database<\/dt><dd class="big">[\d.]+ [KM]iB<\/dd><dd><\/dd>/, 'one day has no line')
    assert.match(overview, /<dt>Variable versions<\/dt><dd>1<\/dd>/)
    assert.match(overview, /<td[^>]*>not found<\/td>[\s\S]*?<td[^>]*>\d+<\/td>/)
    const { history, refusals } = (await world.operator('GET', '/operator/v1/statistics')).body
    assert.ok(history.auditLines > 5 && history.events > 0, JSON.stringify(history))
    assert.equal(history.variableVersions, 1)
    assert.ok(
      refusals.some(({ key, count }) => key === 'not_found' && count >= 1),
      JSON.stringify(refusals),
    )

    const app = await seedIntegration(world, { slug: 'sentinel', name: 'Sentinel' })
    assert.match((await client.get(`${ROOT}/integrations`)).text, /Sentinel/)
    assert.equal((await client.post(`${ROOT}/integrations/${app.id}/delete`)).status, 303)
    assert.match((await client.get(`${ROOT}/integrations`)).text, /No integrations registered/)
  },
)

onBothEngines('a failed delivery is found and resent, and the overview shows it', async (world) => {
  const client = await openSignedInClient(world)
  await world.call('POST', '/v1/webhooks', { url: 'https://hooks.example.com', events: ['project.created'] })
  for (const name of ['one', 'two', 'three']) await world.call('POST', '/v10/projects', { name })
  await endDeliveries(world, 'failed')
  assert.match((await client.get(`${ROOT}/deliveries?status=delivered`)).text, /No deliveries match/)
  const list = await client.get(`${ROOT}/deliveries?status=failed`)
  const ids = [...list.text.matchAll(/deliveries\/(dlv_\w+)\/replay/g)].map(([, id]) => id)
  assert.equal(ids.length, 3)
  const [, filters] = /<nav class="seg" aria-label="Status">(.*?)<\/nav>/.exec(list.text)!
  const links = [...filters!.matchAll(/href="([^"]*)"( aria-current="page")?>([^<]*)</g)]
  const states = Object.entries(DELIVERY_STATES).map(([status, [, word]]) => [`?status=${status}`, word])
  assert.deepEqual(
    links.map(([, href, current, word]) => [href, word, current !== undefined]),
    [['', 'All'], ...states].map(([query, word]) => [`${ROOT}/deliveries${query}`, word, query === '?status=failed']),
  )
  assert.equal((await client.post(`${ROOT}/deliveries/${ids[0]}/replay`)).status, 303)
  const overview = (await client.get(ROOT)).text
  assert.match(
    overview,
    /<dt>Deliveries, 24 h<\/dt><dd class="big"><a[^>]*>3<\/a><\/dd>\s*<dd[^>]*><span[^>]*>2 failed</,
  )
  assert.doesNotMatch(overview, /<svg class="chart|<figure/, 'one hour is a number, and not a drawing')
})

onBothEngines('the audit log is filtered, and its chain is checked', async (world) => {
  const client = await openSignedInClient(world)
  await world.call('POST', '/v10/projects', { name: 'web' })
  await world.operator('POST', '/operator/v1/timers/audit-chain/run', {})
  const found = (await client.get(`${ROOT}/audit?type=createProject`)).text
  assert.match(found, /created the project <span title="prj_\w+">web<\/span>/)
  assert.match(found, /href="\/console\/operator\/people\/[^"]+" title="usr_\w+">admin</, 'who did it, by name')
  assert.match(found, /title="prj_\w+">web</, 'on what, by name')
  assert.doesNotMatch(found, /<td[^>]*>setPassword/)
  const whole = (await client.get(`${ROOT}/audit/verify`)).text
  assert.match(whole, /The chain is intact/)
  const head = /<code>(\d+\.[\w-]+)<\/code>/.exec(whole)![1]!
  assert.match((await client.get(`${ROOT}/audit/verify?head=${head}`)).text, /The chain is intact/)
  await tamper(world, 'audit', { type: 'other' }, { type: 'createProject' })
  assert.match((await client.get(`${ROOT}/audit/verify`)).text, /The chain is broken/)
})

onBothEngines('a backup is created and listed, one at a time', async (world) => {
  const client = await openSignedInClient(world)
  assert.match((await client.get(`${ROOT}/backups`)).text, /No backups yet/)
  const begun = await Promise.all([1, 2, 3].map(() => client.post(`${ROOT}/backups`)))
  assert.deepEqual(begun.map(({ status }) => status).sort(), [303, 409, 409])
  let page = ''
  await eventually(async () => {
    page = (await client.get(`${ROOT}/backups`)).text
    return /berth-[\w.-]+\.db/.test(page)
  })
  assert.match(page, /berth-[\w.-]+\.db/)
  assert.doesNotMatch(page, /could not be made/)
  // The file exists shortly before the run ends.
  await eventually(async () => (await world.operator('GET', '/operator/v1/backups')).body.runningSince === null)
  const { body } = await world.operator('GET', '/operator/v1/backups')
  assert.equal(body.backups.length, 1)
  assert.ok(body.backups[0].rows > 0 && body.backups[0].bytes > 0)
  assert.deepEqual([body.runningSince, body.failed], [null, null])
})

const resolver = await startDnsServer()
after(() => resolver.close())

onBothEngines(
  'the page of the checks shows the number of warnings, where nothing is wrong',
  async (world) => {
    // A test's store is a copy that others may read.
    const store = join(world.folder, 'berth.db')
    if (existsSync(store)) chmodSync(store, 0o600)
    const page = (await (await openSignedInClient(world)).get(`${ROOT}/health/checks`)).text
    const { findings } = (await world.operator('GET', '/operator/v1/health')).body
    const worries = findings.filter(({ is }: { is: string }) => is === 'worry').length
    assert.ok(worries > 1, 'no backup was ever made')
    assert.ok(
      findings.every(({ is }: { is: string }) => is !== 'wrong'),
      JSON.stringify(findings),
    )
    const state = new RegExp(
      `<turbo-frame id="health-open"><p><span class="state warn"><svg.*?</svg>${worries} warnings</span></p>\\s*<ul`,
    )
    assert.match(page, state)
    const [open = '', inOrder = ''] = page.split('<details><summary>')
    assert.equal(open.match(/state warn"><svg[^\n]*?<\/svg>Warning</g)?.length, worries)
    assert.doesNotMatch(open, /state good/)
    assert.ok(inOrder.startsWith(`${findings.length - worries} checks passed</summary>`), inOrder)
    assert.equal(inOrder.match(/state good"><svg[^\n]*?<\/svg>OK</g)?.length, findings.length - worries)
  },
  { BERTH_DNS_SERVERS: resolver.address },
)

onBothEngines(
  'the overview and the health page wait for no check: a frame loads them, and without script there is a link',
  async (world) => {
    const client = await openSignedInClient(world)
    const checks = `${ROOT}/health/checks`
    const overview = (await client.get(ROOT)).text
    assert.ok(overview.includes(`<turbo-frame id="health-open" src="${checks}">`), overview)
    assert.match(overview, new RegExp(`<a class="btn quiet small" href="${ROOT}/health">All checks<svg`))
    assert.ok(overview.indexOf('health-open') < overview.indexOf('Retained history'), 'what is wrong comes first')
    const health = (await client.get(`${ROOT}/health`)).text
    const link = `<a class="btn primary" href="${checks}">Run checks</a>`
    assert.ok(health.includes(`<turbo-frame id="health-checks" src="${checks}"><p>${link}</p></turbo-frame>`))
    const made = (await client.get(checks)).text
    for (const id of ['health-checks', 'health-open']) assert.ok(made.includes(`<turbo-frame id="${id}">`), id)
    const asks = (path: string) => operatorScreens.find((screen) => screen.path === path)!.calls
    assert.deepEqual([asks(ROOT), asks(`${ROOT}/health`)], [['operatorGetStatistics', 'operatorGetSetup'], []])
  },
)

onBothEngines('a token of an installation is shown with its permissions, owner and projects', async (world) => {
  const app = await seedIntegration(world, { scopes: ['read:project', 'read-write:domain'] })
  const { installationId } = await seedInstallation(world, { app })
  const text = (await (await openSignedInClient(world)).get(`${ROOT}/tokens`)).text
  const row = text.split(/<tr(?=[ >])/).find((one) => one.includes(installationId))!
  assert.match(row, /, installed on <a href="\/console\/operator\/(teams|people)\/\w+">\w+<\/a>/)
  const [, permissions] = /data-label="Permissions">([^<]*)</.exec(row)!
  assert.deepEqual(permissions!.split(', ').sort(), ['read-write:domain', 'read:project'])
})

onBothEngines('the page of the checks shows the findings of the doctor', async (world) => {
  const client = await openSignedInClient(world)
  const page = (await client.get(`${ROOT}/health/checks`)).text
  const { well, findings } = (await world.operator('GET', '/operator/v1/health')).body
  assert.equal(well, false, 'the resolver of this test does not respond')
  for (const { about } of findings) assert.ok(page.toLowerCase().includes(about.toLowerCase()), about)
  assert.match(page, /Errors found/)
  assert.match(page, /<b>Mail<\/b>[\s\S]*<p>Emails are written to [^<]* and not sent\.<\/p>/)
  assert.match(
    page,
    /<b>Backups<\/b>[\s\S]*<a class="btn small" href="\/console\/operator\/backups" data-turbo-frame="_top">/,
  )
})

onBothEngines(
  'a user and a team are deleted once their name is typed, with all resources where the box is ticked',
  async (world) => {
    const client = await openSignedInClient(world)
    const ada = await world.user('ada')
    await ada.call('POST', '/v10/projects', { name: 'hers' })
    const pathOfAda = `${ROOT}/people/${ada.id}`
    assert.match((await client.get(pathOfAda)).text, /Type ada to confirm/)
    const typed = { called: 'ada', typed: 'ada' }
    for (const [fields, status] of [
      [{ ...typed, typed: 'Ada' }, 400],
      [{ force: 'on' }, 400],
      [{ called: '', typed: '', force: 'on' }, 400],
      // She has a project.
      [typed, 409],
    ] as const) {
      const refused = await client.post(`${pathOfAda}/remove`, fields)
      assert.equal(refused.status, status, refused.text)
      assert.match(refused.text, /role="alert"/)
      assert.equal((await client.get(pathOfAda)).status, 200, 'she is still there')
    }
    assert.equal((await client.post(`${pathOfAda}/remove`, { ...typed, force: 'on' })).location, `${ROOT}/people`)
    assert.equal((await client.get(pathOfAda)).status, 404)
    const { teamId } = world.credentials
    const removal = { called: 'team', typed: 'team' }
    assert.equal((await client.post(`${ROOT}/teams/${teamId}/remove`, removal)).location, `${ROOT}/teams`)
    assert.doesNotMatch((await client.get(`${ROOT}/teams`)).text, new RegExp(teamId))
  },
)
