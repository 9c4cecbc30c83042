/** Names, deletes and races of projects: operations 1, 3, 4 and 5, as the specification and docs/spec/decisions.md say them. */
import assert from 'node:assert/strict'
import { digest } from '../../support/stores/digest.ts'
import { onBothEngines } from '../../support/world.ts'

onBothEngines('a create returns the complete project, which can be read by id and by name', async ({ call }) => {
  const made = await call('POST', '/v10/projects', { name: 'web', framework: 'nextjs', buildCommand: 'make' })
  assert.equal(made.status, 200)
  assert.match(made.body.id, /^prj_[0-9A-Za-z]{28}$/)
  assert.equal(made.body.framework, 'nextjs')
  assert.equal(made.body.nodeVersion, '22.x')
  assert.equal('paused' in made.body, false)
  for (const said of [made.body.id, 'web']) {
    assert.deepEqual((await call('GET', `/v9/projects/${said}`)).body, made.body)
  }
})

onBothEngines(
  'every name that the rule allows works: create a project, read, list, rename and delete it',
  async ({ call }) => {
    const names = [
      'a',
      'x'.repeat(100),
      '--',
      'a--b',
      '-',
      '_',
      '0',
      '123',
      '1e3',
      'true',
      'false',
      'null',
      'undefined',
    ]
    names.push(
      '__proto__',
      'constructor',
      'tostring',
      'prj',
      'prj-1',
      'projects',
      'nan',
      '0x10',
      '-1',
      '1.5',
      'a.b_c-d',
    )
    for (const name of names) {
      const made = await call('POST', '/v10/projects', { name })
      assert.deepEqual([made.status, made.body.name], [200, name], made.text)
    }
    for (const name of names) {
      const found = await call('GET', `/v9/projects/${name}`)
      assert.deepEqual([found.status, found.body.name], [200, name], found.text)
      assert.equal((await call.try('POST', '/v10/projects', { name })).status, 409, name)
      assert.equal((await call('POST', `/v1/projects/${name}/pause`)).body.paused, true)
      assert.equal((await call('PATCH', `/v9/projects/${name}`, { name: `r${name}`.slice(0, 100) })).status, 200, name)
      assert.equal((await call('DELETE', `/v9/projects/${`r${name}`.slice(0, 100)}`)).status, 204, name)
    }
    assert.equal((await call('GET', '/v9/projects?limit=100')).body.projects.length, 0)
  },
)

onBothEngines(
  'a name that the rule does not allow is 400 invalid_project_name at create and at update',
  async (world) => {
    const { call } = world
    await call('POST', '/v10/projects', { name: 'web' })
    const before = await digest(world)
    const names = [
      '',
      'x'.repeat(101),
      '.',
      '..',
      '---',
      'a---b',
      'a----',
      'prj_',
      'prj_abc',
      'Web',
      'wéb',
      'веб',
      '网',
      'a b',
      ' a',
      'a ',
      'a\n',
    ]
    names.push(
      'a/b',
      'a%2fb',
      'a\\b',
      '\u{1f642}',
      'a\u0301',
      'ａ',
      'a\u200b',
      '\ta',
      "a'b",
      'a"b',
      'a;b',
      'a,b',
      '$a',
      '@a',
      '*',
    )
    for (const name of names) {
      for (const answer of [
        await call.try('POST', '/v10/projects', { name }),
        await call.try('PATCH', '/v9/projects/web', { name }),
      ]) {
        assert.deepEqual([answer.status, answer.body.error.code], [400, 'invalid_project_name'], JSON.stringify(name))
        assert.match(answer.body.error.message, /100 characters/)
      }
    }
    for (const name of [null, 1, true, ['a'], { a: 1 }]) {
      for (const answer of [
        await call.try('POST', '/v10/projects', { name }),
        await call.try('PATCH', '/v9/projects/web', { name }),
      ]) {
        assert.deepEqual([answer.status, answer.body.error.code], [400, 'bad_request'], JSON.stringify(name))
        assert.match(answer.body.error.message, /`name`/)
      }
    }
    assert.equal(await digest(world), before)
  },
)

onBothEngines('of 20 simultaneous creates with one name one succeeds and 19 answer 409', async ({ call }) => {
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => call.try('POST', '/v10/projects', { name: 'web' })),
  )
  assert.deepEqual(answers.map((answer) => answer.status).sort(), [200, ...Array(19).fill(409)])
  assert.equal((await call('GET', '/v9/projects')).body.projects.length, 1)
  const refused = answers.find((answer) => answer.status === 409)
  assert.deepEqual(refused?.body, { error: { code: 'conflict', message: 'A project named "web" already exists.' } })
})

onBothEngines('of 20 simultaneous renames to one name one wins, and the others keep their names', async ({ call }) => {
  const names = Array.from({ length: 20 }, (_, at) => `p${at}`)
  await Promise.all(names.map((name) => call('POST', '/v10/projects', { name })))
  const answers = await Promise.all(names.map((name) => call.try('PATCH', `/v9/projects/${name}`, { name: 'won' })))
  assert.deepEqual(answers.map((answer) => answer.status).sort(), [200, ...Array(19).fill(409)])
  for (const { status, body } of answers) if (status === 409) assert.equal(body.error.code, 'conflict')
  const { projects } = (await call('GET', '/v9/projects?limit=100')).body
  const winner = names[answers.findIndex((answer) => answer.status === 200)]
  const expected = names.map((name) => (name === winner ? 'won' : name)).sort()
  assert.deepEqual(projects.map((project: { name: string }) => project.name).sort(), expected)
})

onBothEngines('simultaneous updates of different fields all land', async ({ call }) => {
  await call('POST', '/v10/projects', { name: 'web' })
  const changes: Record<string, unknown>[] = [
    ...['buildCommand', 'devCommand', 'installCommand', 'outputDirectory', 'rootDirectory'].map((name) => ({
      [name]: name,
    })),
    ...['gitLFS', 'directoryListing', 'publicSource', 'autoExposeSystemEnvs'].map((name) => ({ [name]: true })),
    ...[{ gitForkProtection: false }, { framework: 'vite' }, { nodeVersion: '18.x' }, { skewProtectionMaxAge: 7 }],
    ...[{ gitComments: { onPullRequest: true, onCommit: true } }, { ssoProtection: { deploymentType: 'preview' } }],
  ]
  const answers = await Promise.all([
    ...changes.map((change) => call.try('PATCH', '/v9/projects/web', change)),
    call.try('PATCH', '/v1/data-cache/projects/web', { disabled: true }),
    call.try('POST', '/v1/projects/web/pause'),
  ])
  for (const answer of answers) assert.equal(answer.status, 200, answer.text)
  const { body } = await call('GET', '/v9/projects/web')
  const fields: Record<string, unknown> = body
  for (const change of changes) {
    for (const [name, value] of Object.entries(change)) assert.deepEqual(fields[name], value, name)
  }
  assert.deepEqual([body.paused, body.autoAssignCustomDomains, body.dataCache.userDisabled], [true, false, true])
})

onBothEngines(
  'a deleted project is gone by id and by name, and its name is free; of ten deletes one is 204',
  async ({ call }) => {
    const { id } = (await call('POST', '/v10/projects', { name: 'web' })).body
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, at) => call.try('DELETE', `/v9/projects/${at % 2 ? 'web' : id}`)),
    )
    assert.deepEqual(answers.map((answer) => answer.status).sort(), [204, ...Array(9).fill(404)])
    const done = answers.find((answer) => answer.status === 204)
    assert.deepEqual([done?.text, done?.headers['content-type']], ['', undefined])
    for (const said of ['web', id]) {
      const answer = await call.try('GET', `/v9/projects/${said}`)
      assert.deepEqual([answer.status, answer.body.error.code], [404, 'not_found'])
    }
    const again = await call('POST', '/v10/projects', { name: 'web' })
    assert.equal(again.status, 200)
    assert.notEqual(again.body.id, id)
  },
)

onBothEngines(
  'concurrent creates, updates and deletes of one name leave complete projects and nothing else',
  async ({ call }) => {
    await call('POST', '/v10/projects', { name: 'web' })
    const storm = Array.from({ length: 60 }, (_, at) => {
      if (at % 3 === 0) return call.try('POST', '/v10/projects', { name: 'web' })
      return at % 3 === 1
        ? call.try('DELETE', '/v9/projects/web')
        : call.try('PATCH', '/v9/projects/web', { devCommand: `${at}` })
    })
    const answers = await Promise.all(storm)
    const count = (at: number, status: number) =>
      answers.filter((answer, n) => n % 3 === at && answer.status === status).length
    for (const [n, { status, text }] of answers.entries())
      assert.ok(
        [
          [200, 409],
          [204, 404],
          [200, 404],
        ][n % 3]!.includes(status),
        text,
      )
    const { projects } = (await call('GET', '/v9/projects')).body
    assert.equal(projects.length, 1 + count(0, 200) - count(1, 204))
  },
)

onBothEngines(
  'each account can have a project of the same name, and sees its own',
  async ({ call, credentials, user }) => {
    const other = await user('other')
    const team = `teamId=${credentials.teamId}`
    const ids = new Set<string>()
    for (const make of [
      () => call.try('POST', '/v10/projects', { name: 'web' }),
      () => call.try('POST', `/v10/projects?${team}`, { name: 'web' }),
      () => other.call.try('POST', '/v10/projects', { name: 'web' }),
    ]) {
      ids.add((await make()).body.id)
      assert.equal((await make()).status, 409)
    }
    assert.equal(ids.size, 3)
    assert.equal((await call('GET', `/v9/projects/web?${team}`)).body.accountId, credentials.teamId)
    assert.equal((await call('GET', '/v9/projects/web?slug=team')).body.accountId, credentials.teamId)
    assert.equal((await call('GET', '/v9/projects/web')).body.accountId, credentials.userId)
    assert.equal((await other.call('GET', '/v9/projects')).body.projects.length, 1)
  },
)

onBothEngines('a change that keeps the name emits no rename event', async (world) => {
  await world.call('POST', '/v10/projects', { name: 'web' })
  const hook = { url: 'https://hooks.example.com/in', events: ['project.renamed'] }
  assert.equal((await world.call('POST', '/v1/webhooks', hook)).status, 200)
  const told = async () => (await world.operator('GET', '/operator/v1/webhook-deliveries')).body.deliveries.length
  for (const body of [{ framework: 'astro' }, { name: 'web' }, {}])
    assert.equal((await world.call('PATCH', '/v9/projects/web', body)).status, 200)
  assert.equal(await told(), 0)
  assert.equal((await world.call('PATCH', '/v9/projects/web', { name: 'shop' })).status, 200)
  assert.equal(await told(), 1)
})
