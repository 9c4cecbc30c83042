/** Integrations registered, changed and removed, and their secrets. docs/spec/operator-api.md; docs/integrations.md: Registering. */

import assert from 'node:assert/strict'
import { withQuery } from '../../support/call.ts'
import { type ApiResponse, onBothEngines, type World } from '../../support/world.ts'
import {
  consentAndInstall,
  REDIRECT,
  seedInstallation,
  seedIntegration,
} from '../../support/worlds/integration-world.ts'

const said = (answer: ApiResponse) => [answer.status, answer.body?.error?.code]
const APPS = '/v1/integrations/apps'
const NEW = { slug: 'logger', name: 'Logger', redirectUrl: REDIRECT, scopes: ['read-write:log-drain', 'read:project'] }

onBothEngines(
  'a team registers an integration, sees, changes and removes it; the secret is shown once',
  async (world) => {
    const { teamId } = world.credentials
    const at = <const U extends string>(path: U) => withQuery(path, `teamId=${teamId}`)
    const made = await world.call('POST', at(APPS), {
      ...NEW,
      webhookUrl: 'https://hear.example.com/',
      logoUrl: 'https://logo.example.com/a.svg',
    })
    assert.equal(made.status, 201, made.text)
    assert.equal(made.headers['cache-control'], 'no-store')
    const { id, clientId, clientSecret, secretId } = made.body
    assert.match(id, /^oac_[0-9A-Za-z]{24}$/)
    assert.equal(clientId, id)
    assert.match(clientSecret, /^berth_secret_[0-9A-Za-z]{43}$/)
    const { createdAt, updatedAt, secrets, webhookId, ...shown } = (await world.call('GET', at(`${APPS}/logger`))).body
    assert.deepEqual(shown, {
      id,
      clientId,
      teamId,
      slug: 'logger',
      name: 'Logger',
      redirectUrl: REDIRECT,
      webhookUrl: 'https://hear.example.com/',
      logoUrl: 'https://logo.example.com/a.svg',
      scopes: ['read-write:log-drain', 'read:project'],
      installUrl: `${world.deps.origin()}/integrations/logger/new`,
    })
    assert.deepEqual(
      secrets.map((one: { id: string }) => one.id),
      [secretId],
    )
    assert.ok(createdAt <= updatedAt)
    const webhook = await world.deps.db.read.selectFrom('webhook').selectAll().executeTakeFirstOrThrow()
    assert.equal(webhookId, webhook.id)
    assert.deepEqual(
      [webhook.account_id, webhook.integration_id, webhook.events_json, webhook.sealed_secret],
      [teamId, id, null, null],
    )
    const change = {
      name: 'Logs',
      redirectUrl: 'http://localhost:3000/cb?x=1',
      webhookUrl: null,
      logoUrl: null,
      scopes: ['read:project'],
    }
    const { webhookUrl, logoUrl, name, redirectUrl, scopes } = (await world.call('PATCH', at(`${APPS}/${id}`), change))
      .body
    assert.deepEqual({ webhookUrl, logoUrl, name, redirectUrl, scopes }, change)
    assert.equal(
      (await world.call('PATCH', at(`${APPS}/${id}`), { webhookUrl: 'https://b.example.com/' })).body.name,
      'Logs',
    )
    const { integrations } = (await world.call('GET', at(APPS))).body
    assert.deepEqual(
      integrations.map((one: { id: string; webhookUrl: string }) => [one.id, one.webhookUrl]),
      [[id, 'https://b.example.com/']],
    )
    assert.equal((await world.call('DELETE', at(`${APPS}/${id}`))).status, 204)
    assert.deepEqual(said(await world.call.try('GET', at(`${APPS}/${id}`))), [404, 'not_found'])
    for (const table of ['integration', 'integration_secret', 'webhook'] as const)
      assert.deepEqual(await world.deps.db.read.selectFrom(table).selectAll().execute(), [], table)
    assert.equal(world.logged().includes(clientSecret), false)
  },
)

onBothEngines(
  'a secret is deleted of its own integration alone; another of the same team has no such secret',
  async (world) => {
    const one = await seedIntegration(world)
    const other = await seedIntegration(world, { slug: 'other' })
    const at = <const U extends string>(path: U) => withQuery(path, `teamId=${world.credentials.teamId}`)
    const end = (id: string, secretId: string) => world.call.try('DELETE', at(`${APPS}/${id}/secrets/${secretId}`))
    // With a second one, the rule of the last secret does not refuse it.
    assert.equal((await world.call('POST', at(`${APPS}/${one.id}/secrets`))).status, 201)
    assert.deepEqual(said(await end(one.id, other.secretId)), [404, 'not_found'])
    assert.deepEqual(said(await end(other.id, other.secretId)), [409, 'conflict'], 'each counts its own')
    const rows = await world.deps.db.read.selectFrom('integration_secret').select('id').execute()
    assert.equal(rows.length, 3)
    assert.equal((await end(one.id, one.secretId)).status, 204)
    assert.deepEqual(said(await end(one.id, one.secretId)), [404, 'not_found'])
  },
)

onBothEngines('only the OWNER of its team manages an integration; to other teams it does not exist', async (world) => {
  const { teamId } = world.credentials
  const app = await seedIntegration(world)
  const rival = await world.user('rival')
  await world.operator('POST', '/operator/v1/teams', { slug: 'rivals', name: 'R', ownerId: rival.id })
  const requests = [
    ['GET', `${APPS}/ID`, undefined],
    ['PATCH', `${APPS}/ID`, { name: 'Mine' }],
    ['POST', `${APPS}/ID/secrets`, undefined],
    ['DELETE', `${APPS}/ID/secrets/${app.secretId}`, undefined],
    ['DELETE', `${APPS}/ID`, undefined],
  ] as const
  for (const named of [app.id, app.slug]) {
    for (const [method, path, body] of requests) {
      const foreign = await rival.call.try(method, `${path.replace('ID', named)}?slug=rivals`, body)
      const unknown = await rival.call.try(method, `${path.replace('ID', 'oac_unknown')}?slug=rivals`, body)
      assert.deepEqual(said(foreign), [404, 'not_found'])
      assert.equal(foreign.text.replace(named, ''), unknown.text.replace('oac_unknown', ''))
    }
  }
  assert.deepEqual(said(await world.call.try('POST', APPS, NEW)), [403, 'forbidden'], 'a personal account has none')
  assert.match((await world.call.try('GET', APPS)).body.error.message, /team/)
  for (const role of ['MEMBER', 'DEVELOPER', 'VIEWER', 'BILLING']) {
    const path = `/operator/v1/teams/${teamId}/members/${rival.id}` as const
    await world.operator('PUT', path, { role })
    const inTeam = (path: string) => `${path.replace('ID', app.id)}?teamId=${teamId}`
    assert.deepEqual(said(await rival.call.try('POST', inTeam(APPS), NEW)), [403, 'forbidden'], role)
    for (const [method, path, body] of requests.slice(1)) {
      assert.deepEqual(said(await rival.call.try(method, inTeam(path), body)), [403, 'forbidden'], `${role} ${method}`)
    }
    assert.equal((await rival.call.try('GET', inTeam(`${APPS}/ID`))).status, role === 'BILLING' ? 403 : 200, role)
    await world.operator('DELETE', path)
  }
  const rows = await world.deps.db.read.selectFrom('integration').selectAll().execute()
  assert.deepEqual(
    rows.map((row) => row.name),
    ['Helper'],
  )
})

onBothEngines('an invalid integration is refused by the name of the field, and nothing is written', async (world) => {
  const { teamId } = world.credentials
  const wrong: [object, RegExp][] = [
    ...['', 'A', 'a b', 'a.b', '-a', 'a-', 'ä', 'apps', 'configuration', 'configurations', 'new', 'x'.repeat(49)].map(
      (slug): [object, RegExp] => [{ slug }, /`slug`/],
    ),
    ...[
      'example.com/cb',
      '/cb',
      'http://example.com/cb',
      'http://localhost.example.com/cb',
      'http://127.0.0.2/cb',
      'ftp://example.com',
      'javascript://example.com/%0aalert(1)',
      'https://example.com/cb#top',
      'https://example.com/cb#',
      'https://user@example.com/cb',
      'https://user:pass@example.com/cb',
      'https://example.com/a b',
      'https://example.com/\n',
      ' https://example.com/',
      'https:\\\\example.com',
      'https:example.com',
      'https://exämple.com/',
      'https://',
      `https://example.com/${'x'.repeat(2000)}`,
    ].map((redirectUrl): [object, RegExp] => [{ redirectUrl }, /`redirectUrl`/]),
    ...[
      'ftp://x.example.com',
      'https://x.example.com/#f',
      'x',
      'http://127.0.0.1:9/',
      'https://10.0.0.1/',
      'https://[::1]/',
      'http://localhost/',
    ].map((webhookUrl): [object, RegExp] => [{ webhookUrl }, /`webhookUrl`/]),
    ...['http://x.example.com/a.png', 'data:image/png;base64,AA', 'https://u@x.example.com'].map(
      (logoUrl): [object, RegExp] => [{ logoUrl }, /`logoUrl`/],
    ),
    ...[
      ['project'],
      ['write:project'],
      ['read:all'],
      ['read:project', 'read-write:project'],
      ['read:project', 'read:project'],
      'read:project',
      Array(12).fill('read:user'),
    ].map((scopes): [object, RegExp] => [{ scopes }, /`scopes/]),
    ...['', '  ', 'a\nb', '\u200b', '\u202eevil'].map((name): [object, RegExp] => [{ name }, /`name`/]),
  ]
  const { id } = (await world.operator('POST', '/operator/v1/integrations', { ...NEW, slug: 'there', teamId })).body
  const before = await world.deps.db.read.selectFrom('integration').selectAll().execute()
  const change = await world.operator.try('PATCH', `/operator/v1/integrations/${id}`, {
    webhookUrl: 'http://10.0.0.1/',
  })
  assert.deepEqual(said(change), [400, 'bad_request'])
  assert.match(change.body.error.message, /`webhookUrl`: the address is private, local or reserved/)
  for (const [field, message] of wrong) {
    const answer = await world.operator.try('POST', '/operator/v1/integrations', { ...NEW, teamId, ...field })
    assert.deepEqual(said(answer), [400, 'bad_request'], JSON.stringify(field))
    assert.match(answer.body.error.message, message)
  }
  for (const team of ['team_unknown', world.credentials.userId]) {
    assert.deepEqual(said(await world.operator.try('POST', '/operator/v1/integrations', { ...NEW, teamId: team })), [
      400,
      'bad_request',
    ])
  }
  assert.deepEqual(await world.deps.db.read.selectFrom('integration').selectAll().execute(), before)
  for (const [at, redirectUrl] of [
    'http://localhost:8080/cb',
    'http://127.0.0.1/cb',
    'http://[::1]:1/',
    'https://example.com/?a=b&c',
    'HTTPS://Example.com/CB',
  ].entries()) {
    const made = await world.operator('POST', '/operator/v1/integrations', {
      ...NEW,
      slug: `ok-${at}`,
      teamId,
      redirectUrl,
    })
    assert.equal(made.status, 201, `${redirectUrl} ${made.text}`)
  }
})

onBothEngines('of 20 simultaneous requests for one slug one gets it', async (world) => {
  const { teamId } = world.credentials
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => world.operator.try('POST', '/operator/v1/integrations', { ...NEW, teamId })),
  )
  assert.deepEqual(answers.map((answer) => answer.status).sort(), [201, ...Array(19).fill(409)])
  const secrets = await world.deps.db.read.selectFrom('integration_secret').selectAll().execute()
  assert.equal(secrets.length, 1)
})

onBothEngines('there are one or two secrets, however many ask at once, and never none', async (world) => {
  const app = await seedIntegration(world)
  const path = `/operator/v1/integrations/${app.id}/secrets` as const
  const made = await Promise.all(Array.from({ length: 10 }, () => world.operator.try('POST', path)))
  assert.deepEqual(made.map((answer) => answer.status).sort(), [201, ...Array(9).fill(409)])
  const second = made.find((answer) => answer.status === 201)!.body
  assert.notEqual(second.clientSecret, app.clientSecret)
  const ends = await Promise.all([app.secretId, second.id].map((id) => world.operator.try('DELETE', `${path}/${id}`)))
  assert.deepEqual(ends.map((answer) => answer.status).sort(), [204, 409])
  assert.deepEqual(said(await world.operator.try('DELETE', `${path}/sec_unknown`)), [404, 'not_found'])
  const stored = JSON.stringify(await world.deps.db.read.selectFrom('integration_secret').selectAll().execute())
  for (const secret of [app.clientSecret, second.clientSecret]) assert.equal(stored.includes(secret), false)
})

onBothEngines('an integration that is installed is not removed; once it is not, it is', async (world) => {
  const { app, installationId } = await seedInstallation(world)
  const path = `/operator/v1/integrations/${app.id}` as const
  assert.deepEqual(said(await world.operator.try('DELETE', path)), [409, 'conflict'])
  const { teamId } = world.credentials
  assert.equal(
    (await world.call('DELETE', `/v1/integrations/configuration/${installationId}?teamId=${teamId}`)).status,
    204,
  )
  assert.equal((await world.operator('DELETE', path)).status, 204)
  assert.deepEqual(said(await world.operator.try('GET', path)), [404, 'not_found'])
})

onBothEngines('the list pages, and the operator sees all teams or one', async (world) => {
  const rival = await world.user('rival')
  const team = (await world.operator('POST', '/operator/v1/teams', { slug: 'rivals', name: 'R', ownerId: rival.id }))
    .body
  for (let at = 0; at < 5; at++) await seedIntegration(world, { slug: `ours-${at}` })
  await seedIntegration(world, { slug: 'theirs', teamId: team.id })
  const slugs = async (query: string) => {
    const seen: string[] = []
    for (let until: number | null | undefined; until !== null; ) {
      const from: string = until === undefined ? '' : `&until=${until}`
      const { body } = await world.operator('GET', `/operator/v1/integrations?${query}&limit=2${from}`)
      seen.push(...body.integrations.map((one: { slug: string }) => one.slug))
      until = body.pagination.next
    }
    return seen
  }
  const ours = ['ours-4', 'ours-3', 'ours-2', 'ours-1', 'ours-0']
  assert.deepEqual(await slugs(''), ['theirs', ...ours])
  assert.deepEqual(await slugs(`teamId=${world.credentials.teamId}`), ours)
  const { body } = await rival.call('GET', `${APPS}?slug=rivals`)
  assert.deepEqual(
    body.integrations.map((one: { slug: string }) => one.slug),
    ['theirs'],
  )
})

onBothEngines('a user without the right to install is refused, and nothing is written', async (world: World) => {
  const { userId, teamId } = world.credentials
  const app = await seedIntegration(world)
  const other = await world.user('other')
  const member = await world.user('member')
  await world.operator('PUT', `/operator/v1/teams/${teamId}/members/${member.id}`, { role: 'MEMBER' })
  const foreign = (await other.call('POST', '/v10/projects', { name: 'theirs' })).body.id
  const own = (await world.call('POST', '/v10/projects', { name: 'mine' })).body.id
  const suspended = await world.user('suspended')
  await world.operator('PUT', `/operator/v1/teams/${teamId}/members/${suspended.id}`, { role: 'OWNER' })
  await world.operator('PATCH', `/operator/v1/users/${suspended.id}`, { suspended: true })
  const wrong: [object, [number, string]][] = [
    [{ userId: suspended.id, teamId, projects: 'all' }, [409, 'conflict']],
    [{ userId: suspended.id, projects: 'all' }, [409, 'conflict']],
    [{ userId: 'usr_none', projects: 'all' }, [400, 'bad_request']],
    [{ userId: teamId, projects: 'all' }, [400, 'bad_request']],
    [{ userId, teamId: 'team_none', projects: 'all' }, [400, 'bad_request']],
    [{ userId, teamId: other.id, projects: 'all' }, [400, 'bad_request']],
    [{ userId: other.id, teamId, projects: 'all' }, [403, 'forbidden']],
    [{ userId: member.id, teamId, projects: 'all' }, [403, 'forbidden']],
    [{ userId, projects: [foreign] }, [400, 'bad_request']],
    [{ userId, teamId, projects: [own] }, [400, 'bad_request']],
    [{ userId, projects: [] }, [400, 'bad_request']],
    [{ userId, projects: 'some' }, [400, 'bad_request']],
    [{ userId }, [400, 'bad_request']],
  ]
  for (const [body, expected] of wrong) {
    const answer = await world.operator.try('POST', `/operator/v1/integrations/${app.id}/installations`, body)
    assert.deepEqual(said(answer), expected, JSON.stringify(body))
  }
  assert.deepEqual(await world.deps.db.read.selectFrom('configuration').selectAll().execute(), [])
  const ids = await Promise.all(
    Array.from({ length: 10 }, () => consentAndInstall(world, app, { teamId: undefined, projects: [own] })),
  )
  assert.equal(new Set(ids.map((one) => one.installationId)).size, 1, 'ten consents at once are one installation')
  assert.equal(new Set(ids.map((one) => one.code)).size, 10)
})
