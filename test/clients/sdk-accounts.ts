/** An account without its projects: members, tokens, domains, webhooks, log drains, installations; the members and environments of a project. */
import assert from 'node:assert/strict'
import { WEBHOOK_EVENT_NAMES } from '../../src/platform/outbox/event-names.ts'
import type { World } from '../support/world.ts'
import { seedInstallation } from '../support/worlds/integration-world.ts'
import { type Decoded, eventsOf, openSdk } from './sdk-client.ts'
import type { Projects } from './sdk-projects.ts'
import type { Remark, Story } from './sdk-story.ts'

/** Makes, reads, changes and removes one of each. */
export async function tellAccount(story: Story, projects: Projects): Promise<void> {
  await readPeople(story)
  if (story.team.teamId !== undefined) await tellMembers(story, projects)
  await tellTokens(story)
  await tellAccountDomains(story)
  await tellEnvironments(story, projects)
  await tellWebhooks(story, projects)
  await tellDrains(story, projects)
  await tellInstallations(story, projects)
}

async function readPeople(story: Story): Promise<void> {
  const { use, world } = story
  const { teamId } = world.credentials
  await use('getAuthUser', {}, (answer) => isAdmin(story, answer))
  await use('getTeams', { limit: 5 }, ({ teams: [team], pagination }) =>
    assert.deepEqual([team.id, team.slug, team.membership.role, pagination.count], [teamId, 'team', 'OWNER', 1]),
  )
  await use('listUserEvents', { limit: 100 }, ({ events }) => {
    assert.ok(events.length > 0)
    for (const { id, text, userId } of events) assert.ok(id !== '' && text !== '' && userId !== '')
  })
  // What a team is when it is one of its members that asks, the SDKs leave open: any object.
  await use('getTeam', { teamId }, (team) => assert.deepEqual([team.id, team.slug], [teamId, 'team']))
}

function isAdmin({ world }: Story, { user }: Decoded): void {
  const { userId } = world.credentials
  assert.deepEqual([user.id, user.username, user.email], [userId, 'admin', 'admin@berth.localhost'])
}

async function tellMembers(story: Story, { bare }: Projects): Promise<void> {
  const { use, raw, world, team } = story
  const { userId } = world.credentials
  const person = await world.user('friend')
  await use('patchTeam', { requestBody: { description: 'ours' } }, (changed) => assert.equal(changed.id, team.teamId))
  const invited = { email: 'friend@example.com', role: 'MEMBER' }
  const list = !story.before('1.18.0')
  await use('inviteUserToTeam', { requestBody: list ? [invited] : invited }, (made) =>
    assert.deepEqual([made.uid, made.role], [person.id, 'MEMBER']),
  )
  if (story.sdk.unaskable.has('inviteUserToTeam')) await raw('POST', `/v1/teams/${team.teamId}/members`, invited)
  await use('getTeamMembers', { limit: 10 }, ({ members, pagination }) => {
    assert.deepEqual(members.map(({ uid }: Decoded) => uid).toSorted(), [person.id, userId].toSorted())
    assert.deepEqual([pagination.count, pagination.hasNext], [2, false])
  })
  await acceptAgain(story, person)
  await use('updateTeamMember', { uid: person.id, requestBody: { role: 'VIEWER' } }, ({ id }) =>
    assert.equal(id, team.teamId),
  )
  await use('getProjectMembers', { idOrName: bare.id }, ({ members }) => {
    if (story.before('1.8.0')) return void story.remarks.set('getProjectMembers', DECODES_NOTHING)
    const found = members.find(({ uid }: Decoded) => uid === person.id)
    assert.deepEqual([found.computedProjectRole, found.teamRole], ['PROJECT_VIEWER', 'VIEWER'])
  })
  await use('removeTeamMember', { uid: person.id }, ({ id }) => assert.equal(id, team.teamId))
  await use('createTeam', { slug: 'second', name: 'Second' }, ({ id, slug }) =>
    assert.deepEqual([slug, id.startsWith('team_')], ['second', true]),
  )
}

/** Two invitations more: one is revoked, one accepted. The SDKs know no link in the response: it is read over plain HTTP. */
async function acceptAgain({ use, raw, team, sdk }: Story, person: Awaited<ReturnType<World['user']>>): Promise<void> {
  const path = `/v1/teams/${team.teamId}/members`
  const inviteAgain = async (): Promise<string> => {
    const { inviteUrl } = await raw('POST', path, { uid: person.id, role: 'MEMBER' })
    return inviteUrl.split('/').at(-1)
  }
  const own = await openSdk(sdk.version, person.token, sdk.serverURL)
  await raw('DELETE', `${path}/${person.id}`)
  const inviteId = await inviteAgain()
  await use('deleteTeamInviteCode', { inviteId }, ({ id }) => assert.equal(id, team.teamId))
  await assert.rejects(own.methods.get('joinTeam')!({ ...team, requestBody: { inviteCode: inviteId } }))
  const inviteCode = await inviteAgain()
  const requestBody = { inviteCode }
  await use(
    'joinTeam',
    { requestBody },
    (joined) => assert.deepEqual([joined.teamId, joined.slug], [team.teamId, 'team']),
    own,
  )
}

/** Tokens belong to a user, whichever account the call names. */
async function tellTokens({ use, label }: Story): Promise<void> {
  const name = `made-for-${label}`
  const made = await use('createAuthToken', { requestBody: { name } }, ({ token, bearerToken }) => {
    assert.equal(token.name, name)
    assert.match(bearerToken, /[0-9a-zA-Z]{24}/)
  })
  if (made === undefined) return
  const tokenId = made.token.id
  await use('listAuthTokens', {}, ({ tokens }) => assert.ok(tokens.some(({ id }: Decoded) => id === tokenId)))
  await use('getAuthToken', { tokenId }, ({ token }) => assert.deepEqual([token.id, token.name], [tokenId, name]))
  await use('deleteAuthToken', { tokenId }, (gone) => assert.equal(gone.tokenId, tokenId))
}

async function tellAccountDomains({ use, raw, has, label, dns }: Story): Promise<void> {
  const domain = `account-of-${label}.com`
  const own = { name: domain, method: 'add' }
  await use('createOrTransferDomain', { requestBody: own }, (made) =>
    assert.deepEqual([made.domain.name, made.domain.verified], [domain, false]),
  )
  if (!has('createOrTransferDomain')) await raw('POST', '/v7/domains', own)
  await use('getDomains', { limit: 20 }, ({ domains, pagination }) => {
    assert.equal(pagination.next, null)
    assert.deepEqual(domains.map(({ name }: Decoded) => name).toSorted(), [domain, `${label}0.com`, `${label}1.com`])
  })
  await use('getDomain', { domain: `${label}0.com` }, (found) => assert.equal(found.domain.verified, true))
  const asked = await use('getDomainVerificationRecord', { domain })
  if (asked !== undefined) {
    dns.zones.set(asked.verificationDomain, { txt: [[asked.txtRecord]] })
    await use('claimDomainOwnership', { domain }, (claimed) => assert.equal(claimed.domain.verified, true))
  }
  await use('deleteDomain', { domain }, ({ uid }) => assert.equal(typeof uid, 'string'))
}

const DECODES_NOTHING: Remark = {
  outcome: 'works',
  why: 'These versions decode any such response, or each of its items, to `{}`; the request takes effect.',
}

const ON_ENVIRONMENTS = [
  ...['createCustomEnvironment', 'getCustomEnvironment', 'updateCustomEnvironment', 'getProjectCustomEnvironments'],
] as const

async function tellEnvironments(story: Story, { bare, full }: Projects): Promise<void> {
  const { use, raw } = story
  if (!story.has('createCustomEnvironment')) return
  const decodes = !story.before('1.7.0')
  if (!decodes) for (const operation of ON_ENVIRONMENTS) story.remarks.set(operation, DECODES_NOTHING)
  for (const { id: idOrName } of [bare, full[0]]) {
    const requestBody = { slug: 'staging', description: 'before production' }
    await use('createCustomEnvironment', { idOrName, requestBody }, ({ slug, type }) => {
      if (decodes) assert.deepEqual([slug, type], ['staging', 'preview'])
    })
    const made = await raw('GET', `/v9/projects/${idOrName}/custom-environments/staging`)
    assert.equal(made.description, 'before production')
    const environment = { idOrName, environmentSlugOrId: 'staging' }
    await use('getProjectCustomEnvironments', { idOrName }, ({ environments }) =>
      assert.deepEqual([environments.length, environments[0].id], [1, decodes ? made.id : undefined]),
    )
    await use('getCustomEnvironment', environment, ({ id, description }) => {
      if (decodes) assert.deepEqual([id, description], [made.id, 'before production'])
    })
    const branchMatcher = { type: 'equals', pattern: 'stage' }
    await use('updateCustomEnvironment', { ...environment, requestBody: { branchMatcher } }, (changed) => {
      if (decodes) assert.deepEqual({ ...changed.branchMatcher }, branchMatcher)
    })
    const changed = await raw('GET', `/v9/projects/${idOrName}/custom-environments/staging`)
    assert.deepEqual(changed.branchMatcher, branchMatcher)
    await tellCustomVariables(story, idOrName, made.id)
    await use('removeCustomEnvironment', { ...environment, requestBody: {} })
    assert.deepEqual((await raw('GET', `/v9/projects/${idOrName}/custom-environments`)).environments, [])
  }
}

/** A variable and a domain of a custom environment, over plain HTTP where the version cannot say it; each reads them. */
async function tellCustomVariables({ use, raw, label }: Story, idOrName: string, environmentId: string): Promise<void> {
  const custom = { key: 'CUSTOM', value: 'c', type: 'encrypted', target: [], customEnvironmentIds: [environmentId] }
  const { created } = await raw('POST', `/v10/projects/${idOrName}/env`, custom)
  await use('filterProjectEnvs', { idOrName }, ({ envs }) =>
    assert.ok(envs.some(({ key }: Decoded) => key === 'CUSTOM')),
  )
  await use('getProjectEnv', { idOrName, id: created.id }, ({ key }) => assert.equal(key, 'CUSTOM'))
  await use('getProjects', { search: label }, ({ projects }) => assert.equal(projects.length, 3))
  await use('removeProjectEnv', { idOrName, id: created.id })
}

async function tellWebhooks(story: Story, { bare, full }: Projects): Promise<void> {
  const { use, raw, accountId } = story
  const requestBody = { url: 'https://hooks.example.com', events: ['project.created', 'deployment.ready'] }
  const projectIds = [bare.id, full[0].id]
  const all = await use('createWebhook', { requestBody }, ({ secret, ownerId, events }) => {
    assert.ok(secret.length >= 20)
    assert.deepEqual([ownerId, events], [accountId, requestBody.events])
  })
  const some = await use('createWebhook', { requestBody: { ...requestBody, projectIds } }, (made) =>
    assert.deepEqual(made.projectIds.toSorted(), projectIds.toSorted()),
  )
  await use('getWebhooks', {}, (list) =>
    assert.deepEqual(list.map(({ id }: Decoded) => id).toSorted(), [all.id, some.id].toSorted()),
  )
  await use('getWebhook', { id: some.id }, ({ id, url }) => assert.deepEqual([id, url], [some.id, requestBody.url]))
  const { id: every } = await raw('POST', '/v1/webhooks', { url: requestBody.url, events: [...WEBHOOK_EVENT_NAMES] })
  const known = await eventsOf(story.sdk)
  const decoded = WEBHOOK_EVENT_NAMES.filter((name) => known.includes(name))
  assert.ok(decoded.length >= 20, `${decoded.length} names that the SDK knows`)
  await use('getWebhooks', {}, (list) => assert.deepEqual(list.find(({ id }: Decoded) => id === every).events, decoded))
  await use('getWebhook', { id: every }, ({ events }) => assert.deepEqual(events, decoded))
  for (const id of [all.id, some.id, every]) await use('deleteWebhook', { id })
  await use('getWebhooks', {}, (list) => assert.deepEqual(list, []))
}

async function tellDrains(story: Story, { bare }: Projects): Promise<void> {
  const { use, raw } = story
  const named = { url: 'https://logs.example.com', name: 'logs' }
  const requestBody = { ...named, projectIds: [bare.id], sources: ['build'] }
  const one = await use('createLogDrain', { requestBody }, (made) =>
    assert.deepEqual([made.name, made.url], ['logs', named.url]),
  )
  const decodes = story.before('1.16.0')
  const wanted = { ...named, deliveryFormat: 'json', sources: ['edge'], environments: ['production'] }
  if (!story.has('createConfigurableLogDrain')) await raw('POST', '/v1/log-drains', wanted)
  await use('createConfigurableLogDrain', { requestBody: wanted }, (made) => {
    if (decodes) assert.deepEqual([made.url, made.environments], [named.url, ['production']])
  })
  const drains = await use('getIntegrationLogDrains', {}, (list) => {
    assert.equal(list.length, 2)
    assert.ok(list.some(({ id }: Decoded) => id === one.id))
  })
  const two = drains.find(({ id }: Decoded) => id !== one.id)
  assert.deepEqual([two.url, two.environments], [named.url, ['production']])
  await use('getAllLogDrains', {}, (list) => {
    assert.deepEqual(
      list.map(({ createdFrom }: Decoded) => createdFrom),
      // 1.16 decodes a drain that is configured, or one of these, and takes the former for both.
      Array(2).fill(decodes || !story.before('1.18.0') ? 'self-served' : undefined),
    )
    if (decodes) assert.ok(list.some(({ id }: Decoded) => id === two.id))
  })
  await use('getConfigurableLogDrain', { id: two.id }, (drain) => {
    if (decodes) assert.equal(drain.id, two.id)
  })
  if (!decodes)
    for (const operation of ['createConfigurableLogDrain', 'getAllLogDrains', 'getConfigurableLogDrain'])
      story.remarks.set(operation, { outcome: 'works', why: NO_FIELDS })
  await use('deleteIntegrationLogDrain', { id: one.id })
  await use('deleteConfigurableLogDrain', { id: two.id })
  if (!story.has('deleteConfigurableLogDrain')) await raw('DELETE', `/v1/log-drains/${two.id}`)
  await use('getIntegrationLogDrains', {}, (list) => assert.deepEqual(list, []))
  await tellNewerDrains(story, bare.id)
}

/** The newer paths: older SDKs have no method for them. */
async function tellNewerDrains({ use, has }: Story, projectId: string): Promise<void> {
  if (!has('createDrain')) return
  const schemas = { log: { version: 'v1' } }
  const delivery = { type: 'http', endpoint: 'https://logs.invalid/in', encoding: 'json', headers: { 'x-key': 'v' } }
  const wanted = { name: 'newer', projects: 'some', projectIds: [projectId], schemas, delivery }
  const { id } = await use('createDrain', { requestBody: wanted }, (made) =>
    assert.deepEqual([made.name, made.projectIds, made.delivery.endpoint], ['newer', [projectId], delivery.endpoint]),
  )
  await use('testDrain', { requestBody: { schemas, delivery } }, ({ status }) => assert.equal(status, 'failed'))
  await use('updateDrain', { id, requestBody: { status: 'disabled' } }, ({ status }) =>
    assert.equal(status, 'disabled'),
  )
  await use('getDrain', { id }, (drain) => assert.deepEqual([drain.id, drain.delivery.headers], [id, { 'x-key': '' }]))
  await use('getDrains', { projectId }, ({ drains }) => assert.deepEqual([drains.length, drains[0].id], [1, id]))
  await use('deleteDrain', { id })
  await use('getDrains', {}, ({ drains }) => assert.deepEqual(drains, []))
}

const NO_FIELDS =
  'From 1.16 on the SDK declares next to no field of this answer and drops what it does not know: ids and URLs are in ' +
  '`getIntegrationLogDrains`.'

async function tellInstallations(story: Story, { full }: Projects): Promise<void> {
  const { use, world, team, label } = story
  const where = { teamId: team.teamId, projects: [full[0].id] }
  const { installationId: id, app } = await seedInstallation(world, { slug: `app-of-${label}` }, where)
  await use('getConfigurations', { view: 'account' }, (list) => {
    assert.deepEqual([list.length, list[0].id, list[0].slug], [1, id, app.slug])
    assert.deepEqual(list[0].projects, [full[0].id])
  })
  await use('getConfiguration', { id }, (found) => {
    assert.deepEqual([found.id, found.integrationId, found.userId], [id, app.id, world.credentials.userId])
    assert.ok(found.scopes.includes('read-write:project'))
  })
  await use('deleteConfiguration', { id })
  await use('getConfigurations', { view: 'account' }, (list) => assert.deepEqual(list, []))
}
