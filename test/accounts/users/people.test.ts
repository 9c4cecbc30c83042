/** The operator's view of users: found, suspended, removed; and what is left of them. docs/operations.md: User administration. */
import assert from 'node:assert/strict'
import { writeLastSeen } from '../../../src/platform/access/last-seen.ts'
import { rowsOf, type Store, tablesOf } from '../../../src/platform/db/tables.ts'
import { sendDueMail } from '../../../src/platform/mail/worker.ts'
import { openClient, openSignedInClient, PASSWORD, seedPassword } from '../../support/clients/browser-client.ts'
import { eventually } from '../../support/eventually.ts'
import { seedProject } from '../../support/projects.ts'
import { deliver, LOCAL, receiver } from '../../support/servers/receiver.ts'
import { type ApiResponse, onBothEngines, type World } from '../../support/world.ts'
import {
  consentAndInstall,
  exchange,
  seedInstallation,
  seedIntegration,
} from '../../support/worlds/integration-world.ts'

const said = (answer: ApiResponse) => [answer.status, answer.body?.error?.code]
const HOUR_MS = 3_600_000

onBothEngines('users, teams and tokens are listed in pages, searched and shown, never with a secret', async (world) => {
  const { operator, credentials } = world
  const people = await Promise.all(['ada', 'bob', 'cleo'].map((name) => world.user(name)))
  await operator('PATCH', `/operator/v1/users/bob`, { name: '100% Bob' })
  await operator('POST', '/operator/v1/teams', { slug: 'acme', name: 'Acme Inc.', ownerId: 'ada' })
  const names = async (query: string) =>
    (await operator('GET', `/operator/v1/users?${query}`)).body.users.map((one: { username: string }) => one.username)
  const seen: string[] = []
  for (let until = ''; ; ) {
    const { users, pagination } = (await operator('GET', `/operator/v1/users?limit=2${until}`)).body
    seen.push(...users.map((one: { username: string }) => one.username))
    if (pagination.next === null) break
    until = `&until=${pagination.next}`
  }
  assert.deepEqual(seen.sort(), ['ada', 'admin', 'bob', 'cleo'])
  assert.deepEqual(await names('search=ADA@'), ['ada'])
  assert.deepEqual(await names('search=0%25%20b'), ['bob'])
  assert.deepEqual(await names('search=%25_'), [])
  const teams = async (query: string) =>
    (await operator('GET', `/operator/v1/teams?${query}`)).body.teams.map((one: { slug: string }) => one.slug)
  assert.deepEqual(await teams(''), ['acme', 'team'])
  assert.deepEqual(await teams('search=inc'), ['acme'])

  await openSignedInClient(world, people[0]!.id, 'ada')
  const ada = await operator('GET', '/operator/v1/users/ada')
  assert.deepEqual(
    [ada.body.teams.length, ada.body.teams[0].slug, ada.body.sessions.length, ada.body.tokens.length],
    [1, 'acme', 1, 1],
  )
  const acme = (await operator('GET', '/operator/v1/teams/acme')).body
  assert.deepEqual([acme.projectCount, acme.members[0].username, acme.members[0].role], [0, 'ada', 'OWNER'])
  assert.deepEqual(said(await operator.try('GET', '/operator/v1/teams/ada')), [404, 'not_found'])

  const tokens = async (query: string) => (await operator('GET', `/operator/v1/tokens?${query}`)).body.tokens
  assert.equal((await tokens('limit=100')).length, 4)
  assert.equal((await tokens('userId=bob')).length, 1)
  assert.equal((await tokens('search=FIRST'))[0].userId, credentials.userId)
  const shown = JSON.stringify([ada.body, await tokens('limit=100')])
  for (const { token } of people) assert.equal(shown.includes(token), false)
  assert.equal(/[0-9a-f]{64}/.test(shown), false, 'nor a hash')
})

onBothEngines('who and which token was seen last is known to the hour, and no read is a write', async (world) => {
  const { operator, deps } = world
  const ada = await world.user('ada')
  const writes = async () => Number((await deps.db.read.selectFrom('seen').selectAll().execute()).length)
  const now = Date.now()
  for (let at = 0; at < 5; at++) await ada.call('GET', '/v9/projects')
  assert.equal(await writes(), 0)
  await writeLastSeen(deps)
  assert.equal(await writes(), 2)
  assert.deepEqual(deps.lastSeen.drain(), [])
  await ada.call('GET', '/v9/projects')
  assert.deepEqual(deps.lastSeen.drain(), [], 'within the hour nothing is written again')
  const { lastSeenAt, tokens } = (await operator('GET', '/operator/v1/users/ada')).body
  assert.ok(lastSeenAt > now - HOUR_MS && lastSeenAt <= Date.now() && lastSeenAt % HOUR_MS === 0)
  assert.equal(tokens[0].lastUsedAt, lastSeenAt)
  const unused = async (since: number) =>
    (await operator('GET', `/operator/v1/tokens?unusedSince=${since}`)).body.tokens.map(
      (one: { userId: string }) => one.userId,
    )
  assert.deepEqual(await unused(now - 2 * HOUR_MS), [], 'made since')
  assert.deepEqual((await unused(Date.now() + 2 * HOUR_MS)).sort(), [ada.id, world.credentials.userId].sort())
})

onBothEngines('a suspended user is out at once, what they set up is held, and all of it comes back', async (world) => {
  const { operator, credentials } = world
  const { teamId } = credentials
  const ada = await world.user('ada')
  await world.join(ada, 'OWNER')
  await seedProject(world, 'web', `?teamId=${teamId}`)
  const app = await seedIntegration(world, { slug: 'mine' })
  const { code } = await consentAndInstall(world, app, { userId: ada.id, teamId })
  const { access_token } = (await exchange(world, app, code)).body
  const installed = () => world.as(access_token).try('GET', `/v9/projects?teamId=${teamId}`)
  assert.equal((await installed()).status, 200)
  const hook = { url: 'https://hooks.example.com', events: ['project.created'] }
  const { id } = (await ada.call('POST', `/v1/webhooks?teamId=${teamId}`, hook)).body
  const heldReason = async () => (await world.call('GET', `/v1/webhooks/${id}?teamId=${teamId}`)).body.heldReason
  const browser = await openSignedInClient(world, ada.id, 'ada')

  const path = '/operator/v1/users/ada'
  const answer = await operator('PATCH', path, { suspended: true })
  assert.deepEqual([answer.status, answer.body.suspended], [200, true])
  assert.equal((await operator('PATCH', path, { suspended: true })).status, 200, 'twice is as once')
  for (const query of ['', `?teamId=${teamId}`])
    assert.equal((await ada.call.try('GET', `/v9/projects${query}`)).status, 401)
  assert.equal((await ada.call.try('POST', '/v10/projects', { name: 'no' })).status, 401)
  assert.equal((await browser.get('/integrations/installed')).status, 303)
  const again = openClient(world)
  await again.get('/sign-in')
  assert.equal((await again.post('/sign-in', { name: 'ada', password: PASSWORD })).status, 403)
  assert.deepEqual(said(await installed()), [403, 'integration_configuration_disabled'])
  assert.equal(await heldReason(), 'disabled-by-admin')
  assert.deepEqual(said(await operator.try('POST', '/operator/v1/tokens', { userId: 'ada' })), [409, 'conflict'])
  const months = { now: Date.now() + 100 * 24 * HOUR_MS }
  for (const timer of ['disabled-configurations', 'held-endpoints']) {
    const swept = await operator.try('POST', `/operator/v1/timers/${timer}/run`, months)
    if (swept.status === 200) assert.equal(swept.body.swept, 0, timer)
  }

  assert.equal((await operator('PATCH', path, { suspended: false })).body.suspended, false)
  assert.equal((await ada.call('GET', `/v9/projects?teamId=${teamId}`)).status, 200)
  assert.equal((await installed()).status, 200)
  assert.equal(await heldReason(), undefined)
  assert.equal((await again.post('/sign-in', { name: 'ada', password: PASSWORD })).status, 303)
  // All comes back but the sessions: an attacker may have had one.
  const previous = await browser.get('/integrations/installed')
  assert.deepEqual([previous.status, previous.location.startsWith('/sign-in')], [303, true])
})

onBothEngines(
  'a user who loses a role while suspended does not get back what they set up, and its 30 days run',
  async (world) => {
    const { operator, credentials } = world
    const { teamId } = credentials
    const app = await seedIntegration(world, { slug: 'mine' })
    for (const [name, lose] of [
      ['ada', (id: string) => operator.try('PUT', `/operator/v1/teams/${teamId}/members/${id}`, { role: 'VIEWER' })],
      ['bob', (id: string) => operator.try('DELETE', `/operator/v1/teams/${teamId}/members/${id}`)],
    ] as const) {
      const person = await world.user(name)
      await world.join(person, 'OWNER')
      const { installationId } = await consentAndInstall(world, app, { userId: person.id, teamId })
      const hook = { url: 'https://hooks.example.com', events: ['project.created'] }
      const { id } = (await person.call('POST', `/v1/webhooks?teamId=${teamId}`, hook)).body
      const path = `/operator/v1/users/${name}` as const
      assert.equal((await operator('PATCH', path, { suspended: true })).status, 200)
      assert.ok((await lose(person.id)).status < 300)
      assert.equal((await operator('PATCH', path, { suspended: false })).status, 200)
      const reason = name === 'ada' ? 'original-owner-role-downgraded' : 'original-owner-left-the-team'
      const webhook = await world.call('GET', `/v1/webhooks/${id}?teamId=${teamId}`)
      assert.equal(webhook.body.heldReason, reason)
      const shown = await world.call('GET', `/v1/integrations/configuration/${installationId}?teamId=${teamId}`)
      assert.equal(shown.body.disabledReason, reason)
    }
    const months = { now: Date.now() + 100 * 24 * HOUR_MS }
    assert.equal((await operator('POST', '/operator/v1/timers/held-endpoints/run', months)).body.swept, 2)
    assert.equal((await operator('POST', '/operator/v1/timers/disabled-configurations/run', months)).body.swept, 1)
  },
)

onBothEngines(
  'suspended in the middle of a storm of writes: no effect is committed after the answer',
  async (world) => {
    const ada = await world.user('ada')
    let over = false
    let made = 0
    const write = async (worker: number) => {
      for (let at = 0; !over; at++) {
        const name = `p-${worker}-${at}`
        const { status } = await ada.call.try('POST', '/v10/projects', { name })
        if (status === 200) made++
      }
    }
    const storm = Array.from({ length: 6 }, (_, worker) => write(worker))
    await eventually(() => made >= 12)
    assert.equal((await world.operator('PATCH', '/operator/v1/users/ada', { suspended: true })).status, 200)
    const count = async () =>
      (await world.deps.db.read.selectFrom('project').select('id').where('account_id', '=', ada.id).execute()).length
    const atAnswer = await count()
    // The storm goes on.
    await new Promise((resolve) => setTimeout(resolve, 100))
    over = true
    await Promise.all(storm)
    assert.equal(await count(), atAnswer)
  },
)

onBothEngines('a token is ended by its value, and the answer does not reveal whether there was one', async (world) => {
  const ada = await world.user('ada')
  const revoke = (token: string) => world.operator('POST', '/operator/v1/tokens/revoke', { token })
  for (const token of ['nonsense', `berth_${'a'.repeat(40)}`, ada.token, ada.token]) {
    const answer = await revoke(token)
    assert.deepEqual([answer.status, answer.text], [204, ''], token)
  }
  assert.equal((await ada.call.try('GET', '/v2/user')).status, 401)
  const bob = await world.user('bob')
  await world.operator('PATCH', '/operator/v1/users/bob', { suspended: true })
  await revoke(bob.token)
  await world.operator('PATCH', '/operator/v1/users/bob', { suspended: false })
  assert.equal((await bob.call.try('GET', '/v2/user')).status, 401, 'also of who is suspended')
  assert.equal(world.logged().includes(ada.token), false)
})

onBothEngines(
  'a team is removed with all that it has when forced, and its name is reserved for its OWNERs',
  async (world) => {
    const { operator } = world
    const [ada, eve] = [await world.user('ada'), await world.user('eve')]
    const acme = await operator('POST', '/operator/v1/teams', { slug: 'acme', name: 'Acme', ownerId: ada.id })
    const query = `?teamId=${acme.body.id}`
    const bound = (await operator('POST', '/operator/v1/tokens', { userId: 'ada', teamId: 'acme' })).body.token
    await ada.call('POST', `/v10/projects${query}`, { name: 'web' })
    await ada.call('POST', `/v10/projects/web/env${query}`, { key: 'A', value: 'v', target: ['preview'] })
    await ada.call('POST', `/v1/webhooks${query}`, { url: 'https://h.example.com', events: ['project.removed'] })
    const invited = await ada.call('POST', `/v1/teams/acme/members${query}`, { uid: eve.id })
    await operator('PATCH', '/operator/v1/users/ada', { defaultTeamId: 'acme' })
    const held = await operator.try('DELETE', '/operator/v1/teams/acme')
    assert.deepEqual(said(held), [409, 'conflict'])
    assert.match(held.body.error.message, /acme has projects/)
    assert.equal((await operator('DELETE', '/operator/v1/teams/acme?force=true')).status, 204)
    assert.equal((await operator.try('GET', '/operator/v1/teams/acme')).status, 404)
    assert.equal((await ada.call.try('GET', `/v9/projects${query}`)).status, 403)
    assert.equal((await world.as(bound).try('GET', '/v9/projects')).status, 401)
    const inviteCode = invited.body.inviteUrl.split('/').at(-1)
    const join = `/v1/teams/${acme.body.id}/members/teams/join` as const
    assert.equal((await eve.call.try('POST', join, { inviteCode })).status, 404)
    assert.equal((await operator('GET', '/operator/v1/users/ada')).body.defaultTeamId, null)
    for (const table of ['project', 'webhook', 'member', 'token', 'invitation'] as const) {
      const rows = await world.deps.db.read.selectFrom(table).selectAll().execute()
      assert.equal(JSON.stringify(rows).includes(acme.body.id), false, table)
    }
    const again = (ownerId: string) => operator.try('POST', '/operator/v1/teams', { slug: 'acme', name: 'A', ownerId })
    assert.equal((await again('eve')).status, 409)
    assert.equal((await again('ada')).status, 201)
  },
)

onBothEngines(
  'the integrations that a removed team had installed end with it, and those of other teams stay',
  async (world) => {
    const { operator, credentials } = world
    const ada = await world.user('ada')
    const acme = (await operator('POST', '/operator/v1/teams', { slug: 'acme', name: 'Acme', ownerId: ada.id })).body
    const [here, there] = [
      { userId: credentials.userId, teamId: credentials.teamId },
      { userId: ada.id, teamId: acme.id },
    ]
    const app = await seedIntegration(world, { slug: 'mine' })
    const stays = await seedInstallation(world, { app }, here)
    const again = await seedIntegration(world, { slug: 'other' })
    const goes = await seedInstallation(world, { app: again }, there)
    assert.equal((await goes.call('GET', `/v9/projects?teamId=${acme.id}`)).status, 200)
    assert.equal((await operator('DELETE', '/operator/v1/teams/acme')).status, 204)
    assert.equal((await stays.call('GET', `/v9/projects?teamId=${credentials.teamId}`)).status, 200)
    assert.ok((await goes.call.try('GET', `/v9/projects?teamId=${acme.id}`)).status >= 401)
    const rows = await world.deps.db.read.selectFrom('configuration').select(['id', 'deleted_at']).execute()
    assert.deepEqual(
      rows.filter(({ deleted_at }) => deleted_at === null).map(({ id }) => id),
      [stays.installationId],
    )
  },
)

onBothEngines(
  'an integration is notified that the projects of an account went, and that it was removed there',
  async (world, t) => {
    const { operator } = world
    const hook = await receiver(t)
    const app = await seedIntegration(world, { webhookUrl: hook.url, scopes: ['read:project'] })
    const ada = await world.user('ada')
    const acme = await operator('POST', '/operator/v1/teams', { slug: 'acme', name: 'Acme', ownerId: ada.id })
    assert.equal(acme.status, 201, acme.text)
    const removed: [string, string, string][] = [
      ['/operator/v1/teams/acme?force=true', `?teamId=${acme.body.id}`, acme.body.id],
      ['/operator/v1/users/ada?force=true', '', ada.id],
    ]
    for (const [path, query, accountId] of removed) {
      const made = await ada.call('POST', `/v10/projects${query}`, { name: 'web' })
      assert.equal(made.status, 200, made.text)
      await consentAndInstall(world, app, { userId: ada.id, teamId: query === '' ? undefined : accountId })
      await deliver(world)
      hook.got.length = 0
      const answer = await operator('DELETE', path as `/operator/v1/teams/${string}`)
      assert.equal(answer.status, 204, answer.text)
      await deliver(world)
      assert.deepEqual(hook.got.map(({ body }) => `${body.type} ${body.payload.project?.id}`).sort(), [
        'integration-configuration.removed undefined',
        `project.removed ${made.body.id}`,
      ])
    }
  },
  LOCAL,
)

/** Every row of every table, as text. */
async function dump({ deps }: World): Promise<string> {
  return deps.db.write(async (tx) => {
    const store = tx as unknown as Store
    let text = ''
    for (const table of (await tablesOf(store)).keys()) {
      for await (const rows of rowsOf(store, table)) text += `${table} ${JSON.stringify(rows)}\n`
    }
    return text
  })
}

onBothEngines(
  'a removed user is in no row by email, name or username; what the audit log knows is the id',
  async (world) => {
    const { operator, credentials } = world
    const made = { email: 'planted@needle.example', username: 'needle-user', name: 'Needle Name' }
    const { id } = (await operator('POST', '/operator/v1/users', made)).body
    const { token } = (await operator('POST', '/operator/v1/tokens', { userId: id, name: 'ci' })).body
    const user = { id, token, call: world.as(token) }
    await world.join(user, 'OWNER')
    await user.call('POST', '/v1/teams/team/members', { email: 'guest@example.com' })
    await user.call('POST', '/v10/projects', { name: 'own' })
    await user.call('POST', '/v1/webhooks', { url: 'https://h.example.com', events: ['project.created'] })
    await seedPassword(world, id)
    await openSignedInClient(world, id, 'needle-user')
    await operator('POST', `/operator/v1/users/${id}/password-link`)
    const app = await seedIntegration(world, { slug: 'mine' })
    const { code } = await consentAndInstall(world, app, { userId: id, teamId: credentials.teamId })
    await exchange(world, app, code)
    await world.call('POST', '/v1/teams/team/members', { email: 'waiting@example.com' })
    await writeLastSeen(world.deps)
    assert.match(await dump(world), /needle/i)

    assert.equal((await operator('PUT', `/operator/v1/teams/team/members/admin`, { role: 'VIEWER' })).status, 200)
    const path = '/operator/v1/users/planted@needle.example'
    const last = await operator.try('DELETE', path)
    assert.deepEqual([last.status, /without an OWNER/.test(last.text)], [409, true])
    await operator('PUT', `/operator/v1/teams/team/members/admin`, { role: 'OWNER' })
    assert.match((await operator.try('DELETE', path)).body.error.message, /has projects/)
    assert.equal((await user.call('GET', '/v2/user')).status, 200, 'a refused removal changes nothing')
    assert.equal((await operator('DELETE', `${path}?force=true`)).status, 204)
    assert.equal((await operator.try('DELETE', `${path}?force=true`)).status, 404)
    assert.equal((await user.call.try('GET', '/v2/user')).status, 401)

    // Letters to others that wait to be posted may name them; those are on their way.
    await sendDueMail(world.deps)
    const inAMonth = { now: world.deps.clock.now() + 31 * 86_400_000 }
    await operator('POST', '/operator/v1/timers/old-mail/run', inAMonth)
    const rest = await dump(world)
    for (const needle of ['needle', 'Needle Name', 'planted']) assert.equal(rest.includes(needle), false, needle)
    const { entries } = (await operator('GET', `/operator/v1/audit?actorId=${id}`)).body
    assert.ok(entries.length > 3)
    const anew = { ...made, email: 'other@example.com' }
    assert.equal(
      (await operator.try('POST', '/operator/v1/users', anew)).status,
      409,
      'the username is reserved for no other user',
    )
  },
)
