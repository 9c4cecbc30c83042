/**
 * TABLE which subjects a row is of: whoever writes a row of the table raises their stamps. Of each table there is a rule, or the reason why
 * no remembered answer shows it. A new table does not compile without one. docs/architecture.md: What is remembered.
 */
import type { Kind } from './change-feed.ts'
import type { Schema } from './schema.ts'

/**
 * `of`: the ids by their kind, as SQL in which `row` is the row as it was or is. `from`: where else the ids stand. `deletes`: false where
 * a row that is deleted changes nothing.
 */
export type Rule = { of: Partial<Record<Kind, string>>; from?: string; deletes?: boolean }

const ofProject: Rule = { of: { project: 'row.project_id' } }
const NOT_SHOWN = 'no remembered answer shows it'
const WITH_VARIABLE = 'it is written with the row of its variable'

const SUBJECTS: Record<keyof Schema, Rule | string> = {
  project: { of: { project: 'row.id', projects: 'row.account_id' } },
  env_var: ofProject,
  project_domain: ofProject,
  deployment: ofProject,
  alias: ofProject,
  alias_request: ofProject,
  transfer_request: ofProject,
  // Each account is a subject: a person's own too.
  account: { of: { account: 'row.id' } },
  member: { of: { account: 'row.team_id' } },
  token: { of: { account: 'coalesce(row.team_id, row.user_id)' } },
  configuration: { of: { account: 'row.account_id' } },
  configuration_project: {
    of: { account: 'account_id' },
    from: 'configuration where id = row.configuration_id',
  },
  // Its name and logo stand beside the variables that its installations made.
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
  env_history: NOT_SHOWN,
  project_key: 'answers with a value in clear are not remembered',
  root_key: NOT_SHOWN,
  git_credential: NOT_SHOWN,
  released_proof: NOT_SHOWN,
  event: NOT_SHOWN,
  audit: NOT_SHOWN,
  // Rows that everybody has read are swept.
  edge_change: { of: { edge: 'row.key' }, deletes: false },
  kept_answer: NOT_SHOWN,
  rate_limit: NOT_SHOWN,
  fact: NOT_SHOWN,
  store_size: NOT_SHOWN,
  backup: NOT_SHOWN,
  backup_run: NOT_SHOWN,
  keyring_copy: NOT_SHOWN,
  reserved_slug: NOT_SHOWN,
  seen: NOT_SHOWN,
  deployment_meta: NOT_SHOWN,
  deployment_usage: NOT_SHOWN,
  usage_report: NOT_SHOWN,
  blob: NOT_SHOWN,
  upload: NOT_SHOWN,
  file_usage: NOT_SHOWN,
  output: NOT_SHOWN,
  output_blob: NOT_SHOWN,
  alias_mapping: NOT_SHOWN,
  sign_in: NOT_SHOWN,
  session: { of: { sessions: 'row.user_id' } },
  email_change: NOT_SHOWN,
  password_link: NOT_SHOWN,
  // A team may demand a second factor of whoever acts.
  totp: { of: { account: 'row.user_id' } },
  passkey: { of: { account: 'row.user_id' } },
  recovery_code: NOT_SHOWN,
  spent_challenge: NOT_SHOWN,
  half_sign_in: NOT_SHOWN,
  site_session: NOT_SHOWN,
  identity: NOT_SHOWN,
  identity_link: NOT_SHOWN,
  integration_secret: NOT_SHOWN,
  authorization_code: NOT_SHOWN,
  delivery: NOT_SHOWN,
  delivery_attempt: NOT_SHOWN,
  mail: NOT_SHOWN,
}

/** The rules alone, by table. */
export const RULES: readonly (readonly [table: string, rule: Rule])[] = Object.entries(SUBJECTS).flatMap(
  ([table, rule]) => (typeof rule === 'string' ? [] : [[table, rule] as const]),
)

/** Every table of the schema, by name. */
export const TABLES = Object.keys(SUBJECTS) as readonly (keyof Schema)[]
