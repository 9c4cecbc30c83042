/**
 * The tables, once for both engines. Moments are milliseconds since the epoch and null means "never"; stamps are moments
 * made unique (`clock.ts`); flags are 0 or 1, because SQLite has no boolean; `_json` columns are never filtered on.
 */
import type { Selectable } from 'kysely'
import type { AccountTables, SecondFactorTables } from './account-tables.ts'
import type { BackupTables } from './backup-tables.ts'
import type { DeploymentTables, FileTables } from './deployment-tables.ts'
import type { IntegrationTables } from './integration-tables.ts'
import type { SharedEnvTables } from './shared-env-tables.ts'

type EnvType = 'system' | 'encrypted' | 'plain' | 'sensitive' | 'secret'

export type Schema = CoreTables &
  AccountTables &
  IntegrationTables &
  DeploymentTables &
  FileTables &
  SharedEnvTables &
  SecondFactorTables &
  BackupTables

type CoreTables = {
  /** A project of an account: its settings, and what is asked of it so often that it stands in its row. */
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
    /** The deployment that serves production: what new production domains lead to. */
    live_deployment_id: string | null
    /** What the project's answer shows of its deployments; null: it never had one. model/deployment-summary.ts. */
    deployments_json: string | null
    /** When a rollback switched autoAssignCustomDomains off; null: it did not, or that was undone. */
    auto_assign_off_at: number | null
    /** The repository that it is built from, as projects/links/connect.ts reads it; null: none. */
    link_json: string | null
    /** The secrets by which automation passes its protection, sealed, as projects/projects/bypass.ts reads them; null: none. */
    bypass_json: string | null
    /** Its custom environments, as model/environment.ts reads them; null: none. */
    custom_environments_json: string | null
    /** After how many days its deployments expire, as projects/deployments/expiration.ts reads it; null: nobody said so yet. */
    expiration_json: string | null
    /** When its deployments were last looked at for their age; null: none expires. */
    expiration_checked_at: number | null
    /** Whether cron jobs are to run, as projects/projects/crons.ts reads it; null: nobody said so yet. */
    crons_json: string | null
    created_at: number
    updated_stamp: number
  }
  /** The one live code by which a project can be taken over; once used, it stays until the project is there. */
  transfer_request: {
    project_id: string
    /** The account that gives. */
    account_id: string
    hash: string
    created_by: string
    /** The token that made it; null: a session, or an earlier version, which did not note it. */
    token_id: string | null
    expires_at: number
    accepted_at: number | null
    accepted_by: string | null
    new_name: string | null
  }
  /** How an account speaks to a git provider, as the operator set it. */
  git_credential: {
    account_id: string
    provider: 'gitlab' | 'bitbucket'
    id: string
    base_url: string
    username: string | null
    sealed_token: string
    /** Where the provider sends pushes: the build system. */
    webhook_url: string
    sealed_webhook_secret: string | null
    updated_at: number
  }
  /** A name that an account claims for a project. Several accounts may claim one name; one of them at most is verified. */
  project_domain: {
    account_id: string
    /** Canonical: model/domain-name.ts. */
    name: string
    project_id: string
    apex_name: string
    git_branch: string | null
    /** The custom environment of its project that it shows. */
    custom_environment_id: string | null
    redirect: string | null
    redirect_status_code: number | null
    challenge_token: string
    verified_at: number | null
    /** When the account proved by DNS that it rules the apex; null where a name was had without (docs/domains.md). */
    proven_at: number | null
    /** When it came from another account, which had made the proof: the proof makes nothing else verified then. */
    inherited_at: number | null
    created_stamp: number
    updated_at: number
  }
  /** A proof of an apex whose names were removed: it still speaks for the account for a while. projects/domain-verification/released-proof.ts. */
  released_proof: {
    apex_name: string
    account_id: string
    proven_at: number
    released_at: number
  }
  /** An apex that an account claims as a whole, beside what its projects have. projects/account-domains/account-domains.ts. */
  account_domain: {
    account_id: string
    /** An apex, canonical. */
    name: string
    challenge_token: string
    /** When the account proved it; null: not, or another account proved something under it since. */
    proven_at: number | null
    created_stamp: number
  }
  /** The outbox: written in the transaction of the change it tells of. */
  event: {
    stamp: number
    id: string
    account_id: string
    project_id: string | null
    type: string
    payload_json: string
    /** The installation that it is about: no other one hears it. */
    configuration_id: string | null
    /** Of a variable: the installation that made it; null when a person did, and of all else. */
    made_by: string | null
  }
  /** What was done, by whom, and to what: one line for each change. platform/outbox/audit-chain.ts. */
  audit: {
    stamp: number
    account_id: string | null
    actor_kind: string
    actor_id: string
    token_id: string | null
    type: string
    subject_id: string | null
    fields_json: string
    /** Where it stands in the chain, and its hash (audit-chain.ts); null: not linked yet. */
    position: number | null
    hash: string | null
  }
  /** A root key of the keyring that this store knows: never the key, only what proves that a key is it. */
  root_key: {
    id: string
    sealed_check: string
    /** The latest is the active key; null: known, and never active. */
    activated_stamp: number | null
  }
  /** The data key of a project (or, for secrets that no project has, of an account), wrapped by a root key. */
  project_key: { project_id: string; id: string; root_key_id: string; wrapped_key: string }
  /** A variable of a project, with its value sealed by the project's data key. */
  env_var: {
    project_id: string
    id: string
    key: string
    type: EnvType
    /**
     * The targets as `production,preview,env_…`, custom environments by their ids; env_target says the same, one row a place,
     * and decides who has it. '': in no environment, since the only one it was in was removed.
     */
    targets: string
    /** '' when the variable is for every branch. */
    git_branch: string
    sealed_value: string
    /** The version that set the value: the seal is bound to it. */
    value_version: number
    value_bytes: number
    comment: string | null
    /** The installation that made it; null: made by people. */
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
  /** Each key, target and branch that a variable takes. The primary key lets one variable have it. */
  env_target: { project_id: string; key: string; target: string; git_branch: string; env_id: string }
  /** The count and size of the variables of a project and target, so that a limit is asked of one row. Target '': those in no environment. */
  env_usage: { project_id: string; target: string; variables: number; bytes: number }
  /** A variable as it was from `at` on, one row for each version. */
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
    /** Set when the variable is deleted: from then on the row may go. */
    expires_at: number | null
  }
  /** What of the edge's answers changed last, and when; by triggers. `domain <name>`, `project <id>`, `deployment <id>`. */
  edge_change: { key: string; stamp: number }
  /** Answers to requests that brought an Idempotency-Key. platform/http/idempotency.ts. */
  kept_answer: {
    /** The hash of token and key. */
    id: string
    /** The hash of method, address and body. */
    asked: string
    /** 0 only within the transaction that gives the answer. */
    status: number
    sealed_body: string | null
    created_at: number
  }
  /** What owners took of rate limits, in windows that run. `granted`: what the last statement took of it. limiter/. */
  rate_limit: { name: string; owner: string; ends_at: number; used: number; granted: number }
  /** How large the store was on a day, `2026-11-22` in UTC. */
  store_size: { day: string; bytes: number }
  /** One row for each fact about the store itself. */
  fact: { name: string; value: string }
}

export type Row<T extends keyof Schema> = Selectable<Schema[T]>
