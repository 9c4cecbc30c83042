/** `berth import`, from one Berth into another. docs/moving-in.md. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { berth } from '../../support/clients/command.ts'
import { canRun, skipReason } from '../../support/programs.ts'
import { root } from '../../support/root.ts'
import { ENGINES, type Engine, openWorld, type World } from '../../support/world.ts'

const SETTINGS = {
  framework: 'nextjs',
  buildCommand: 'npm run build',
  nodeVersion: '22.x',
  gitForkProtection: false,
  autoExposeSystemEnvs: true,
  ssoProtection: { deploymentType: 'preview' },
  trustedIps: {
    deploymentType: 'all',
    addresses: [{ value: '10.0.0.0/8', note: 'office' }],
    protectionMode: 'additional',
  },
}
const VARIABLES = [
  { key: 'PLAIN', value: 'in clear', type: 'plain', target: ['production', 'preview'], comment: 'why' },
  { key: 'SEALED', value: 'lines\nand "quotes"', type: 'encrypted', target: ['production'] },
  { key: 'SEALED', value: 'of a branch', type: 'encrypted', target: ['preview'], gitBranch: 'next' },
  { key: 'EMPTY', value: '', type: 'encrypted', target: ['preview'] },
  { key: 'STAGED', value: 'of staging', type: 'encrypted', target: ['development'], customEnvironmentIds: ['staging'] },
  { key: 'HIDDEN', value: 'nobody reads this', type: 'sensitive', target: ['production'] },
]
const DOMAINS = [
  { name: 'example.org', redirect: 'www.example.org', redirectStatusCode: 308 },
  { name: 'www.example.org' },
  { name: 'next.example.org', gitBranch: 'next' },
  { name: 'staging.example.org', customEnvironmentId: 'staging' },
]
/** Variables of `docs`: more than a page and a request hold. */
const MANY = 130
const DRAIN = {
  name: 'logs',
  projects: 'all',
  schemas: { log: { version: 'v1' } },
  delivery: { type: 'http', endpoint: 'https://logs.example.com/in', encoding: 'ndjson' },
  sampling: [{ type: 'head_sampling', rate: 0.5 }],
}

type Sides = { there: World; here: World; run(...words: string[]): Promise<Ran> }
// biome-ignore lint/suspicious/noExplicitAny: what the command printed as JSON
type Ran = { code: number; out: any; err: string }

/** Two services on one engine, and the command that copies from one team to the other. */
async function openSides(t: TestContext, engine: Engine): Promise<Sides> {
  const [there, here] = [await openWorld(engine), await openWorld(engine)]
  t.after(() => Promise.all([there.close(), here.close()]))
  const from = await there.listen()
  const env = {
    BERTH_DATA: here.folder,
    BERTH_TOKEN: here.credentials.token,
    PORT: new URL(await here.listen()).port,
  }
  const words = ['import', '--from', from, '--token', there.credentials.token, '--team', 'team', '--json']
  const run = async (...more: string[]): Promise<Ran> => {
    const { code, out, err } = await berth([...words, ...more], env)
    return { code, err, out: out === '' ? undefined : JSON.parse(out) }
  }
  return { there, here, run }
}

function onBoth(name: string, run: (sides: Sides, t: TestContext) => Promise<void>): void {
  for (const engine of ENGINES) test(`${name} [${engine}]`, async (t) => run(await openSides(t, engine), t))
}

/** The project `shop` with everything that is copied, `docs` with little, and what belongs to the team. */
async function fill({ call, operator, credentials }: World): Promise<void> {
  const team = `teamId=${credentials.teamId}`
  const make = async (path: string, body: object) => {
    const made = await call('POST', path as '/v10/projects', body)
    assert.ok(made.status < 300, `${path}: ${made.text}`)
    return made.body
  }
  const { id } = await make(`/v10/projects?${team}`, { name: 'shop', ...SETTINGS })
  const docs = await make(`/v10/projects?${team}`, { name: 'docs' })
  const matcher = { type: 'startsWith', pattern: 'release/' }
  const environment = { slug: 'staging', description: 'before production', branchMatcher: matcher }
  await make(`/v9/projects/shop/custom-environments?${team}`, environment)
  await make(`/v10/projects/shop/env?${team}`, VARIABLES)
  for (const one of DOMAINS.toReversed()) await make(`/v10/projects/shop/domains?${team}`, one)
  const many = Array.from({ length: MANY }, (_, at) => ({
    key: `K${at}`,
    value: `${at}`,
    type: 'plain',
    target: ['preview'],
  }))
  await make(`/v10/projects/docs/env?${team}`, many)
  await make(`/v9/projects/shop/link?${team}`, { type: 'github', repo: 'acme/shop' })
  for (const [path, body] of [
    ['/v9/projects/shop/branch', { branch: 'stable' }],
    ['/v1/data-cache/projects/docs', { disabled: true }],
    [`/v1/projects/${docs.id}/crons`, { enabled: false }],
  ] as const)
    assert.equal((await call('PATCH', `${path}?${team}` as '/v9/projects/docs', body)).status, 200, path)
  const expiration = { expiration: '1w', expirationProduction: '1y' }
  const kept = await call('PATCH', `/v9/projects/shop/deployment-expiration?${team}`, expiration)
  assert.equal(kept.status, 200)
  await call('PATCH', `/v9/projects/docs?${team}`, { passwordProtection: { deploymentType: 'all', password: 'x' } })
  await make(`/v1/projects/${docs.id}/pause?${team}`, {})
  const webhook = { url: 'https://hooks.example.com/in', events: ['project.created', 'project.removed'] }
  await make(`/v1/webhooks?${team}`, webhook)
  await make(`/v1/webhooks?${team}`, { ...webhook, url: 'https://hooks.example.com/shop', projectIds: [id] })
  await make(`/v1/drains?${team}`, DRAIN)
  const ada = await operator('POST', '/operator/v1/users', { email: 'ada@example.com', username: 'ada' })
  await operator('PUT', `/operator/v1/teams/${credentials.teamId}/members/${ada.body.id}`, { role: 'DEVELOPER' })
}

/** Everything of a team that is copied, as the API returns it, without what each server generates. */
async function contentOf({ call, credentials }: World): Promise<unknown> {
  const team = `teamId=${credentials.teamId}`
  const read = async (path: string) =>
    (await call('GET', `${path}${path.includes('?') ? '&' : '?'}${team}` as '/v9/projects')).body
  const { projects } = await read('/v9/projects?limit=100')
  const names = new Map(projects.map(({ id, name }) => [id, name]))
  const content: unknown[] = []
  for (const name of [...names.values()].sort()) {
    const environments = ((await read(`/v9/projects/${name}/custom-environments`)) as unknown as Listed).environments
    for (const { id, slug } of environments) names.set(id, slug)
    const { envs } = (await read(`/v9/projects/${name}/env?decrypt=true`)) as unknown as Listed
    const { domains } = (await read(`/v9/projects/${name}/domains?limit=100`)) as unknown as Listed
    content.push([await read(`/v9/projects/${name}`), environments, sorted(envs), sorted(domains)])
  }
  const webhooks = (await read('/v1/webhooks')) as unknown as object[]
  const { drains } = (await read('/v1/drains')) as unknown as Listed
  return deleteOwn([content, sorted(webhooks), sorted(drains)], names)
}
type Listed = Record<'environments' | 'envs' | 'domains' | 'drains', { id: string; slug: string }[]>

const OWN =
  /^(id|accountId|ownerId|teamId|projectId|createdAt|updatedAt|checkedUntil|enabledAt|createdBy|updatedBy|pausedAt|pausedBy|verification|version|env|repoOwnerId|deployHooks|passwordProtection)$/

/** Ids become the names of what they are of. */
function deleteOwn(value: unknown, names: Map<string, string>): unknown {
  if (typeof value === 'string') return names.get(value) ?? value
  if (Array.isArray(value)) return value.map((one) => deleteOwn(one, names))
  if (typeof value !== 'object' || value === null) return value
  const pairs = Object.entries(value).filter(([name]) => !OWN.test(name))
  // Each server has its own time at which crons were disabled.
  return Object.fromEntries(
    pairs.map(([name, inner]) => [name, name === 'disabledAt' ? inner !== null : deleteOwn(inner, names)]),
  )
}

function sorted(rows: readonly object[]): object[] {
  const place = ({ key, target, name, url, gitBranch }: Record<string, unknown>) =>
    JSON.stringify([key, target, name, url, gitBranch])
  return rows.toSorted((one, other) => (place({ ...one }) < place({ ...other }) ? -1 : 1))
}

async function auditOf({ operator }: World): Promise<number> {
  let count = 0
  for (let until = ''; ; ) {
    const { body } = await operator('GET', `/operator/v1/audit?limit=100${until}` as '/operator/v1/audit')
    // Reading decrypted values is audited, and changes nothing.
    count += body.entries.filter(({ type }) => !/read|reveal|get|filter|pull/i.test(type)).length
    if (body.pagination.next === null) return count
    until = `&until=${body.pagination.next}`
  }
}

onBoth(
  'an account is copied whole, a dry run writes nothing, and a second run changes nothing',
  async ({ there, here, run }) => {
    await fill(there)
    const before = await auditOf(here)
    const planned = await run('--dry-run')
    assert.deepEqual([planned.code, planned.out.done, await auditOf(here)], [0, false, before])
    const { created } = planned.out.counts.variable
    assert.equal(created, VARIABLES.length - 1 + MANY)

    const copied = await run('--yes')
    assert.deepEqual([copied.out.failed, copied.code], [[], 0], copied.err)
    assert.match(copied.err, /would be created/)
    const counts = Object.entries(copied.out.counts).map(([kind, { created }]: [string, Ran['out']]) => [kind, created])
    assert.deepEqual(Object.fromEntries(counts), {
      ...{ project: 2, environment: 1, variable: 5 + MANY, domain: 4 },
      ...{ webhook: 2, drain: 1, member: 1 },
    })
    const [wanted, made] = [await contentOf(there), await contentOf(here)]
    assert.deepEqual(made, withoutHidden(wanted))
    const todo = copied.out.todo.join('\n')
    for (const line of [
      /^shop: set the value of HIDDEN \(production\), which cannot be read there$/m,
      /^docs: set a password by hand/m,
      /^set the TXT record \S+example\.org to ".+", then verify the domain www\.example\.org$/m,
      /^webhook https:\/\/hooks\.example\.com\/in: give its receiver the new secret \S+$/m,
      /^drain logs \(https:\/\/logs\.example\.com\/in\): give its receiver the new secret \S+$/m,
      /^hand ada@example\.com the invitation: http/m,
    ])
      assert.match(todo, line)
    assert.equal(todo.includes('nobody reads this'), false)

    const after = await auditOf(here)
    const again = await run('--yes')
    const changes = Object.values(again.out.counts).flatMap(({ created, changed, failed }: Ran['out']) => [
      created,
      changed,
      failed,
    ])
    assert.deepEqual([changes.filter((count) => count > 0), await auditOf(here)], [[], after])
    assert.equal(again.out.counts.variable.unchanged, 5 + MANY)
    // What the user still has to do is reported again.
    assert.match(again.out.todo.join('\n'), /HIDDEN[\s\S]*TXT record/)
  },
)

/** A content without what cannot be copied: the variable whose value cannot be read. */
function withoutHidden(content: unknown): unknown {
  return JSON.parse(JSON.stringify(content), (_, value) =>
    Array.isArray(value) ? value.filter((one) => one?.key !== 'HIDDEN') : value,
  )
}

onBoth('changes there are made here, and no others; a refusal is reported alone', async ({ there, here, run }) => {
  await fill(there)
  const ofTeam = (world: World) => `teamId=${world.credentials.teamId}`
  await run('--yes')
  const edit = async (method: 'PATCH' | 'POST', path: string, body: object) => {
    const answer = await there.call(method, `${path}?upsert=true&${ofTeam(there)}` as '/v9/projects/shop', body)
    assert.ok(answer.status < 300, answer.text)
  }
  await edit('POST', '/v10/projects/shop/env', {
    key: 'SEALED',
    value: 'new',
    target: ['production'],
    type: 'encrypted',
  })
  await edit('POST', '/v10/projects/shop/env', {
    key: 'HIDDEN',
    value: 'other',
    target: ['production'],
    type: 'sensitive',
  })
  await edit('PATCH', '/v9/projects/shop', { framework: 'astro' })
  const plain = {
    key: 'PLAIN',
    value: 'in clear',
    type: 'plain',
    target: ['production', 'preview'],
    comment: 'other',
  }
  await edit('POST', '/v10/projects/shop/env', plain)
  await edit('PATCH', '/v9/projects/shop/domains/next.example.org', { gitBranch: 'later' })
  // By hand, as the report said.
  const hidden = { key: 'HIDDEN', value: 'set by hand', target: ['production'], type: 'sensitive' }
  await here.call('POST', `/v10/projects/shop/env?${ofTeam(here)}`, hidden)
  // Made sensitive here: what cannot be compared is left.
  const made = { key: 'EMPTY', value: 'x', target: ['preview'], type: 'sensitive' }
  await here.call('POST', `/v10/projects/shop/env?upsert=true&${ofTeam(here)}`, made)
  // A name that another project here has.
  await here.call('POST', `/v10/projects?${ofTeam(here)}`, { name: 'other' })
  await here.call('POST', `/v10/projects/other/domains?${ofTeam(here)}`, { name: 'taken.example.org' })
  await edit('POST', '/v10/projects/shop/domains', { name: 'taken.example.org' })
  const planned = await run('--dry-run')
  assert.deepEqual(planned.out.changes, [
    'project shop (framework)',
    'variable shop: SEALED (production)',
    'variable shop: PLAIN (production, preview)',
    'domain shop: next.example.org',
  ])
  const { code, out } = await run('--yes')
  assert.equal(code, 1)
  assert.deepEqual(
    out.failed.map(({ what }: { what: string }) => what),
    ['shop: taken.example.org'],
  )
  const changed = Object.entries(out.counts).map(([kind, { changed }]: [string, Ran['out']]) => [kind, changed])
  assert.deepEqual(
    changed.filter(([, count]) => Number(count) > 0),
    [
      ['project', 1],
      ['variable', 2],
      ['domain', 1],
    ],
  )
  assert.equal(JSON.stringify(out.todo).includes('HIDDEN'), false)
  const { body } = await here.call('GET', `/v9/projects/shop/env?decrypt=true&${ofTeam(here)}`)
  const values = body.envs
    .filter(({ key, gitBranch }) => key === 'SEALED' && gitBranch === undefined)
    .map(({ value }) => value)
  assert.deepEqual(values, ['new'])
})

test('single projects are copied without what belongs to the account', async (t) => {
  const { there, here, run } = await openSides(t, 'sqlite')
  await fill(there)
  const { out, code } = await run('--projects', 'docs', '--yes')
  assert.deepEqual([code, out.counts.project.created, out.counts.webhook.created], [0, 1, 0])
  const { body } = await here.call('GET', `/v9/projects?teamId=${here.credentials.teamId}`)
  assert.deepEqual(
    body.projects.map(({ name, paused }) => [name, paused]),
    [['docs', true]],
  )
  const absent = await run('--projects', 'docs,absent', '--yes')
  assert.deepEqual([absent.code, /no project "absent"/.test(absent.err)], [64, true])
})

test('each setting that the plan here does not allow is refused alone', async (t) => {
  const { there, here, run } = await openSides(t, 'sqlite')
  await fill(there)
  await here.operator('PATCH', `/operator/v1/accounts/${here.credentials.teamId}`, { plan: 'hobby' })
  const { code, out } = await run('--projects', 'shop', '--yes')
  assert.deepEqual(out.failed.map(({ what }: { what: string }) => what).sort(), ['shop: trustedIps'])
  assert.deepEqual([code, out.counts.project.created, out.counts.variable.created], [1, 1, 5])
  const { body } = await here.call('GET', `/v9/projects/shop?teamId=${here.credentials.teamId}`)
  assert.deepEqual([body.framework, body.trustedIps, body.nodeVersion], ['nextjs', null, '22.x'])
})

test('an import says what is missing before it sends a request', async (t) => {
  const { there, here, run } = await openSides(t, 'sqlite')
  const unasked = await run()
  assert.deepEqual([unasked.code, /say --yes/.test(unasked.err)], [64, true])
  const elsewhere = await run('--to-team', 'absent', '--yes')
  assert.deepEqual(
    [elsewhere.code, /does not take the token, or the team "absent"; berth team add/.test(elsewhere.err)],
    [1, true],
  )
  const env = { BERTH_DATA: here.folder, BERTH_TOKEN: here.credentials.token }
  const file = join(here.folder, 'there.token')
  writeFileSync(file, `${there.credentials.token}\n`)
  for (const [words, expected] of [
    [['--from', 'http://api.example.com', '--token', 't'], /must begin with https/],
    [['--from', 'api.example.com', '--token', 't'], /api.example.com is not an address: write one such as https/],
    [['--from', 'https://user:pass@api.example.com', '--token', 't'], /the address of the API alone/],
    [['--from', 'https://api.example.com/?a=1', '--token', 't'], /the address of the API alone/],
    [['--from', 'https://api.example.com/#a', '--token', 't'], /the address of the API alone/],
    [['--from', 'https://api.example.com'], /one of --token and --token-file/],
    [['--from', 'https://api.example.com', '--token', 't', '--token-file', file], /one of --token and --token-file/],
    [['--from', 'https://api.example.com', '--token', ''], /the token is empty/],
    [['--from', 'https://api.example.com', '--token', 't', '--team', 'team_1'], /--to-team/],
  ] as const) {
    const { code, err } = await berth(['import', ...words, '--dry-run'], env)
    assert.equal(code, 64, err)
    assert.match(err, expected)
  }
  const byFile = [
    'import',
    '--from',
    await there.listen().catch(() => addressOf(there)),
    '--token-file',
    file,
    '--dry-run',
  ]
  assert.equal((await berth(byFile, { ...env, PORT: portOf(here) })).code, 0)
})

test('a server that calls a project by a path, or says what a terminal obeys, reaches nothing', async (t) => {
  const { here, run } = await openSides(t, 'sqlite')
  const before = await auditOf(here)
  const evil = { name: '..', env: [] }
  const variable = { id: 'env_1', key: 'A\u001b[2J', value: 'x', type: 'plain', target: ['production'] }
  let listed: object[] = [evil]
  const server = createServer(({ url }, response) => {
    const { pathname } = new URL(url!, 'http://stand-in')
    const answers: Record<string, object> = {
      '/v2/teams/team': { id: 'team_1' },
      '/v9/projects': { projects: listed, pagination: { next: null } },
      '/v9/projects/web': { id: 'prj_1', name: 'web' },
      '/v9/projects/Bad--Name': { id: 'prj_2', name: 'Bad--Name' },
      '/v9/projects/web/env': { envs: [variable] },
      '/v9/projects/Bad--Name/env': { envs: [{ ...variable, key: 'B' }] },
      '/v9/projects/web/domains': { domains: [] },
      '/v9/projects/Bad--Name/domains': { domains: [{ name: 'www.example.org' }] },
    }
    const answer = answers[pathname]
    response.writeHead(answer === undefined ? 404 : 200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(answer ?? { error: { code: 'not_found', message: 'not here' } }))
  }).listen(0, '127.0.0.1')
  t.after(() => void server.close())
  await new Promise((resolve) => server.once('listening', resolve))
  const from = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const refused = await run('--yes', '--from', from)
  assert.deepEqual(
    [refused.code, /"\.\.", which is not a name/.test(refused.err), await auditOf(here)],
    [1, true, before],
  )

  // A project whose name is refused here, with all that is in it, keeps no other from being copied.
  listed = [
    { id: 'prj_2', name: 'Bad--Name' },
    { id: 'prj_1', name: 'web' },
  ]
  const env = { BERTH_DATA: here.folder, BERTH_TOKEN: here.credentials.token, PORT: portOf(here) }
  const words = ['import', '--from', from, '--token', 't', '--team', 'team', '--yes']
  const { code, out } = await berth(words, env)
  assert.equal(code, 1)
  assert.match(out, /^2 projects: created 1, changed 0, unchanged 0, refused 1$/m)
  assert.match(out, /^1 domain: created 0, changed 0, unchanged 0, refused 1$/m)
  assert.match(out, /web: A\?\[2J/)
  assert.equal(out.includes('\u001b'), false)
})

test('on a terminal the plan is shown with a question: only yes changes something', async (t) => {
  if (!canRun('script', '--version')) return t.skip(skipReason('script', 'bsdutils', 'the question of an import'))
  const { there, here } = await openSides(t, 'sqlite')
  await there.call('POST', `/v10/projects?teamId=${there.credentials.teamId}`, { name: 'web' })
  const words = ['import', '--from', addressOf(there), '--token', there.credentials.token, '--team', 'team']
  const line = [process.execPath, join(root, 'bin', 'berth.mjs'), ...words].map((word) => `'${word}'`).join(' ')
  const env = {
    PATH: process.env.PATH,
    BERTH_DATA: here.folder,
    BERTH_TOKEN: here.credentials.token,
    PORT: portOf(here),
  }
  const answered = async (answer: string) => {
    const child = spawn('script', ['-qec', line, '/dev/null'], { env, stdio: ['pipe', 'pipe', 'inherit'] })
    t.after(() => child.kill('SIGKILL'))
    let said = ''
    child.stdout.on('data', (piece) => {
      const isAsked = said.includes('Do this?')
      said += piece
      if (!isAsked && said.includes('Do this?')) child.stdin.write(answer)
    })
    const [code] = await once(child, 'close')
    const { body } = await here.call('GET', `/v9/projects?teamId=${here.credentials.teamId}`)
    return { code, said, names: body.projects.map(({ name }) => name) }
  }
  const refused = await answered('\n')
  assert.deepEqual([refused.code, refused.names], [1, []], refused.said)
  assert.match(refused.said, /1 project: would be created 1,[\s\S]*Do this\? \[y\/N\][\s\S]*nothing was changed/)
  const ended = await answered('\x04')
  assert.deepEqual([ended.code, ended.names], [1, []], ended.said)
  const done = await answered('y\n')
  assert.deepEqual([done.code, done.names], [0, ['web']], done.said)
  assert.match(done.said, /reading +\[ +\] 0 %[\s\S]*writing +\[#+\] 100 %/)
})

function addressOf(world: World): string {
  return `http://127.0.0.1:${portOf(world)}`
}

function portOf({ app }: World): string {
  return String((app.server.address() as { port: number }).port)
}

test('a server that fails, limits and changes during the import is still copied', async (t) => {
  const { there, here, run } = await openSides(t, 'sqlite')
  await fill(there)
  const team = `teamId=${there.credentials.teamId}`
  const asked = new Map<string, number>()
  let readsOfDocs = 0
  const between = createServer(async ({ url, headers }, response) => {
    const turn = asked.get(url!) ?? 0
    asked.set(url!, turn + 1)
    // Every request fails once and is limited once before it is answered.
    if (turn % 3 < 2) return void response.writeHead(turn % 3 === 0 ? 503 : 429, { 'retry-after': '0' }).end()
    // Between the plan and its turn a user removes a project, and creates another one.
    if (url!.startsWith('/v9/projects/docs?') && ++readsOfDocs === 2) {
      await there.call('DELETE', `/v9/projects/docs?${team}`)
      await there.call('POST', `/v10/projects?${team}`, { name: 'late' })
    }
    const answer = await fetch(`${addressOf(there)}${url}`, { headers: { authorization: headers.authorization! } })
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text())
  }).listen(0, '127.0.0.1')
  t.after(() => void between.close())
  await new Promise((resolve) => between.once('listening', resolve))
  const through = `http://127.0.0.1:${(between.address() as AddressInfo).port}`
  const first = await run('--yes', '--from', through)
  assert.deepEqual([first.code, first.out.failed, readsOfDocs], [0, [], 2], first.err)
  const namesHere = async () => {
    const { body } = await here.call('GET', `/v9/projects?teamId=${here.credentials.teamId}`)
    return body.projects.map(({ name }) => name).sort()
  }
  assert.deepEqual([first.out.counts.project.created, first.out.counts.variable.created], [1, 5])
  assert.deepEqual(await namesHere(), ['shop'])
  assert.equal((await run('--yes')).out.counts.project.created, 1)
  assert.deepEqual(await namesHere(), ['late', 'shop'])
})
