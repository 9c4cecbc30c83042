/** Whose names the lines of activity and of the audit log may show. docs/console.md: Page layout. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type AuditTarget,
  findAuditTargets,
  findTargetsById,
  targetLink,
  targetPathIn,
} from '../../../src/console/names/audit-targets.ts'
import type { OwnAccount } from '../../../src/platform/pages/own-accounts.ts'
import type { ConsoleCtx } from '../../../src/platform/pages/screen.ts'
import { seedDeployment, seedProject } from '../../support/projects.ts'
import { onBothEngines } from '../../support/world.ts'
import { consentAndInstall, seedIntegration } from '../../support/worlds/integration-world.ts'

onBothEngines('names are found for the requested ids, and for no other account', async (world) => {
  const { credentials, deps, operator } = world
  const { userId, teamId } = credentials
  const other = await operator('POST', '/operator/v1/teams', { slug: 'other', name: 'Other', ownerId: userId })
  const teams = [teamId, other.body.id as string]
  const made: { project: string; integration: string; installation: string }[] = []
  for (const [at, id] of teams.entries()) {
    const project = await seedProject(world, `web-${at}`, `?teamId=${id}`)
    const app = await seedIntegration(world, { slug: `app-${at}`, name: `App ${at}`, teamId: id })
    const { installationId } = await consentAndInstall(world, app, { teamId: id })
    made.push({ project, integration: app.id, installation: installationId })
  }
  const ctx = { db: deps.db.read } as unknown as ConsoleCtx
  const namesOf = async (ids: (string | null)[], accountId?: string) =>
    [...(await findTargetsById(ctx, ids, accountId)).values()].map(({ kind, name }) => `${kind} ${name}`).sort()
  const all = [userId, null, ...teams, 'prj_gone', ...made.flatMap((one) => Object.values(one))]
  const people = ['person admin', 'team other', 'team team']
  const ofFirst = ['installation App 0', 'integration App 0', 'project web-0']
  const ofOther = ['installation App 1', 'integration App 1', 'project web-1']
  assert.deepEqual(await namesOf(all, teamId), [...ofFirst, ...people].sort())
  assert.deepEqual(await namesOf(all, teams[1]), [...ofOther, ...people].sort())
  assert.deepEqual(await namesOf(all), [...ofFirst, ...ofOther, ...people].sort(), 'an operator sees all')
  for (const [kind, id] of Object.entries(made[0]!))
    assert.deepEqual(await namesOf([id]), [ofFirst.find((name) => name.startsWith(kind))], kind)
  assert.deepEqual(await namesOf([userId]), ['person admin'])
  assert.deepEqual(await namesOf([null]), [])

  // A line of activity may call a project by its name, and a variable by its id.
  const variables: string[] = []
  for (const [at, id] of teams.entries()) {
    const variable = { key: `KEY_${at}`, value: 'x', type: 'plain', target: ['preview'] }
    const added = await world.call('POST', `/v10/projects/web-${at}/env?teamId=${id}`, variable)
    assert.equal(added.status, 201, added.text)
    const { envs } = (await world.call('GET', `/v9/projects/web-${at}/env?teamId=${id}`)).body
    variables.push(envs[0]!.id)
  }
  const account = await deps.db.read
    .selectFrom('account')
    .selectAll()
    .where('id', '=', teamId)
    .executeTakeFirstOrThrow()
  const shared: string[] = []
  for (const [at, id] of teams.entries()) {
    const body = { evs: [{ key: `SHARED_${at}`, value: 'x' }] }
    shared.push((await world.call('POST', `/v1/env?teamId=${id}`, body)).body.created[0].id)
  }
  const deployments: string[] = []
  for (const [at, { project }] of made.entries()) {
    const meta = { githubCommitMessage: `Change ${at}` }
    deployments.push(await seedDeployment(world, project, { url: `d${at}.host.test`, readyState: 'READY', meta }))
  }
  const endpoints: string[] = []
  for (const [at, id] of teams.entries()) {
    const hook = { url: `https://hooks-${at}.example.com/secret`, events: ['project.created'] }
    const drain = { name: `drain ${at}`, url: 'https://logs.example.com', deliveryFormat: 'json', sources: ['build'] }
    endpoints.push((await world.call('POST', `/v1/webhooks?teamId=${id}`, hook)).body.id)
    endpoints.push((await world.call('POST', `/v1/log-drains?teamId=${id}`, drain)).body.id)
  }
  const ids = [...variables, ...shared, ...deployments, ...endpoints, 'web-0', 'web-1', null]
  const told = await findAuditTargets(ctx, account as OwnAccount, ids)
  const own = ['team', variables[0]!, shared[0]!, deployments[0]!, ...endpoints.slice(0, 2), 'web-0']
  assert.deepEqual([...told.keys()].sort(), own.sort())
  assert.deepEqual(told.get(endpoints[0]!), { kind: 'webhook', name: 'hooks-0.example.com' }, 'no path')
  assert.deepEqual(told.get(endpoints[1]!), { kind: 'log drain', name: 'drain 0' })
  assert.deepEqual(told.get(variables[0]!), { kind: 'variable', name: 'KEY_0', project: 'web-0' })
  assert.deepEqual(told.get(deployments[0]!), { kind: 'deployment', name: 'Change 0', project: 'web-0' })
  assert.deepEqual(told.get(shared[0]!), { kind: 'shared variable', name: 'SHARED_0' })
  assert.equal((await findAuditTargets(ctx, account as OwnAccount, [null])).size, 0)
})

test('a name links to the page of its target, and to none where the account has no such page', () => {
  const team = { id: 'team_1', slug: 'acme', kind: 'team' } as OwnAccount
  const own = { id: 'user_1', slug: 'ada', kind: 'user' } as OwnAccount
  const pages: [OwnAccount, Exclude<AuditTarget['kind'], 'variable' | 'deployment'>, string, string | undefined][] = [
    [team, 'project', 'prj_1', '/console/t/acme/projects/x'],
    [team, 'installation', 'icfg_1', '/console/t/acme/integrations/icfg_1'],
    [team, 'shared variable', 'env_1', '/console/t/acme/variables?search=x'],
    [team, 'integration', 'oac_1', '/console/t/acme/apps/oac_1'],
    [team, 'webhook', 'hook_1', '/console/t/acme/webhooks/hook_1'],
    [team, 'log drain', 'ld_1', '/console/t/acme/drains/ld_1'],
    [team, 'team', 'team_2', undefined],
    [team, 'person', 'user_1', '/console/t/acme/members?search=x'],
    [own, 'person', 'user_1', undefined],
  ]
  for (const [account, kind, id, path] of pages) {
    const shown = targetLink(id, new Map([[id, { kind, name: 'x' }]]), targetPathIn(account)).markup
    const wanted = path === undefined ? `<span title="${id}">x</span>` : `<a href="${path}" title="${id}">x</a>`
    assert.equal(shown, wanted)
  }
  const itself = targetLink('team_1', new Map([['team_1', { kind: 'team', name: 'acme' }]]), targetPathIn(team)).markup
  assert.equal(itself, '<a href="/console/t/acme/settings" title="team_1">acme</a>')
  const made = new Map([['dpl_1', { kind: 'deployment', name: 'Change', project: 'web' } as const]])
  assert.equal(
    targetLink('dpl_1', made, targetPathIn(team)).markup,
    '<a href="/console/t/acme/projects/web/deployments/dpl_1" title="dpl_1">Change</a> of web',
  )
  assert.equal(targetLink('gone', new Map(), targetPathIn(team)).markup, '<code class="small">gone</code>')
})
