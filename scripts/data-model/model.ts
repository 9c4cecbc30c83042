/** The tables of a migrated store, with their keys and references, and the sentence that `src/platform/db` says of each. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { migrateSqlite } from '../../src/platform/db/sqlite/open.ts'

export type Column = {
  name: string
  isKey: boolean
  isUnique: boolean
  isRequired: boolean
  refersTo: string | undefined
}
export type Table = { name: string; meaning: string; columns: Column[] }
export type Group = { title: string; tables: Table[] }

/** The tables by topic, in the order of the page. A table that is named nowhere here comes to the group of the table that it refers to first. */
const GROUPS: Record<string, readonly string[]> = {
  'Accounts and users': [
    ...['account', 'member', 'invitation', 'token', 'session', 'sign_in', 'password_link', 'reserved_slug', 'seen'],
    ...['totp', 'passkey', 'recovery_code', 'half_sign_in', 'spent_challenge', 'site_session'],
  ],
  Projects: ['project', 'transfer_request', 'git_credential'],
  Domains: ['project_domain', 'account_domain', 'released_proof'],
  'Variables and keys': [
    'env_var',
    'env_target',
    'env_history',
    'env_usage',
    'shared_env_var',
    'shared_env_target',
    'shared_env_link',
    'root_key',
    'project_key',
  ],
  Deployments: [
    ...['deployment', 'deployment_meta', 'deployment_usage', 'function_usage', 'usage_report', 'build', 'build_log'],
    ...['alias', 'alias_request', 'alias_mapping'],
  ],
  Files: ['blob', 'upload', 'output', 'output_blob', 'file_usage'],
  Integrations: ['integration', 'integration_secret', 'configuration', 'configuration_project', 'authorization_code'],
  'Events and deliveries': ['event', 'webhook', 'log_drain', 'delivery', 'delivery_attempt', 'mail', 'audit'],
  'Database metadata': ['kept_answer', 'rate_limit', 'edge_change', 'fact'],
}

/** Columns that refer to another table by another name than `<table>_id`. */
const REFERENCES: Record<string, string> = {
  manifest_id: 'blob',
  source_id: 'output',
  team_id: 'account',
  user_id: 'account',
  default_team_id: 'account',
  transfer_to_account_id: 'account',
  transferred_from_account_id: 'account',
  holder_id: 'account',
  owner_id: 'account',
  created_by: 'account',
  updated_by: 'account',
  accepted_by: 'account',
  invited_by: 'account',
  made_by: 'configuration',
  env_id: 'env_var',
  variable_id: 'shared_env_var',
  request_id: 'alias_request',
  event_stamp: 'event',
  endpoint_id: 'webhook',
  live_deployment_id: 'deployment',
  from_deployment_id: 'deployment',
  to_deployment_id: 'deployment',
}
/** Ids of what has no table: of other systems, of things of several kinds, or of what a column of the project holds. */
const ELSEWHERE = [
  'repo_id',
  'edge_config_id',
  'edge_config_token_id',
  'actor_id',
  'subject_id',
  'custom_environment_id',
]

/** Migrates an empty store and reads its tables. Throws where a column looks like a reference and nothing says to what. */
export async function readModel(): Promise<Group[]> {
  const folder = mkdtempSync(join(tmpdir(), 'berth-model-'))
  try {
    const file = join(folder, 'berth.db')
    await migrateSqlite(file)
    const db = new DatabaseSync(file)
    const tables = tablesOf(db)
    db.close()
    return grouped(tables)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function tablesOf(db: DatabaseSync): Table[] {
  const meanings = readMeanings()
  const names = db
    .prepare(
      `select name from sqlite_master where type = 'table' and name not glob 'sqlite_*' and name not glob 'kysely_*'`,
    )
    .all()
    .map(({ name }) => String(name))
  return names.map((name) => {
    const unique = uniqueOf(db, name)
    return {
      name,
      meaning: meanings.get(name) ?? fail(`table ${name} has no sentence above it in src/platform/db`),
      columns: db
        .prepare('select name, pk, "notnull" as required from pragma_table_info(?) order by cid')
        .all(name)
        .map((column) => ({
          name: String(column.name),
          isKey: column.pk !== 0,
          isUnique: unique.has(String(column.name)),
          isRequired: column.pk !== 0 || column.required === 1,
          refersTo: targetOf(String(column.name), names),
        })),
    }
  })
}

/** The columns of the table's unique indexes. Stamps only order rows. */
function uniqueOf(db: DatabaseSync, table: string): Set<string> {
  const rows = db
    .prepare(
      `select info.name from pragma_index_list(?) list join pragma_index_info(list.name) info where list."unique" = 1`,
    )
    .all(table)
  return new Set(rows.map(({ name }) => String(name)).filter((name) => !name.endsWith('_stamp')))
}

function targetOf(column: string, tables: readonly string[]): string | undefined {
  const named = REFERENCES[column] ?? (column.endsWith('_id') ? column.slice(0, -'_id'.length) : undefined)
  if (named === undefined || ELSEWHERE.includes(column)) return undefined
  return tables.includes(named)
    ? named
    : fail(`${column} refers to no table: say to which in scripts/data-model/model.ts`)
}

/** The comment above each table in the files of src/platform/db that declare them. */
function readMeanings(): Map<string, string> {
  const folder = join(import.meta.dirname, '..', '..', 'src', 'platform', 'db')
  const files = readdirSync(folder).filter((name) => /^schema\.ts$|-tables\.ts$/.test(name))
  const found = files.flatMap((name) => [
    ...readFileSync(join(folder, name), 'utf8').matchAll(/^ {2}\/\*\* (.+) \*\/\n {2}(\w+): \{/gm),
  ])
  return new Map(found.map(([, words, table]) => [table!, words!]))
}

function grouped(tables: Table[]): Group[] {
  const homes = new Map(Object.entries(GROUPS).flatMap(([title, names]) => names.map((name) => [name, title])))
  const homeOf = ({ name, columns }: Table) =>
    homes.get(name) ?? homes.get(columns.find(({ refersTo }) => refersTo)?.refersTo ?? '') ?? 'Database metadata'
  return Object.entries(GROUPS).map(([title, order]) => ({
    title,
    tables: tables
      .filter((table) => homeOf(table) === title)
      .toSorted((one, other) => placeIn(order, one) - placeIn(order, other)),
  }))
}

function placeIn(order: readonly string[], { name }: Table): number {
  return order.includes(name) ? order.indexOf(name) : order.length
}

function fail(message: string): never {
  throw new Error(message)
}
