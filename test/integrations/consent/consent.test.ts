/** Consent: who may give it, to what, for which projects, and what the integration gets. */
import assert from 'node:assert/strict'
import { type Client, openClient, openSignedInClient, PASSWORD } from '../../support/clients/browser-client.ts'
import { seedProject } from '../../support/projects.ts'
import { readQueuedMail } from '../../support/queued-mail.ts'
import { addRows, disableInstallation, nameAccounts } from '../../support/states.ts'
import { onBothEngines, type World } from '../../support/world.ts'

const REDIRECT = 'https://app.example/callback'
const SCOPES = ['read-write:project', 'read:domain']
const HOSTILE = [
  '<script>alert(1)</script>',
  '"><img src=x onerror=alert(1)>',
  "' autofocus onfocus=alert(1) x='",
  '</title></style></main><svg/onload=alert(1)>',
  '&lt;b&gt;&amp;',
  '{{7*7}}',
  'javascript:alert(1)',
  '\u202egnp.exe',
  'line\r\nSet-Cookie: x=y',
  '<!--',
]

const TAGS =
  /^(html|head|meta|title|style|body|header|a|form|input|span|button|main|div|h[123]|p|strong|small|bdi|ul|li|fieldset|legend|label|details|summary|section|link|svg|path|circle|b)$/
const ATTRIBUTES =
  /^(lang|charset|name|content|class|href|method|action|type|value|id|tabindex|autofocus|checked|disabled|hidden|role|for|maxlength|minlength|autocomplete|autocapitalize|spellcheck|required|aria-[a-z]+|rel|as|crossorigin|data-turbo-track|media|viewBox|d|fill|fill-rule|preserveAspectRatio)$/

/** Every tag of a page is one of ours with attributes of ours, and every link points to this service. */
function onlyOurs(text: string): void {
  for (const [tag] of text.replace(/^<!doctype html>/, '').matchAll(/<[^>]*>?/g)) {
    const [, name, attributes] =
      /^<\/?([a-z]+[123]?)((?: [a-zA-Z-]+(?:="[^"<>]*")?)*) ?\/?>$/.exec(tag) ?? assert.fail(tag)
    assert.match(name!, TAGS, tag)
    for (const [, attribute, value = ''] of attributes!.matchAll(/ ([a-zA-Z-]+)(?:="([^"]*)")?/g)) {
      assert.match(attribute!, ATTRIBUTES, tag)
      if (attribute === 'href' || attribute === 'action') assert.match(value, /^(\/[^/\\]|#)/, tag)
    }
  }
}

type Wanted = {
  slug?: string
  name?: string
  redirectUrl?: string
  scopes?: string[]
  logoUrl?: string | null
  teamId?: string
}

/** An integration as the store has it; names that the operator API would refuse are stored anyway. */
async function integration(world: World, wanted: Wanted = {}): Promise<string> {
  const id = `oac_${Math.random().toString(36).slice(2)}`
  const row = {
    id,
    team_id: wanted.teamId ?? world.credentials.teamId,
    slug: wanted.slug ?? 'app',
    name: wanted.name ?? 'App',
    redirect_url: wanted.redirectUrl ?? REDIRECT,
    logo_url: wanted.logoUrl ?? null,
    scopes_json: JSON.stringify(wanted.scopes ?? SCOPES),
    created_stamp: world.deps.clock.stamp(),
    updated_at: 0,
  }
  await addRows(world, 'integration', [row])
  return id
}

/** A project as the store has it, also with a name that a request would be refused for. */
function projectRow({ deps }: World, id: string, name: string, account_id: string) {
  const updated_stamp = deps.clock.stamp()
  return { id, name, account_id, git_fork_protection: 1, settings_json: '{}', created_at: 0, updated_stamp }
}

const approve = (more: object = {}) => ({ decision: 'approve', selection: 'all', scope: SCOPES, ...more })
const configurations = (world: World) => world.deps.db.read.selectFrom('configuration').selectAll().execute()
const told = (location: string) => Object.fromEntries(new URL(location).searchParams)
const encoded = (text: string) => encodeURIComponent(text)

/** An owner of nothing but the personal account. */
async function person(world: World, name: string): Promise<{ id: string; client: Client; call: World['call'] }> {
  const user = await world.user(name)
  return { id: user.id, client: await openSignedInClient(world, user.id, name), call: user.call }
}

onBothEngines(
  'after the approval the browser is sent back with a code, the installation and the given parameters',
  async (world) => {
    await integration(world, { redirectUrl: `${REDIRECT}?kept=1%202&b=` })
    const { id, client } = await person(world, 'anna')
    for (const state of ['plain', 'a b+c%20d', 'line\nbreak\r\n', '=&?#/\\"\'<>', '🚢 ünïcode', 'x'.repeat(2000)]) {
      const url = `/integrations/app/new?state=${encoded(state)}&next=${encoded(`https://app.example/?s=${state.slice(0, 50)}`)}`
      assert.equal((await client.get(url)).status, 200)
      const form =
        /<form method="post" action="(\/integrations\/app\/new[^"]*)"/.exec((await client.get(url)).text)?.[1] ?? ''
      const answer = await client.post(form.replaceAll('&amp;', '&').replaceAll('&#39;', "'"), approve())
      assert.equal(answer.status, 303, answer.text)
      assert.ok(answer.location.startsWith(`${REDIRECT}?kept=1%202&b=&code=`), answer.location)
      const { code, configurationId, ...rest } = told(answer.location)
      assert.ok(code && configurationId)
      const expected = {
        kept: '1 2',
        b: '',
        next: `https://app.example/?s=${state.slice(0, 50)}`,
        source: 'external',
        state,
      }
      assert.deepEqual(rest, { ...expected, iss: world.deps.origin() })
    }
    const [row, ...others] = await configurations(world)
    assert.deepEqual([others.length, row?.account_id, row?.user_id, row?.project_selection], [0, id, id, 'all'])
    const bare = await client.post('/integrations/app/new', approve())
    assert.deepEqual(Object.keys(told(bare.location)), ['kept', 'b', 'code', 'configurationId', 'source', 'iss'])
    const { body } = await world.operator('GET', '/operator/v1/audit?type=consent')
    assert.deepEqual(body.entries[0].actor, { kind: 'user', id, tokenId: null })
    assert.equal(body.entries[0].subjectId, row?.id)
    assert.equal((await client.get(`/integrations/app/new?state=${'x'.repeat(2001)}`)).status, 400)
  },
)

onBothEngines('the page says why an account that is full takes no installation', async (world) => {
  world.deps.config.budgets = { installations: 1 }
  for (const slug of ['app', 'second']) await integration(world, { slug })
  const { client } = await person(world, 'anna')
  await client.get('/integrations/app/new')
  assert.equal((await client.post('/integrations/app/new', approve())).status, 303)
  await client.get('/integrations/second/new')
  const full = await client.post('/integrations/second/new', approve())
  assert.equal(full.status, 409)
  assert.match(full.text, /has 1 installations, the maximum/)
  assert.equal((await configurations(world)).length, 1)
  assert.doesNotMatch(world.logged(), /does not declare this refusal/)
})

onBothEngines('the owner of a team chooses the account first, and the answer names the team', async (world) => {
  await integration(world)
  const { teamId } = world.credentials
  const client = await openSignedInClient(world)
  const first = await client.get('/integrations/app/new?state=s%0A1')
  assert.match(first.text, /Where should it work\?/)
  const link = `/integrations/app/new?state=s%0A1&account=${teamId}`
  assert.ok(first.text.includes(`href="${link.replaceAll('&', '&amp;')}"`), first.text)
  assert.equal((await client.get(link)).status, 200)
  const answer = await client.post(link, approve())
  assert.deepEqual([told(answer.location).teamId, told(answer.location).state], [teamId, 's\n1'])

  for (const [role, status] of [
    ['MEMBER', 403],
    ['DEVELOPER', 403],
    ['VIEWER', 403],
    ['BILLING', 403],
    ['OWNER', 303],
  ] as const) {
    const { id, client: other } = await person(world, role.toLowerCase())
    await world.operator('PUT', `/operator/v1/teams/${teamId}/members/${id}`, { role })
    const page = await other.get('/integrations/app/new')
    if (role !== 'OWNER') assert.doesNotMatch(page.text, /Where should it work\?/, 'one account needs no choice')
    assert.equal((await other.get(link)).status, status === 303 ? 200 : 403, role)
    assert.equal((await other.post(link, approve())).status, status, role)
  }
  const { client: stranger } = await person(world, 'stranger')
  await stranger.get('/integrations/app/new')
  for (const account of [teamId, 'team_unknown', world.credentials.userId, '', '%00']) {
    const url = `/integrations/app/new?account=${account}`
    assert.ok([400, 404].includes((await stranger.get(url)).status), account)
    assert.ok([400, 404].includes((await stranger.post(url, approve())).status), account)
  }
})

onBothEngines('an owner who was demoted while the page was open approves nothing', async (world) => {
  await integration(world)
  const { teamId } = world.credentials
  const { id, client } = await person(world, 'fallen')
  const path = `/operator/v1/teams/${teamId}/members/${id}`
  const url = `/integrations/app/new?account=${teamId}`
  await world.operator('PUT', path, { role: 'OWNER' })
  assert.equal((await client.get(url)).status, 200)
  await world.operator('PUT', path, { role: 'MEMBER' })
  assert.equal((await client.post(url, approve())).status, 403)
  await world.operator('DELETE', path)
  assert.equal((await client.post(url, approve())).status, 404)
  assert.deepEqual(await configurations(world), [])
})

onBothEngines('cancelling installs nothing and says so to the integration', async (world) => {
  await integration(world)
  const { client } = await person(world, 'anna')
  const url = '/integrations/app/new?state=a%0Ab&next=https%3A%2F%2Fx.example'
  await client.get(url)
  const { status, location } = await client.post(url, { decision: 'cancel' })
  assert.deepEqual([status, told(location)], [303, { error: 'access_denied', state: 'a\nb', iss: world.deps.origin() }])
  assert.deepEqual(await configurations(world), [])
})

onBothEngines('two approvals at once make one installation', async (world) => {
  await integration(world)
  const { client } = await person(world, 'anna')
  await client.get('/integrations/app/new')
  const answers = await Promise.all(Array.from({ length: 10 }, () => client.post('/integrations/app/new', approve())))
  assert.deepEqual(new Set(answers.map((one) => one.status)), new Set([303]))
  assert.equal(new Set(answers.map((one) => told(one.location).configurationId)).size, 1)
  assert.equal((await configurations(world)).length, 1)
})

/** The answers to the question of which projects, and which is chosen. */
function selectionsIn(text: string): string[] {
  const radios = text.matchAll(/<input type="radio" name="selection" value="(\w+)"( checked)?>/g)
  return [...radios].map(([, value, on]) => `${value}${on ?? ''}`)
}

onBothEngines(
  'a selection of projects is stored as it was ticked, and an unclear one is asked again',
  async (world) => {
    await integration(world)
    const { client, call } = await person(world, 'anna')
    const made = await Promise.all(['one', 'two', 'three'].map((name) => call.try('POST', '/v10/projects', { name })))
    const [one, two] = made.map((answer) => answer.body.id as string)
    const foreign = await seedProject(world, 'foreign')
    const page = await client.get('/integrations/app/new')
    assert.match(page.text, /<input type="checkbox" name="project" value="prj_\w+"> <span>three<\/span>/)
    assert.doesNotMatch(page.text, /foreign/)
    assert.doesNotMatch(page.text, /role="alert"/)
    assert.deepEqual(selectionsIn(page.text), ['all', 'selected checked'], 'where nothing is chosen, not all')
    const url = '/integrations/app/new'
    for (const [fields, said] of [
      [{ selection: 'selected' }, /Tick at least one project/],
      [{ selection: 'selected', project: [] }, /Tick at least one project/],
      [{ selection: 'all', project: [one!] }, /Choose one of the two/],
      [{ selection: 'selected', project: [one!, foreign] }, /no longer exists/],
      [{ selection: 'selected', project: ['prj_unknown'] }, /no longer exists/],
      [{ scope: ['read:project'] }, /has changed since you opened/],
      [{ scope: [...SCOPES, 'read:user'] }, /has changed since you opened/],
      [{ redirect: 'https://elsewhere.example/callback' }, /has changed since you opened/],
    ] as const) {
      const asked = await client.post(url, approve(fields))
      assert.equal(asked.status, 422, JSON.stringify(fields))
      assert.match(asked.text, said)
      assert.match(asked.text, /role="alert"[^>]*>[\s\S]*?<a href="#projects">/)
    }
    for (const selection of ['all', 'selected'])
      assert.deepEqual(
        selectionsIn((await client.post(url, { decision: 'find', selection })).text),
        ['all', 'selected'].map((one) => (one === selection ? `${one} checked` : one)),
      )
    const { selection: _, ...undecided } = approve()
    assert.match((await client.post(url, undecided)).text, /Choose whether it may use all projects/)
    assert.equal((await client.post(url, approve({ selection: 'some' }))).status, 400)
    assert.deepEqual(await configurations(world), [])

    assert.equal((await client.post(url, approve({ selection: 'selected', project: [one!, two!, one!] }))).status, 303)
    const rows = await world.deps.db.read.selectFrom('configuration_project').select('project_id').execute()
    assert.deepEqual(rows.map((row) => row.project_id).sort(), [one, two].sort())
    const again = await client.get(url)
    assert.match(again.text, /installed here already/)
    assert.match(again.text, new RegExp(`value="${one}" checked`))
    const list = await client.get('/integrations/installed')
    assert.match(list.text, /Projects: one, two</)
  },
)

onBothEngines(
  'a hundred projects are offered, a search finds the others, and ticked projects stay ticked',
  async (world) => {
    await integration(world)
    const { id, client } = await person(world, 'anna')
    const projects = Array.from({ length: 350 }, (_, at) => ({
      id: `prj_${at}`,
      name: `p-${String(at).padStart(3, '0')}_%`,
    }))
    const stored = projects.map(({ id: projectId, name }) => projectRow(world, projectId, name, id))
    await addRows(world, 'project', stored)
    const boxes = (text: string) =>
      [...text.matchAll(/value="(prj_\d+)"( checked)?>/g)].map(([, value, on]) => `${value}${on ?? ''}`)
    const url = '/integrations/app/new'
    const page = await client.get(url)
    assert.deepEqual(
      boxes(page.text),
      projects.slice(0, 100).map((project) => project.id),
    )
    assert.match(page.text, /The first 100 are shown/)
    const found = await client.post(url, {
      decision: 'find',
      find: ' P-34',
      selection: 'selected',
      project: ['prj_7', 'prj_200'],
    })
    assert.equal(found.status, 200)
    assert.deepEqual(boxes(found.text), [
      'prj_7 checked',
      'prj_200 checked',
      ...Array.from({ length: 10 }, (_, at) => `prj_${340 + at}`),
    ])
    assert.deepEqual(boxes((await client.post(url, { decision: 'find', find: '_%' })).text).length, 100)
    assert.deepEqual(boxes((await client.post(url, { decision: 'find', find: 'x%' })).text), [])
    assert.deepEqual(await configurations(world), [])
    const all = projects.map((project) => project.id)
    assert.equal((await client.post(url, approve({ selection: 'selected', project: all }))).status, 303)
    const rows = await world.deps.db.read.selectFrom('configuration_project').select('project_id').execute()
    assert.equal(rows.length, 350)
  },
)

onBothEngines(
  'PKCE is S256 or nothing, and a redirect_uri is the registered one or a page that says so',
  async (world) => {
    const id = await integration(world)
    const { client } = await person(world, 'anna')
    const challenge = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM'
    const good = `code_challenge=${challenge}&code_challenge_method=S256`
    const bad = [
      `code_challenge=${challenge}`,
      `code_challenge=${challenge}&code_challenge_method=plain`,
      'code_challenge=short&code_challenge_method=S256',
      'code_challenge_method=S256',
    ]
    const wrongUris = [
      `${REDIRECT}/`,
      `${REDIRECT}?x=1`,
      `${REDIRECT}#x`,
      'https://APP.example/callback',
      'https://app.example',
      '',
    ]
    for (const query of [...bad, ...wrongUris.map((uri) => `redirect_uri=${encoded(uri)}`)]) {
      assert.equal((await client.get(`/integrations/app/new?${query}`)).status, 400, query)
      assert.equal((await client.post(`/integrations/app/new?${query}`, approve())).status, 400, query)
    }
    const url = `/integrations/app/new?${good}&redirect_uri=${encoded(REDIRECT)}`
    await client.get(url)
    assert.equal((await client.post(url, approve())).status, 303)
    const codes = await world.deps.db.read.selectFrom('authorization_code').select('code_challenge').execute()
    assert.deepEqual(
      codes.map((row) => row.code_challenge),
      [challenge],
    )

    const from = (query: string) => client.get(`/oauth/authorize?client_id=${id}&${query}`)
    const sent = await from(`response_type=code&state=a%20b&${good}&redirect_uri=${encoded(REDIRECT)}`)
    assert.equal(sent.location, `/integrations/app/new?state=a%20b&redirect_uri=${encoded(REDIRECT)}&${good}`)
    assert.equal((await client.get(sent.location)).status, 200)
    // One without a value is as left out (RFC 6749 3.1).
    assert.equal((await from('response_type=code&redirect_uri=')).location, '/integrations/app/new')
    for (const uri of wrongUris.filter(Boolean)) {
      const answer = await from(`response_type=code&redirect_uri=${encoded(uri)}`)
      assert.deepEqual([answer.status, answer.location], [400, ''], uri)
    }
    for (const unknown of ['client_id=oac_unknown', 'client_id=', '']) {
      const answer = await client.get(
        `/oauth/authorize?${unknown}&response_type=code&redirect_uri=${encoded(REDIRECT)}`,
      )
      assert.deepEqual([answer.status, answer.location], [400, ''])
    }
    for (const [query, error] of [
      ['state=s', 'invalid_request'],
      ['response_type=token&state=s', 'unsupported_response_type'],
      [`response_type=code&state=s&${bad[1]}`, 'invalid_request'],
    ] as const) {
      const { error_description: _, ...rest } = told((await from(query)).location)
      assert.deepEqual(rest, { error, state: 's', iss: world.deps.origin() })
    }
    const anyone = openClient(world)
    const asked = `/oauth/authorize?client_id=${id}&response_type=code`
    assert.equal((await anyone.get(asked)).location, `/sign-in?return=${encoded(asked)}`)
  },
)

onBothEngines('names that others chose are plain text on every page', async (world) => {
  const client = await openSignedInClient(world)
  const { userId } = world.credentials
  for (const [at, payload] of HOSTILE.entries()) {
    const name = payload.replaceAll(/[\r\n]/g, ' ')
    await integration(world, { slug: `s${at}`, name, scopes: ['read:project'] })
    await integration(world, { slug: payload, name: 'Odd slug', scopes: ['read:project'] })
    await nameAccounts(world, payload)
    await addRows(world, 'project', [projectRow(world, `prj_${at}`, payload, userId)])
    const query = `state=${encoded(payload)}&next=${encoded(payload)}&account=${userId}`
    for (const slug of [`s${at}`, encoded(payload)]) {
      const page = await client.get(`/integrations/${slug}/new?${query}`)
      assert.equal(page.status, 200, `${slug} ${page.text}`)
      onlyOurs(page.text)
      onlyOurs((await client.get(`/integrations/${slug}/new?state=${encoded(payload)}`)).text)
      onlyOurs((await client.post(`/integrations/${slug}/new?${query}`, { decision: 'find', find: payload })).text)
      const sent = await client.post(`/integrations/${slug}/new?${query}`, approve({ scope: ['read:project'] }))
      assert.deepEqual([sent.status, told(sent.location).state], [303, payload])
      assert.doesNotMatch(sent.location, /[\r\n<>"]/)
    }
    for (const url of [
      '/integrations/installed',
      `/integrations/${encoded(payload)}x/new`,
      `/set-password?link=${encoded(payload)}`,
    ]) {
      onlyOurs((await client.get(url)).text)
    }
    onlyOurs((await client.post('/sign-out', { form: payload })).text)
  }
  for (const row of await configurations(world)) {
    onlyOurs((await client.get(`/integrations/installed/${row.id}/uninstall`)).text)
    onlyOurs((await client.get(`/integrations/confirm/${row.id}`)).text)
  }
})

onBothEngines(
  'a logo comes over https from the one host that the page allows, and from none otherwise',
  async (world) => {
    const { client } = await person(world, 'anna')
    for (const [at, [logoUrl, source]] of Object.entries([
      ['https://cdn.example/logo.png?x="<', "img-src 'self' https://cdn.example;"],
      ['https://cdn.example:8443/logo.png', "img-src 'self' https://cdn.example:8443;"],
      ['http://cdn.example/logo.png', ''],
      ['javascript:alert(1)', ''],
      ["https://x;script-src 'unsafe-inline'/logo.png", ''],
      ['https://x;y/logo.png', ''],
      [null, ''],
    ] as const)) {
      await integration(world, { slug: `logo${at}`, logoUrl })
      const page = await client.get(`/integrations/logo${at}/new`)
      const policy = String(page.headers['content-security-policy'])
      assert.equal(/<img/.test(page.text), source !== '', String(logoUrl))
      assert.equal(policy.includes("img-src 'self';"), source === '', policy)
      assert.ok(policy.includes(source), policy)
      assert.doesNotMatch(policy, /script-src|unsafe/)
      assert.match(policy, /form-action 'self' https:;/)
    }
  },
)

onBothEngines('the page of installations shows those of the account alone', async (world) => {
  const [anna, eve] = [await person(world, 'anna'), await person(world, 'eve')]
  await integration(world, { slug: 'app' })
  const shown = async ({ client }: { client: Client }) =>
    [...(await client.get('/integrations/installed')).text.matchAll(/installed\/(icfg_\w+)/g)].map(([, id]) => id)
  for (const { client } of [anna, eve]) {
    await client.get('/integrations/app/new')
    assert.equal((await client.post('/integrations/app/new', approve())).status, 303)
  }
  const ids = new Map((await configurations(world)).map((row) => [row.account_id, row.id]))
  for (const one of [anna, eve]) assert.deepEqual([...new Set(await shown(one))], [ids.get(one.id)])
  const toAll = '<a href="/integrations/installed">Show all your accounts</a>'
  const asked = async (query: string) => (await anna.client.get(`/integrations/installed${query}`)).text.includes(toAll)
  assert.deepEqual([await asked(''), await asked(`?teamId=${anna.id}`)], [false, true])
})

onBothEngines('the page of installations shows logos from the hosts that its policy names', async (world) => {
  const { client } = await person(world, 'anna')
  const LOGOS = ['https://cdn.example/a.png', 'https://img.example:8443/b.png', "https://x;script-src 'none'/c.png"]
  for (const [at, logoUrl] of LOGOS.entries()) {
    await integration(world, { slug: `logo${at}`, logoUrl })
    await client.get(`/integrations/logo${at}/new`)
    await client.post(`/integrations/logo${at}/new`, approve())
  }
  const page = await client.get('/integrations/installed')
  const shown = [...page.text.matchAll(/<img src="([^"]*)"/g)].map(([, url]) => url)
  assert.deepEqual(shown.sort(), LOGOS.slice(0, 2))
  const policy = String(page.headers['content-security-policy'])
  const [, hosts = ''] = /img-src ([^;]*)/.exec(policy) ?? []
  assert.deepEqual(hosts.split(' ').sort(), ["'self'", 'https://cdn.example', 'https://img.example:8443'])
})

onBothEngines('a form of consent that is not ours installs nothing', async (world) => {
  await integration(world)
  const { client } = await person(world, 'anna')
  const { client: other } = await person(world, 'bert')
  await other.get('/integrations/app/new')
  await client.get('/integrations/app/new')
  const form = client.token()
  const post = (fields: object, headers: Record<string, string> = {}) =>
    client.post('/integrations/app/new', approve(fields), headers)
  assert.equal((await post({ form: '' })).status, 403)
  assert.equal((await post({ form: other.token() })).status, 403)
  assert.equal((await post({ form }, { origin: 'https://evil.example' })).status, 403)
  assert.equal((await post({ form }, { 'sec-fetch-site': 'cross-site' })).status, 403)
  client.cookies.clear()
  assert.equal((await post({ form })).location, `/sign-in?return=${encoded('/integrations/app/new')}`)
  assert.deepEqual(await configurations(world), [])
})

onBothEngines(
  'an installation that a user sees is confirmed, transferred and uninstalled by owners only',
  async (world) => {
    const { teamId } = world.credentials
    const integrationId = await integration(world)
    const owner = await openSignedInClient(world)
    const url = `/integrations/app/new?account=${teamId}`
    await owner.get(url)
    const { configurationId } = told((await owner.post(url, approve())).location)
    const edited = await world.call('PATCH', `/v1/integrations/apps/${integrationId}?teamId=${teamId}`, {
      scopes: [...SCOPES, 'read-write:team'],
    })
    assert.equal(edited.status, 200, edited.text)
    const pages = ['uninstall', 'take-over'].map((what) => `/integrations/installed/${configurationId}/${what}`)
    const confirm = `/integrations/confirm/${configurationId}`
    const { id, client: member } = await person(world, 'member')
    for (const page of [...pages, confirm]) assert.equal((await member.get(page)).status, 404, page)
    assert.equal((await member.get(`/integrations/installed?teamId=${teamId}`)).status, 404)
    const path = `/operator/v1/teams/${teamId}/members/${id}`
    await world.operator('PUT', path, { role: 'BILLING' })
    for (const page of [...pages, confirm]) assert.equal((await member.get(page)).status, 404, page)
    assert.doesNotMatch((await member.get(`/integrations/installed?teamId=${teamId}`)).text, /App/)
    await world.operator('PUT', path, { role: 'MEMBER' })
    assert.match((await member.get(`/integrations/installed?teamId=${teamId}`)).text, /<h3 class="named">App/)
    assert.match((await member.get(confirm)).text, /Only an owner/)
    for (const page of pages) assert.equal((await member.get(page)).status, 403)
    for (const page of pages) assert.equal((await member.post(page)).status, 403)
    assert.equal((await member.post(confirm, { scope: ['read-write:team'] })).status, 403)

    const pending = await owner.get(confirm)
    assert.match(pending.text, /details and its members/)
    assert.equal((await owner.post(confirm, { scope: ['read:team'] })).status, 409)
    assert.equal(
      (await owner.post(confirm, { scope: ['read-write:team'] }, { origin: 'https://evil.example' })).status,
      403,
    )
    assert.equal((await owner.post(confirm, { scope: ['read-write:team'] })).status, 303)
    assert.match((await owner.get(confirm)).text, /No pending request/)

    await disableInstallation(world, configurationId!, 'disabled-by-admin')
    const suspended = (await owner.get('/integrations/installed')).text
    assert.match(suspended, /because its owner is suspended by the operator/)
    assert.doesNotMatch(suspended, /it is removed/)
    await disableInstallation(world, configurationId!, 'original-owner-left-the-team')
    assert.match(
      (await owner.get('/integrations/installed')).text,
      /It is disabled and its requests fail, because its owner left the team[\s\S]*it is removed, with the environment/,
    )
    assert.match((await owner.get(pages[1]!)).text, /Become owner of App\?/)
    assert.equal((await owner.post(pages[1]!)).location, '/integrations/installed')
    assert.doesNotMatch((await owner.get('/integrations/installed')).text, /It is disabled/)

    assert.match((await owner.get(pages[0]!)).text, /Uninstall App\?/)
    const gone = await Promise.all([owner.post(pages[0]!), owner.post(pages[0]!)])
    assert.ok(gone.every((one) => one.status === 303 || one.status === 404))
    assert.doesNotMatch((await owner.get('/integrations/installed')).text, /App/)
    for (const page of [...pages, confirm]) assert.equal((await owner.get(page)).status, 404)
    const events = await world.deps.db.read
      .selectFrom('event')
      .select(['type', 'payload_json'])
      .orderBy('stamp')
      .execute()
    assert.deepEqual(
      events.map(({ type }) => type),
      ['scope-change-confirmed', 'transferred', 'removed'].map((what) => `integration-configuration.${what}`),
    )
    for (const { payload_json } of events) {
      const { team, user } = JSON.parse(payload_json)
      assert.deepEqual([team.id, user.id], [teamId, world.credentials.userId])
    }
    const { entries } = (await world.operator('GET', `/operator/v1/audit?accountId=${teamId}`)).body
    const types = entries.map((entry: { type: string; subjectId: string }) => [entry.type, entry.subjectId])
    for (const type of ['consent', 'confirmScopes', 'takeOver', 'uninstall']) {
      assert.ok(
        types.some(([one, subject]: string[]) => one === type && subject === configurationId),
        type,
      )
    }
  },
)

onBothEngines(
  'no password, link, session, code or token of a form is in a log line or the audit log',
  async (world) => {
    await integration(world)
    const { client } = await person(world, 'anna')
    await client.get('/integrations/app/new?state=canary-state')
    const { code } = told((await client.post('/integrations/app/new?state=canary-state', approve())).location)
    const links = await readQueuedMail(world)
    const link = /link=(\w+)/.exec(links.map((mail) => mail.body_text).join(''))?.[1]
    const secrets = [PASSWORD, code, link, client.token(), ...client.cookies.values()]
    const { body } = await world.operator('GET', '/operator/v1/audit?limit=100')
    const written = `${world.logged()}${JSON.stringify(body)}`
    for (const secret of secrets) {
      assert.ok(secret && secret.length > 20)
      assert.ok(!written.includes(secret), secret)
    }
  },
)
