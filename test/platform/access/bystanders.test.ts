/** A write changes the rows of its subject alone: each is tried next to copies of every row that differ in one id, and in all. */
import assert from 'node:assert/strict'
import { LEASE_TIMES } from '../../../src/delivery/protocol/runner-protocol.ts'
import { writeLastSeen } from '../../../src/platform/access/last-seen.ts'
import { runTimer } from '../../../src/timers.ts'
import { BUILDS, createSource, OUTPUT, openRunners } from '../../delivery/builds/building.ts'
import { type Fields, openSignedInClient, PASSWORD, seedPassword } from '../../support/clients/browser-client.ts'
import { type AuthenticatorApp, openClientAfterPassword, setUpCodes } from '../../support/clients/second-factor.ts'
import { runEveryWrite } from '../../support/every-write.ts'
import { seedProject } from '../../support/projects.ts'
import { seedSamples } from '../../support/sample-requests.ts'
import { watchBystanders } from '../../support/stores/bystanders.ts'
import { onBothEngines, type World } from '../../support/world.ts'
import { addSideEffects } from '../../support/worlds/side-effects.ts'

type Several = { rows: readonly string[]; because: string }

/**
 * TABLE the writes that change copies, with the tables and the columns in which those differ. `*` is never among them: a copy whose ids all differ is
 * of another account.
 */
const SEVERAL: Record<string, Several> = {
  deleteConfiguration: {
    rows: [
      'authorization_code: hash integration_id token_id user_id',
      'env_history: actor_id configuration_id',
      'env_usage: project_id',
      'env_var: created_by edge_config_id edge_config_token_id id updated_by',
      'shared_env_link: project_id',
      'shared_env_target: target',
      'shared_env_var: account_id created_by id updated_by',
      'token: hash id team_id user_id',
    ],
    because: 'all tokens, codes and variables of the installation go with it',
  },
  deleteIntegration: { rows: ['integration_secret: hash id'], because: 'it has several secrets' },
  operatorDeleteIntegration: { rows: ['integration_secret: hash id'], because: 'it has several secrets' },
  deleteProject: {
    rows: [
      'alias_request: from_deployment_id id to_deployment_id',
      'deployment: account_id custom_environment_id env_id id output_id source_id url',
      'env_history: actor_id configuration_id env_id',
      'env_target: env_id git_branch key target',
      'env_usage: target',
      'env_var: configuration_id created_by edge_config_id edge_config_token_id id updated_by',
      'project_domain: custom_environment_id name',
    ],
    because: 'what is in the project goes with it',
  },
  operatorMakePasswordLink: { rows: ['password_link: created_by hash'], because: 'the former links of the user end' },
  operatorRemoveSecondFactors: {
    rows: ['recovery_code: hash', 'session: hash'],
    because: 'all second factors and sessions of the user',
  },
  removeCustomEnvironment: { rows: ['project_domain: name'], because: 'it has several domains' },
  removeProjectDomain: {
    rows: ['project_domain: custom_environment_id name'],
    because: 'what redirects to the domain goes with it',
  },
  removeTeamMember: { rows: ['token: hash id'], because: 'the member has several tokens of the team' },
  updateTeamMember: {
    rows: ['configuration: integration_id', 'log_drain: id', 'webhook: id'],
    because: 'all that the member set up is held',
  },
  joinTeam: { rows: ['invitation: email id invited_by token_id'], because: 'all invitations of the user to the team' },
  operatorSetMember: {
    rows: ['invitation: email id invited_by token_id'],
    because: 'all invitations of the user to the team',
  },
  operatorDeleteTeam: {
    rows: ['delivery: account_id configuration_id id', 'member: user_id', 'webhook: configuration_id created_by id'],
    because: 'members, webhooks and what waits for these end with it',
  },
  operatorDeleteUser: {
    rows: [
      'authorization_code: hash integration_id token_id user_id',
      'configuration: integration_id',
      'mail: id',
      'password_link: created_by hash',
      'token: hash id team_id',
    ],
    because: 'what is of the user alone goes with them',
  },
  removeProjectEnv: {
    rows: ['env_history: actor_id configuration_id'],
    because: 'versions of a variable are of several users',
  },
  requestPromote: {
    rows: ['alias_request: from_deployment_id id to_deployment_id'],
    because: 'the last promotion of the project is replaced',
  },
  requestRollback: {
    rows: ['alias_request: from_deployment_id id to_deployment_id'],
    because: 'the last rollback of the project is replaced',
  },
}

/** TABLE the same of what a user does in a browser. */
const SEVERAL_OF_STEPS: Record<string, Several> = {
  'set up codes': { rows: ['session: hash'], because: 'sessions by a password alone end' },
  'make recovery codes': { rows: ['recovery_code: hash'], because: 'the former ones end' },
  'end other sessions': { rows: ['session: hash'], because: 'it is about several' },
  'change the password': {
    rows: ['password_link: created_by hash', 'session: hash'],
    because: 'other sessions and links to set one end',
  },
  'remove the codes': { rows: ['recovery_code: hash'], because: 'there are several' },
  'set the password by a link': { rows: ['session: hash'], because: 'other sessions end' },
}
/** A sweep is about all accounts. */
const SEVERAL_OF_BUILDS: Record<string, Several> = {
  'lose the lease': { rows: ['build: *', 'deployment: *', 'project: *'], because: 'the leases of all builds end' },
}

function rowsOf(table: Record<string, Several>): Record<string, readonly string[]> {
  return Object.fromEntries(Object.entries(table).map(([name, { rows }]) => [name, rows]))
}

/** Takes each step, and returns the copies that it changed. */
async function changedBySteps(world: World, steps: Record<string, () => Promise<unknown>>): Promise<object> {
  const takeChanged = watchBystanders(world)
  const changed: Record<string, readonly string[]> = {}
  for (const [name, take] of Object.entries(steps)) {
    await take()
    const rows = takeChanged()
    if (rows.length > 0) changed[name] = rows
  }
  return changed
}

onBothEngines(
  'a write changes the rows of its subject, and others only where the table says so',
  async (world) => {
    const samples = await seedSamples(world)
    await addSideEffects(world, samples)
    await setUpCodes(world, await openSignedInClient(world, samples.spare.id, 'spare'))
    const { call, teamId } = samples.rival
    await call('POST', `/v1/webhooks?teamId=${teamId}`, { url: 'https://h.example.com', events: ['project.created'] })
    await call('POST', `/v10/projects?teamId=${teamId}`, { name: 'of-team' })
    await call('DELETE', `/v9/projects/of-team?teamId=${teamId}`)
    await writeLastSeen(world.deps)
    const takeChanged = watchBystanders(world)
    const changed: Record<string, readonly string[]> = {}
    await runEveryWrite(world, samples, async (operationId) => {
      const rows = takeChanged()
      if (rows.length > 0) changed[operationId] = rows
    })
    assert.deepEqual(changed, rowsOf(SEVERAL))
  },
  {},
  ['sqlite'],
)

const SECURITY = '/console/account/security'
const NEXT = { next: 'another horse battery', again: 'another horse battery' }

onBothEngines(
  'a user who signs in, or changes how, changes nothing of other users',
  async (world) => {
    const client = await openSignedInClient(world)
    const post = async (url: string, fields: Fields = {}) => {
      const answer = await client.post(`${SECURITY}${url}`, fields)
      assert.ok(answer.status < 400, `${url}: ${answer.status} ${answer.text.slice(-500)}`)
      return answer
    }
    let phone: AuthenticatorApp | undefined
    const signIn = async (code: string) => {
      assert.equal((await (await openClientAfterPassword(world)).post('/sign-in/code', { code })).status, 303)
    }
    const changed = await changedBySteps(world, {
      'set up codes': async () => {
        phone = await setUpCodes(world, client)
      },
      'sign in by a code': () => signIn(phone!.next()),
      'sign in by a recovery code': () => signIn(phone!.recovery[0]!),
      'make recovery codes': () => post('/factors/recovery'),
      'end other sessions': () => post('/sessions/others/end'),
      'change the password': () => post('/password', { password: PASSWORD, ...NEXT }),
      'remove the codes': () => post('/factors/codes/remove'),
      'set the password by a link': () => seedPassword(world, world.credentials.userId),
    })
    assert.deepEqual(changed, rowsOf(SEVERAL_OF_STEPS))
  },
  {},
  ['sqlite'],
)

onBothEngines(
  'a runner that builds changes nothing of other builds',
  async (world) => {
    await seedProject(world, 'web')
    const runners = await openRunners(world)
    const take = async () => runners.of(await runners.take())
    let held: Awaited<ReturnType<typeof take>> | undefined
    const done = async (answer: Promise<{ status: number; text: string }>) => {
      const { status, text } = await answer
      assert.ok(status < 300, text)
    }
    const lease = async () => {
      held = await take()
    }
    const changed = await changedBySteps(world, {
      create: () => createSource(world),
      lease,
      beat: () => done(held!.beat()),
      log: () => done(held!.log(0, 'a line')),
      put: async () => {
        for (const content of Object.values(OUTPUT)) await done(held!.put(content))
      },
      succeed: () => done(held!.succeed()),
      'create another': () => createSource(world),
      'lease another': lease,
      'lose the lease': async () => {
        const { clock } = world.deps
        clock.set(clock.now() + LEASE_TIMES.leaseMs + 1)
        await runTimer(world.deps, 'lost-builds', clock.now())
      },
      'lease again': lease,
      fail: () => done(held!.fail('BUILD_FAILED', 'it failed')),
    })
    await runners.close()
    assert.deepEqual(changed, rowsOf(SEVERAL_OF_BUILDS))
  },
  BUILDS,
  ['sqlite'],
)
