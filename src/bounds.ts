/**
 * TABLE Growth limits of each table: budgets (`budgets.ts`), rate limits with purged rows (`limits.ts`), or the reason why tenants cannot grow it
 * without limit. A new table does not compile without a row. docs/limits.md: Budgets.
 */
import type { BudgetName } from './budgets.ts'
import type { LimitName } from './limits.ts'
import type { Schema } from './platform/db/schema.ts'

export type Bound =
  | { budgets: readonly BudgetName[] }
  | { limits: readonly LimitName[]; kept: string }
  | { reason: string }

const BY_OPERATOR = because('the operator makes its rows, or Berth for itself')
const OF_VARIABLE = because(
  'a project has 1,000 variables and 64 KiB of values in each environment: projects/env/usage.ts',
)
const OF_PERSON = because('a user has one, or few that replace each other; the operator creates users')
const BRIEF = because('a row expires after minutes or a day and is purged; creating one is limited per user or address')

export const BOUNDS: Record<keyof Schema, Bound> = {
  project: { budgets: ['projects'] },
  project_domain: { budgets: ['domains'] },
  account_domain: { budgets: ['account-domains'] },
  deployment: { budgets: ['deployments'] },
  integration: { budgets: ['integrations'] },
  configuration: { budgets: ['installations'] },
  token: { budgets: ['tokens', 'installations'] },
  account: { budgets: ['teams'] },
  member: { budgets: ['members', 'teams'] },
  invitation: { budgets: ['invitations'] },
  event: { limits: ['event-bytes'], kept: '30 days' },
  delivery: { limits: ['event-bytes'], kept: '30 days' },
  delivery_attempt: { limits: ['event-bytes'], kept: '30 days' },
  audit: { limits: ['audit-lines'], kept: 'for good: an entry that is removed would break the chain' },
  kept_answer: { limits: ['kept-answers', 'kept-answer-bytes'], kept: '24 hours' },
  mail: { limits: ['letters-sent', 'letters-to-address'], kept: '30 days' },
  env_var: OF_VARIABLE,
  env_target: OF_VARIABLE,
  env_usage: OF_VARIABLE,
  env_history: {
    limits: ['history-bytes'],
    kept: '100 versions of a variable; of a deleted one its versions without values for 30 days',
  },
  shared_env_var: because('an account has 200: projects/shared-env/schema.ts'),
  shared_env_target: because('a shared variable is in at most two'),
  shared_env_link: because('an account has 500: projects/shared-env/schema.ts'),
  deployment_meta: because('a deployment has few fields of meta, bounded in bytes: projects/serving/validate.ts'),
  frozen_env: because(
    'a deployment has one of 512 KiB, which counts with the files of its account: delivery/builds/frozen-variables.ts',
  ),
  deployment_usage: because('a deployment has one for each hour of the last 30 days in which it had visitors'),
  function_usage: because(
    'a deployment has one for each of 101 names and each of the last 48 hours, of each sites server',
  ),
  runtime_log: because('an account has 32 MiB in 4,000 rows, for 3 days: delivery/logs/store-lines.ts'),
  cron_job: because('a deployment has 100, and a project those of its production deployment'),
  cron_run: because('a project has 50: a new one ends the oldest'),
  data_cache_size: because(
    'a project has one for each sites server and environment, which goes within two hours of its last report: delivery/data-cache/sizes.ts',
  ),
  usage_report: because('a start of a sites server makes three, which go 31 days after the last report'),
  blob: because('an account has 10 GiB of files, counted in blocks of 4 KiB: delivery/uploads/usage.ts'),
  upload: because('a file of an account has one'),
  output: because('a deployment has one, and what no deployment shows is removed'),
  output_blob: because('an output has at most 20,000 files'),
  build: because(
    'a deployment from source has one; 100 of an account wait and 200 of an owner: delivery/builds/new-build.ts',
  ),
  build_log: because(
    'a log has 18 MiB, which count with the files of its account, and ends where they are full: delivery/builds/log.ts',
  ),
  runner: because('a Berth has 500, and one goes a day after its last request: delivery/runners/registry.ts'),
  file_usage: because('an account has one'),
  alias: because('a domain of a project has one'),
  alias_request: because('a project keeps its last of each kind'),
  alias_mapping: because('a request has one for each production domain of its project'),
  transfer_request: because('a project has one'),
  project_key: because('a project has one, and an account'),
  git_credential: because('an account has one for each git provider'),
  domain_turn: because('an account has one'),
  released_proof: because('an account has one for each apex that it verified by DNS, for 30 days'),
  integration_secret: because('an integration has two: integrations/integrations/secrets.ts'),
  configuration_project: because('an installation has 10,000: integrations/installations/selection.ts'),
  webhook: because('an account has 20, and each installation and integration: integrations/webhooks/rules.ts'),
  log_drain: because('an account has 20, and each installation: integrations/webhooks/rules.ts'),
  authorization_code: BRIEF,
  reserved_slug: because('an account has 10: accounts/accounts/slugs.ts'),
  seen: because('a user has one, and a token'),
  totp: OF_PERSON,
  recovery_code: OF_PERSON,
  sign_in: OF_PERSON,
  email_change: OF_PERSON,
  password_link: OF_PERSON,
  identity: OF_PERSON,
  identity_link: OF_PERSON,
  passkey: because('a user has 20: accounts/second-factor/passkeys.ts'),
  session: because('a user has 100, and a new one ends the oldest: accounts/sign-in/sessions.ts'),
  spent_challenge: BRIEF,
  half_sign_in: BRIEF,
  site_session: because('a user has 200, and a new one ends the oldest: projects/site-sign-in/site-sessions.ts'),
  rate_limit: because('a window ends and is swept each minute; each process counts for 20,000 owners of a limit'),
  edge_change: because('a domain, a project and a deployment have one; those that every edge has read are purged'),
  root_key: BY_OPERATOR,
  keyring_copy: BY_OPERATOR,
  backup: BY_OPERATOR,
  backup_run: BY_OPERATOR,
  store_size: because('a day has one'),
  fact: BY_OPERATOR,
}

function because(reason: string): Bound {
  return { reason }
}
