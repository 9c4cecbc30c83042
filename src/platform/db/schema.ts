/**
 * The tables, once for both engines. `_at` is milliseconds since the epoch, and null means "never". Stamps are unique times (`clock.ts`). Flags are 0
 * or 1, because SQLite has no boolean. `_json` columns are never filtered on.
 */
import type { Selectable } from 'kysely'
import type { AccountTables, SecondFactorTables } from './account-tables.ts'
import type { BackupTables } from './backup-tables.ts'
import type { BuildTables, DeploymentTables, FileTables } from './deployment-tables.ts'
import type { DomainTables } from './domain-tables.ts'
import type { IntegrationTables } from './integration-tables.ts'

type EnvType = 'system' | 'encrypted' | 'plain' | 'sensitive' | 'secret'

export type Schema = CoreTables &
  AccountTables &
  IntegrationTables &
  DeploymentTables &
  FileTables &
  BuildTables &
  DomainTables &
  SecondFactorTables &
  BackupTables

type CoreTables = {
  /** A project of an account: its settings, and derived data that is read often. */
  project: {
    id: string
    account_id: string
    name: string
    git_fork_protection: number
    repo: string | null
    repo_id: string | null
    repo_url: string | null
    settings_json: string
    password_hash: string | null
    data_cache_disabled_at: number | null
    paused_at: number | null
    resumed_at: number | null
    transfer_started_at: number | null
    transfer_completed_at: number | null
    transfer_to_account_id: string | null
    transferred_from_account_id: string | null
    /** The production deployment; new production domains serve it. */
    live_deployment_id: string | null
    /** The deployments in the project's reply; null: it never had one. model/deployment-summary.ts. */
    deployments_json: string | null
    /** When a rollback disabled autoAssignCustomDomains; null: it did not, or it was enabled again. */
    auto_assign_off_at: number | null
    /** The linked repository (projects/links/connect.ts); null: none. */
    link_json: string | null
    /** The sealed secrets with which automation bypasses its protection (projects/projects/bypass.ts); null: none. */
    bypass_json: string | null
    /** Its custom environments (model/environment.ts); null: none. */
    custom_environments_json: string | null
    /** After how many days its deployments expire (projects/deployments/expiration.ts); null: not set. */
    expiration_json: string | null
    /** When its deployments were last checked for expiry; null: none expires. */
    expiration_checked_at: number | null
    /** The production deployment whose cron jobs are scheduled; another than `live_deployment_id`: not yet. */
    crons_of: string | null
    /** Whether its cron jobs run (projects/projects/crons.ts); null: not set. */
    crons_json: string | null
    /** What was purged of its cached pages (platform/verdict/cache-purges.ts); null: nothing. */
    purges_json: string | null
    created_at: number
    updated_stamp: number
  }
  /** What a sites server keeps in the data cache of a project, for one environment. delivery/data-cache/sizes.ts. */
  data_cache_size: {
    /** The random name of its process. */
    server: string
    project_id: string
    environment: string
    entries: number
    /** On the disk of the sites server. */
    bytes: number
    reported_at: number
  }
  /** The one live transfer code of a project; after use it stays until the project has arrived. */
  transfer_request: {
    project_id: string
    /** The account that transfers. */
    account_id: string
    hash: string
    created_by: string
    /** The token that created it; null: a session, or an earlier version, which did not record it. */
    token_id: string | null
    expires_at: number
    accepted_at: number | null
    accepted_by: string | null
    new_name: string | null
  }
  /** The git provider credentials of an account, as the operator set them. */
  git_credential: {
    account_id: string
    provider: 'gitlab' | 'bitbucket'
    id: string
    base_url: string
    username: string | null
    sealed_token: string
    /** The build system, which receives pushes of the provider. */
    webhook_url: string
    sealed_webhook_secret: string | null
    updated_at: number
  }
  /** The outbox: an event, written in the transaction of its change. */
  event: {
    stamp: number
    id: string
    account_id: string
    project_id: string | null
    type: string
    payload_json: string
    /** The only installation that receives it. */
    configuration_id: string | null
    /** Of a variable: the installation that created it; null when a user did, and for all other events. */
    made_by: string | null
  }
  /** The audit log: one entry per change, with its actor and target. platform/outbox/audit-chain.ts. */
  audit: {
    stamp: number
    account_id: string | null
    actor_kind: string
    actor_id: string
    token_id: string | null
    type: string
    subject_id: string | null
    fields_json: string
    /** The project that it is about, for the filter of activity. Not part of the hash; null: none, or an entry from before the column. */
    project_id: string | null
    /** Its position in the chain, followed by its hash (audit-chain.ts); null: not linked yet. */
    position: number | null
    hash: string | null
  }
  /** A root key of the keyring that this database knows: never the key, only a value that verifies it. */
  root_key: {
    id: string
    sealed_check: string
    /** The latest is the active key; null: known, and never active. */
    activated_stamp: number | null
  }
  /** The data key of a project, or of an account for secrets outside projects, wrapped by a root key. */
  project_key: { project_id: string; id: string; root_key_id: string; wrapped_key: string }
  /** A variable of a project, with its value sealed by the project's data key. */
  env_var: {
    project_id: string
    id: string
    key: string
    type: EnvType
    /**
     * The targets as `production,preview,env_…`, custom environments by their ids. env_target has the same, one row per slot, and is authoritative.
     * '': in no environment, since its only one was deleted.
     */
    targets: string
    /** '' when the variable is for every branch. */
    git_branch: string
    sealed_value: string
    /** The version that set the value: the seal is bound to it. */
    value_version: number
    value_bytes: number
    comment: string | null
    /** The installation that created it; null: created by users. */
    configuration_id: string | null
    edge_config_id: string | null
    edge_config_token_id: string | null
    content_hint_json: string | null
    version: number
    created_by: string | null
    updated_by: string | null
    created_stamp: number
    updated_at: number
  }
  /** A slot of a variable: key, target and branch. The primary key makes it unique. */
  env_target: { project_id: string; key: string; target: string; git_branch: string; env_id: string }
  /** The number and size of the variables per project and target, so that a limit check reads one row. Target '': in no environment. */
  env_usage: { project_id: string; target: string; variables: number; bytes: number }
  /** A version of a variable, valid from `at` on. */
  env_history: {
    project_id: string
    env_id: string
    version: number
    action: 'created' | 'updated' | 'restored' | 'deleted'
    changed_json: string
    key: string
    type: EnvType
    targets: string
    git_branch: string
    /** Null once the variable is deleted. */
    sealed_value: string | null
    value_version: number
    comment: string | null
    configuration_id: string | null
    actor_kind: string
    actor_id: string
    at: number
    /** Set when the variable is deleted: the row is purged after it. */
    expires_at: number | null
  }
  /** The last change of edge data, written by triggers. `domain <name>`, `project <id>`, `deployment <id>`. */
  edge_change: { key: string; stamp: number }
  /** Stored responses to requests with an Idempotency-Key. platform/http/idempotency.ts. */
  kept_answer: {
    /** The hash of token and key. */
    id: string
    /** The hash of method, path and body. */
    asked: string
    /** 0 only within the transaction that writes the response. */
    status: number
    sealed_body: string | null
    created_at: number
  }
  /** A variable that several projects of an account share. Its value is sealed with the data key of the account. */
  shared_env_var: {
    account_id: string
    id: string
    key: string
    type: 'encrypted' | 'sensitive'
    /** `production,preview`; shared_env_target has the same, one row per target, and is authoritative. */
    targets: string
    sealed_value: string
    /** The version that set the value: the seal is bound to it. */
    value_version: number
    value_bytes: number
    comment: string | null
    /** The installation that created it; null: a user did. */
    configuration_id: string | null
    version: number
    created_by: string
    updated_by: string
    created_stamp: number
    updated_at: number
  }
  /** A target of a shared variable. Its key is unique per account and target. */
  shared_env_target: { account_id: string; key: string; target: string; variable_id: string }
  /** A project that uses a shared variable. */
  shared_env_link: { account_id: string; variable_id: string; project_id: string }
  /** Consumed rate limits per owner, in current windows. `granted`: what the last statement consumed. limiter/. */
  rate_limit: { name: string; owner: string; ends_at: number; used: number; granted: number }
  /** What a function did in an hour. `name` is empty for those above 100. delivery/functions/function-usage.ts. */
  function_usage: { deployment_id: string; name: string; hour: number; invocations: number; errors: number; ms: number }
  /** The size of the database on a day, `2026-11-22` in UTC. */
  store_size: { day: string; bytes: number }
  /** A fact about the database itself, or a step of the setup that an operator acknowledged. */
  fact: { name: string; value: string }
}

export type Row<T extends keyof Schema> = Selectable<Schema[T]>
