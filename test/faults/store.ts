/** A store read outside the service: the projects for the ledger, and what must hold in every store at any time. */
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { fingerprint } from '../../src/platform/base/ids.ts'
import type { ServiceHome } from '../support/process.ts'
import type { Found } from './fault.ts'
import type { Ledger, State } from './ledger.ts'

export type StoredProject = { state: NonNullable<State>; envIds: Map<string, string> }
export type Rows = (sql: string) => Promise<Record<string, unknown>[]>

/** Opens the store of a home for reading, while the service may run. */
export async function withStore<T>(home: ServiceHome, work: (rows: Rows) => Promise<T>): Promise<T> {
  const url = home.env.DATABASE_URL!
  if (url.startsWith('sqlite:')) {
    const database = new DatabaseSync(join(home.folder, 'berth.db'), { readOnly: true, timeout: 5000 })
    try {
      return await work(async (sql) => database.prepare(sql).all())
    } finally {
      database.close()
    }
  }
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 10_000 })
  client.on('error', () => {})
  await client.connect()
  try {
    return await work(async (sql) => (await client.query(sql)).rows)
  } finally {
    await client.end()
  }
}

/** All projects with what the ledger knows of them. The comment of a variable says which value it has. */
export async function readProjects(rows: Rows): Promise<Map<string, StoredProject>> {
  const byId = new Map<unknown, StoredProject>()
  const byName = new Map<string, StoredProject>()
  for (const { id, name, settings_json, paused_at } of await rows(
    'select id, name, settings_json, paused_at from project',
  )) {
    const { buildCommand = '' } = JSON.parse(String(settings_json))
    const state: NonNullable<State> = { build: buildCommand, paused: paused_at !== null, env: {}, domains: [] }
    const stored = { state, envIds: new Map() }
    byId.set(id, stored)
    byName.set(String(name), stored)
  }
  for (const { project_id, id, key, comment } of await rows('select project_id, id, key, comment from env_var')) {
    const stored = byId.get(project_id)
    if (stored === undefined) continue
    stored.state.env[String(key)] = String(comment)
    stored.envIds.set(String(key), String(id))
  }
  for (const { project_id, name } of await rows('select project_id, name from project_domain')) {
    byId.get(project_id)?.state.domains.push(String(name))
  }
  return byName
}

const counted = (type: string, table: string) =>
  `(select project_id, count(*) as told from ${table} where type = '${type}' group by project_id)`

/** As `counted`, of variables: one event covers all that a request wrote, and then a second one the first variable. */
const variablesTold = (type: string) => {
  const keys = `(length(payload_json) - length(replace(payload_json, '"key":', ''))) / 6`
  return `(select project_id, sum(case when ${keys} > 1 then ${keys} - 1 else 1 end) as told from event where type = '${type}' group by project_id)`
}

/** What must hold in every store at any time: each gives the number of violations, so 0. */
const INVARIANTS: Record<string, string> = {
  'a project without its one event': `select count(*) as many from project left join ${counted('project.created', 'event')} as e
    on e.project_id = project.id where coalesce(told, 0) <> 1`,
  'a removed project that is there': `select count(*) as many from project join event on event.project_id = project.id
    where event.type = 'project.removed'`,
  'an event of a project that is neither there nor removed': `select count(*) as many from event where type = 'project.created'
    and project_id not in (select id from project)
    and project_id not in (select project_id from event where type = 'project.removed' and project_id is not null)`,
  'a project removed twice': `select count(*) as many from ${counted('project.removed', 'event')} as e where told <> 1`,
  ...Object.fromEntries(
    [
      ['createProject', 'project.created'],
      ['deleteProject', 'project.removed'],
      ['editProjectEnv', 'project.env-variable.updated'],
      ['removeProjectEnv', 'project.env-variable.deleted'],
      ['addProjectDomain', 'project.domain.created'],
      ['removeProjectDomain', 'project.domain.deleted'],
    ].map(([operation, event]) => [
      `an event ${event} without its audit line, or one without the other`,
      `select abs((select count(*) from event where type = '${event}') - (select count(*) from audit where type = '${operation}')) as many`,
    ]),
  ),
  'a variable without its one event, or an event of one that is neither there nor removed': `select count(*) as many from project
    left join ${variablesTold('project.env-variable.created')} as made on made.project_id = project.id
    left join ${variablesTold('project.env-variable.deleted')} as gone on gone.project_id = project.id
    where coalesce(made.told, 0) - coalesce(gone.told, 0) <> (select count(*) from env_var where env_var.project_id = project.id)`,
  'a create of variables with an audit line and no event': `select case when (select count(*) from event
    where type = 'project.env-variable.created') < (select count(*) from audit where type = 'createProjectEnv') then 1 else 0 end as many`,
  'a variable whose places are not its targets': `select count(*) as many from env_var where
    length(targets) - length(replace(targets, ',', '')) + 1 <> (select count(*) from env_target where env_id = env_var.id)`,
  'a place without a variable': 'select count(*) as many from env_target where env_id not in (select id from env_var)',
  'a variable without its latest history': `select count(*) as many from env_var where not exists (select 1 from env_history
    where env_history.env_id = env_var.id and env_history.version = env_var.version)`,
  'a project whose variables do not add up': `select count(*) as many from env_usage where variables <> (select count(*) from
    env_target where env_target.project_id = env_usage.project_id and env_target.target = env_usage.target)`,
  'variables that are not added up': `select count(*) as many from env_target where not exists (select 1 from env_usage
    where env_usage.project_id = env_target.project_id and env_usage.target = env_target.target)`,
  'something of a project that is not there': `select (select count(*) from env_var where project_id not in (select id from project))
    + (select count(*) from env_history where project_id not in (select id from project))
    + (select count(*) from project_domain where project_id not in (select id from project))
    + (select count(*) from env_usage where variables > 0 and project_id not in (select id from project)) as many`,
  'a code that is used and gave no token, or gave one unused': `select count(*) as many from authorization_code where
    (used_stamp is null) <> (token_id is null) or (used_stamp is not null and token_id not in (select id from token))`,
  'a token of an installation that no code gave': `select count(*) as many from token where configuration_id is not null and id
    not in (select token_id from authorization_code where token_id is not null)`,
  'an event for the webhook without its one delivery': `select abs((select count(*) from event where type in ('project.created',
    'project.removed')) - (select count(*) from delivery)) * (select count(*) from webhook) as many`,
}

/** Holds the invariants; and on SQLite the file itself, when `whole`. */
export async function mustBeWhole(rows: Rows, found: Found, when: string, whole: boolean): Promise<void> {
  for (const [name, sql] of Object.entries(INVARIANTS)) {
    const many = Number((await rows(sql))[0]!.many)
    if (many === 0) continue
    found.halfDone += many
    found.broken.push(`${when}: ${name} (${many})`)
  }
  if (!whole) return
  const said = (await rows('pragma integrity_check')).map((row) => row.integrity_check).join(', ')
  if (said !== 'ok') found.broken.push(`${when}: the file is damaged: ${said}`)
}

/** Every token that a code was exchanged for is there. */
export async function mustHaveTokens(rows: Rows, ledger: Ledger, found: Found, when: string): Promise<void> {
  const hashes = new Set((await rows('select hash from token')).map(({ hash }) => hash))
  const missing = ledger.tokens.filter((token) => !hashes.has(fingerprint(token))).length
  if (missing === 0) return
  found.lost += missing
  found.broken.push(`${when}: ${missing} tokens were given and are not there`)
}
