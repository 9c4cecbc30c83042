/**
 * TABLE Topics of the rows of each table: a write invalidates them. A table without topics has the reason. A new table does not compile without an
 * entry. docs/architecture.md: Caching.
 */
import type { TopicKind } from './change-feed.ts'
import type { Schema } from './schema.ts'

/**
 * `of`: ids by topic kind, as SQL with `row` for the old or new row. `from`: another source of the ids. `deletes`: false where deleting a row changes
 * nothing.
 */
export type TopicRule = { of: Partial<Record<TopicKind, string>>; from?: string; deletes?: boolean }

const ofProject: TopicRule = { of: { project: 'row.project_id' } }
const NOT_CACHED = 'no remembered answer shows it'
const WITH_VARIABLE = 'it is written with the row of its variable'

const TOPICS: Record<keyof Schema, TopicRule | string> = {
  project: { of: { project: 'row.id', projects: 'row.account_id' } },
  env_var: ofProject,
  project_domain: ofProject,
  deployment: ofProject,
  alias: ofProject,
  alias_request: ofProject,
  transfer_request: ofProject,
  // Each account is a topic, also a personal one.
  account: { of: { account: 'row.id' } },
  member: { of: { account: 'row.team_id' } },
  token: { of: { account: 'coalesce(row.team_id, row.user_id)' } },
  configuration: { of: { account: 'row.account_id' } },
  configuration_project: {
    of: { account: 'account_id' },
    from: 'configuration where id = row.configuration_id',
  },
  // Variables show the name and logo of the integration.
  integration: { of: { account: 'account_id' }, from: 'configuration where integration_id = row.id' },
  webhook: { of: { endpoints: 'row.account_id' } },
  log_drain: { of: { endpoints: 'row.account_id' } },
  invitation: { of: { invitations: 'row.team_id' } },
  account_domain: { of: { domains: 'row.account_id' } },
  shared_env_var: { of: { variables: 'row.account_id' } },
  shared_env_link: { of: { variables: 'row.account_id' } },
  shared_env_target: WITH_VARIABLE,
  env_target: WITH_VARIABLE,
  env_usage: WITH_VARIABLE,
  env_history: NOT_CACHED,
  project_key: 'responses with decrypted values are not cached',
  root_key: NOT_CACHED,
  git_credential: NOT_CACHED,
  released_proof: NOT_CACHED,
  domain_turn: NOT_CACHED,
  event: NOT_CACHED,
  audit: NOT_CACHED,
  // The sweep deletes only rows that every edge has read.
  edge_change: { of: { edge: 'row.key' }, deletes: false },
  kept_answer: NOT_CACHED,
  rate_limit: NOT_CACHED,
  fact: NOT_CACHED,
  store_size: NOT_CACHED,
  backup: NOT_CACHED,
  backup_run: NOT_CACHED,
  keyring_copy: NOT_CACHED,
  reserved_slug: NOT_CACHED,
  seen: NOT_CACHED,
  deployment_meta: NOT_CACHED,
  frozen_env: NOT_CACHED,
  deployment_usage: NOT_CACHED,
  function_usage: NOT_CACHED,
  runtime_log: NOT_CACHED,
  cron_job: NOT_CACHED,
  cron_run: NOT_CACHED,
  data_cache_size: NOT_CACHED,
  usage_report: NOT_CACHED,
  blob: NOT_CACHED,
  upload: NOT_CACHED,
  file_usage: NOT_CACHED,
  output: NOT_CACHED,
  output_blob: NOT_CACHED,
  build: NOT_CACHED,
  build_log: NOT_CACHED,
  runner: NOT_CACHED,
  alias_mapping: NOT_CACHED,
  sign_in: NOT_CACHED,
  session: { of: { sessions: 'row.user_id' } },
  email_change: NOT_CACHED,
  password_link: NOT_CACHED,
  // A team may require a second factor of the caller.
  totp: { of: { account: 'row.user_id' } },
  passkey: { of: { account: 'row.user_id' } },
  recovery_code: NOT_CACHED,
  spent_challenge: NOT_CACHED,
  half_sign_in: NOT_CACHED,
  site_session: NOT_CACHED,
  identity: NOT_CACHED,
  identity_link: NOT_CACHED,
  integration_secret: NOT_CACHED,
  authorization_code: NOT_CACHED,
  delivery: NOT_CACHED,
  delivery_attempt: NOT_CACHED,
  mail: NOT_CACHED,
}

export const TOPIC_RULES: readonly (readonly [table: string, rule: TopicRule])[] = Object.entries(TOPICS).flatMap(
  ([table, rule]) => (typeof rule === 'string' ? [] : [[table, rule] as const]),
)

/** Every table of the schema, by name. */
export const TABLES = Object.keys(TOPICS) as readonly (keyof Schema)[]
