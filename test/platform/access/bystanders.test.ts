/** A write changes the rows of its subject alone: each is tried next to copies of every row that differ in one id, and in all. */
import assert from 'node:assert/strict'
import { runEveryWrite } from '../../support/every-write.ts'
import { seedSamples } from '../../support/sample-requests.ts'
import { watchBystanders } from '../../support/stores/bystanders.ts'
import { onBothEngines } from '../../support/world.ts'

/**
 * TABLE the writes that change copies, with the tables and the ids in which those differ. `*`, a copy of which all ids differ, is never among them:
 * it is of another account.
 */
const SEVERAL: Record<string, { rows: readonly string[]; because: string }> = {
  deleteConfiguration: {
    rows: ['authorization_code: hash integration_id token_id user_id', 'token: hash id team_id user_id'],
    because: 'all tokens and codes of the installation end',
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
  joinTeam: { rows: ['invitation: email id invited_by token_id'], because: 'all invitations of the user to the team' },
  operatorSetMember: {
    rows: ['invitation: email id invited_by token_id'],
    because: 'all invitations of the user to the team',
  },
  operatorDeleteTeam: { rows: ['member: user_id'], because: 'it has several members' },
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

onBothEngines(
  'a write changes the rows of its subject, and others only where the table says so',
  async (world) => {
    const samples = await seedSamples(world)
    const takeChanged = watchBystanders(world)
    const changed: Record<string, readonly string[]> = {}
    await runEveryWrite(world, samples, async (operationId) => {
      const rows = takeChanged()
      if (rows.length > 0) changed[operationId] = rows
    })
    assert.deepEqual(changed, Object.fromEntries(Object.entries(SEVERAL).map(([name, { rows }]) => [name, rows])))
  },
  {},
  ['sqlite'],
)
