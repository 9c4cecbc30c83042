/**
 * An operation that changes a resource as a side effect needs that resource's right. The first test finds the side effects of every
 * operation in the store; the table names those whose right the operation does not always need. docs/accounts.md: Side effects.
 */
import assert from 'node:assert/strict'
import type { Schema } from '../../../src/platform/db/schema.ts'
import { TABLES } from '../../../src/platform/db/topics.ts'
import type { Permission } from '../../../src/platform/permissions/roles.ts'
import { withQuery } from '../../support/call.ts'
import { PUBLIC, sampleRequest, seedSamples, teamQuery } from '../../support/sample-requests.ts'
import { digest } from '../../support/stores/digest.ts'
import { type Call, onBothEngines, type World } from '../../support/world.ts'
import { type App, consentAndInstall, exchange, seedIntegration } from '../../support/worlds/integration-world.ts'
import { addSideEffects } from '../../support/worlds/side-effects.ts'

type Table = keyof Schema

/** TABLE the right that a change of a table's rows needs. Where there are several, each is enough. */
const RIGHTS: Partial<Record<Table, readonly Permission[]>> = {
  project: ['project:write'],
  transfer_request: ['project:transfer', 'project:receive', 'project:delete'],
  project_domain: ['domain:write'],
  released_proof: ['domain:write'],
  account_domain: ['domain:write'],
  env_var: ['env:write'],
  env_target: ['env:write'],
  env_usage: ['env:write'],
  env_history: ['env:write'],
  shared_env_var: ['env:write'],
  shared_env_link: ['env:write'],
  shared_env_target: ['env:write'],
  deployment: ['deployment:write'],
  blob: ['deployment:write'],
  upload: ['deployment:write'],
  output: ['deployment:write'],
  // Which deployment a domain serves follows from both.
  alias: ['deployment:write', 'domain:write'],
  alias_request: ['deployment:write'],
  alias_mapping: ['deployment:write'],
  account: ['team:write'],
  member: ['member:write', 'member:leave'],
  invitation: ['member:write', 'member:leave'],
  token: ['token:write'],
  configuration: ['installation:write'],
  configuration_project: ['installation:write'],
  authorization_code: ['installation:write'],
  integration: ['integration:write'],
  integration_secret: ['integration:write'],
  webhook: ['webhook:write'],
  log_drain: ['drain:write'],
}

/** TABLE tables whose rows are not a resource that a caller may change, each with the reason. */
const NO_RESOURCE: Partial<Record<Table, string>> = {
  event: 'it reports the change',
  audit: 'it reports the change',
  delivery: 'it reports the change',
  mail: 'it reports the change',
  edge_change: 'it reports the change to proxies',
  seen: 'it says when a caller was here last, and is written each minute',
  project_key: 'the key of what is written',
  deployment_meta: 'it goes with its deployment',
  deployment_usage: 'it goes with its deployment',
  function_usage: 'it goes with its deployment',
  frozen_env: 'it comes and goes with its deployment',
  runtime_log: 'it goes with its deployment',
  cron_job: 'it goes with its project',
  cron_run: 'it goes with its project',
  data_cache_size: 'it goes with its project',
  file_usage: 'it counts the files',
  output_blob: 'it goes with its output',
  reserved_slug: 'a name that is given up is kept for its holder',
  delivery_attempt: 'it goes with its delivery',
}

/**
 * TABLE the operations that change rows of a resource whose right they do not always need, and why that is right. `when needed`: the
 * operation itself asks for the right where it would change something; a test below has every role and scope.
 */
const SIDE_EFFECTS: Record<string, { tables: readonly Table[]; because: string }> = {
  removeCustomEnvironment: {
    tables: ['project_domain', 'env_var', 'env_target', 'env_usage', 'env_history', 'released_proof'],
    because: 'when needed',
  },
  deleteProject: {
    tables: ['env_var', 'env_target', 'env_usage', 'env_history', 'project_domain', 'released_proof', 'deployment']
      .concat(['alias', 'alias_request', 'alias_mapping', 'shared_env_link', 'configuration_project'])
      .concat(['webhook', 'log_drain', 'output']) as Table[],
    because: 'the right to delete a project is the right to delete what is in it (docs/spec/decisions.md: Projects)',
  },
  deleteConfiguration: {
    tables: ['token', 'authorization_code', 'env_var', 'env_target', 'env_usage', 'env_history'].concat([
      'shared_env_var',
      'shared_env_link',
      'shared_env_target',
      'webhook',
      'log_drain',
    ]) as Table[],
    because: 'what an installation made is its own and goes with it (docs/integrations-life-cycle.md)',
  },
  updateTeamMember: {
    tables: ['configuration', 'webhook', 'log_drain'],
    because: 'only what the member set up is disabled or held, and nothing is lost: an OWNER becomes its owner',
  },
  removeTeamMember: {
    tables: ['account', 'token', 'configuration', 'webhook', 'log_drain'],
    because: 'as with a role, and what belongs to the member in this team alone ends: their tokens and default team',
  },
  createTeam: { tables: ['member'], because: 'its first OWNER is the caller' },
  deleteAuthToken: {
    tables: ['token'],
    because: 'a token may end itself; others take `token:write` (accounts/tokens/user-tokens.ts)',
  },
}

onBothEngines(
  'an operation changes what it needs the right to change, and nothing else but what the table names',
  async (world) => {
    const samples = await seedSamples(world)
    const leaverId = await addSideEffects(world, samples)
    const last = ({ method, operationId }: (typeof PUBLIC)[number]) =>
      Number(method === 'DELETE') + Number(operationId === 'deleteProject')
    const changedBy: Record<string, Table[]> = {}
    let before = await rowsOf(world)
    for (const route of PUBLIC.filter(({ method, reads }) => method !== 'GET' && !reads).toSorted(
      (a, b) => last(a) - last(b),
    )) {
      const { method, url, body } = sampleRequest(
        route,
        samples,
        route.operationId === 'removeTeamMember' ? { uid: leaverId } : {},
      )
      const answer = await world.call.try(method, withQuery(url, teamQuery(route, samples)), body)
      assert.equal(answer.status, route.status, `${route.operationId}: ${answer.text}`)
      const rows = await rowsOf(world)
      const changed = [...rows].filter(([table, text]) => text !== before.get(table))
      before = rows
      for (const [table] of changed) {
        if (table in NO_RESOURCE) continue
        const rights = RIGHTS[table] ?? assert.fail(`${route.operationId} changes ${table}: say which right that needs`)
        if (rights.some((right) => route.needs?.includes(right))) continue
        const { tables = [] } = SIDE_EFFECTS[route.operationId] ?? {}
        assert.ok(tables.includes(table), `${route.operationId} changes ${table} without ${rights.join(' or ')}`)
        changedBy[route.operationId] = [...(changedBy[route.operationId] ?? []), table]
      }
    }
    assert.deepEqual(Object.keys(changedBy).sort(), Object.keys(SIDE_EFFECTS).sort(), 'no row of the table is outdated')
  },
)

async function rowsOf({ deps }: World): Promise<Map<Table, string>> {
  const tables = new Map<Table, string>()
  for (const table of TABLES) {
    const rows = await deps.db.read.selectFrom(table).selectAll().execute()
    tables.set(
      table,
      rows
        .map((row) => JSON.stringify(row))
        .sort()
        .join('\n'),
    )
  }
  return tables
}

const ENVIRONMENTS = '/v9/projects/web/custom-environments'

/** What may be in an environment, and which right its removal then needs in addition to `project:write`. */
type Inside = {
  needs: 'domain' | 'own' | 'others' | 'production' | null
  add(world: World, installed: Call, query: string): Promise<unknown>
}

async function add(call: Call, url: string, body: object): Promise<void> {
  const made = await call.try('POST', url, body)
  assert.ok(made.status < 300, made.text)
}
const inStaging = { value: 'v', customEnvironmentIds: ['staging'] }

/** TABLE what prevents a removal, by hand. */
const INSIDE: Record<string, Inside> = {
  nothing: { needs: null, add: async () => {} },
  'a domain': {
    needs: 'domain',
    add: ({ call }, _, query) =>
      add(call, `/v10/projects/web/domains${query}`, { name: 'stage.example.com', customEnvironmentId: 'staging' }),
  },
  'a variable of the installation': {
    needs: 'own',
    add: (_, installed, query) =>
      add(installed, `/v10/projects/web/env${query}`, { key: 'OWN', target: [], ...inStaging }),
  },
  'a variable of users': {
    needs: 'others',
    add: ({ call }, _, query) =>
      add(call, `/v10/projects/web/env${query}`, { key: 'PEOPLES', target: [], ...inStaging }),
  },
  'a variable that is in production too': {
    needs: 'production',
    add: ({ call }, _, query) =>
      add(call, `/v10/projects/web/env${query}`, { key: 'LIVE', target: ['production'], ...inStaging }),
  },
}

/** Creates a project of the first team, with an environment and what is in it. */
async function openEnvironment(world: World, { add }: Inside, installed: Call, query: string) {
  const made = await world.call('POST', `/v10/projects${query}`, { name: 'web' })
  assert.equal(made.status, 200, made.text)
  const staging = await world.call('POST', `${ENVIRONMENTS}${query}`, { slug: 'staging' })
  assert.equal(staging.status, 201, staging.text)
  await add(world, installed, query)
}

/** The environment is deleted, and created again for the next; or nothing changes and the message names what prevents it. */
async function mustRemove(world: World, call: Call, may: boolean, said: string): Promise<void> {
  const query = `?teamId=${world.credentials.teamId}`
  const before = await digest(world)
  const flag = { deleteUnassignedEnvironmentVariables: true }
  const removed = await call.try('DELETE', `${ENVIRONMENTS}/staging${query}`, flag)
  assert.equal(removed.status, may ? 200 : 403, `${said}: ${removed.text}`)
  if (may) return
  assert.equal(await digest(world), before, said)
}

const ROLES = { OWNER: true, MEMBER: true, DEVELOPER: true, VIEWER: false, BILLING: false }

for (const [what, inside] of Object.entries(INSIDE)) {
  onBothEngines(
    `removing an environment needs the right to what is in it, for every role and scope: ${what}`,
    async (world) => {
      const { teamId } = world.credentials
      const query = `?teamId=${teamId}`
      const app = await seedIntegration(world, { scopes: ['read-write:project', 'read-write:project-env-vars'] })
      const { code } = await consentAndInstall(world, app)
      const exchanged = await exchange(world, app, code)
      assert.equal(exchanged.status, 200, exchanged.text)
      const installed = world.as(exchanged.body.access_token)
      const renew = async () => {
        const deleted = await world.call('DELETE', `/v9/projects/web${query}`)
        assert.equal(deleted.status, 204, deleted.text)
        await consentTo(world, app, { project: 'write', 'project-env-vars': 'write' })
        await openEnvironment(world, inside, installed, query)
      }
      await openEnvironment(world, inside, installed, query)
      const person = await world.user('somebody')
      for (const [role, canWrite] of Object.entries(ROLES)) {
        const set = await world.operator('PUT', `/operator/v1/teams/${teamId}/members/${person.id}`, { role })
        assert.equal(set.status, 200, set.text)
        const may = canWrite && !(role === 'DEVELOPER' && inside.needs === 'production')
        await mustRemove(world, person.call, may, role)
        if (may) await renew()
      }
      // What a scope opens is one table, whatever the engine: PostgreSQL, which is slower, is asked for every third.
      const every = world.engine === 'postgres' ? 3 : 1
      const grants = grantsOf(['project', 'domain', 'project-env-vars', 'global-project-env-vars'])
      for (const granted of grants.filter((_, at) => at % every === 0)) {
        await consentTo(world, app, granted)
        const may = allowedByHand(inside.needs, granted)
        await mustRemove(world, installed, may, JSON.stringify(granted))
        if (may) await renew()
      }
    },
  )
}

type Granted = Record<string, 'read' | 'write'>

function allowedByHand(needs: Inside['needs'], granted: Granted): boolean {
  const [own, all] = [granted['project-env-vars'], granted['global-project-env-vars']]
  if (granted.project !== 'write') return false
  if (needs === 'domain') return granted.domain === 'write'
  if (needs === 'own') return own === 'write' || all === 'write'
  return needs === null || all === 'write'
}

/** Nothing; all; each scope alone, at read and at read-write; and all but one, which is missing or at read. */
function grantsOf(scopes: readonly string[]): Granted[] {
  const all: Granted = Object.fromEntries(scopes.map((scope) => [scope, 'write' as const]))
  const without = (scope: string) => Object.fromEntries(Object.entries(all).filter(([one]) => one !== scope))
  const each = scopes.flatMap((scope): Granted[] => [
    { [scope]: 'read' },
    { [scope]: 'write' },
    without(scope),
    { ...all, [scope]: 'read' },
  ])
  return [{}, all, ...each]
}

async function consentTo(world: World, app: App, granted: Granted): Promise<void> {
  const scopes = Object.entries(granted).map(([scope, level]) => `${level === 'read' ? 'read' : 'read-write'}:${scope}`)
  const changed = await world.operator('PATCH', `/operator/v1/integrations/${app.id}`, { scopes })
  assert.equal(changed.status, 200, changed.text)
  await consentAndInstall(world, app)
}

onBothEngines(
  'a removal that is refused names what prevents it, and nothing that the caller may not see',
  async (world) => {
    const { teamId } = world.credentials
    const query = `?teamId=${teamId}`
    const app = await seedIntegration(world, { scopes: ['read-write:project', 'read-write:project-env-vars'] })
    const { code } = await consentAndInstall(world, app)
    const installed = world.as((await exchange(world, app, code)).body.access_token)
    await openEnvironment(world, INSIDE.nothing!, installed, query)
    const remove = async (call: Call) => {
      const refused = await call.try('DELETE', `${ENVIRONMENTS}/staging${query}`, {})
      assert.deepEqual([refused.status, refused.body.error.code], [403, 'forbidden'], refused.text)
      return refused.body.error.message
    }
    for (const key of ['A', 'B', 'C', 'D', 'E', 'F', 'G'])
      await add(world.call, `/v10/projects/web/env${query}`, { key, target: ['production'], ...inStaging })
    const message = await remove(installed)
    assert.match(message, /variables that you do not see/)
    const developer = await world.user('dev')
    await world.join(developer, 'DEVELOPER')
    assert.match(await remove(developer.call), /variables \(A, B, C, D, E and 2 more\) that you may not change/)
    await INSIDE['a domain']!.add(world, installed, query)
    assert.match(await remove(installed), /domains \(stage\.example\.com\).*needs domain:write/)
  },
)
