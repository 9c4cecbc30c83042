/**
 * The tables, once for both engines. Moments are milliseconds since the epoch and null means "never"; stamps are moments
 * made unique (`clock.ts`); flags are 0 or 1, because SQLite has no boolean; `_json` columns are never filtered on.
 */
import type { Selectable } from 'kysely'
import type { Role } from '../access/roles.ts'

export type Schema = {
  account: {
    id: string
    kind: 'user' | 'team'
    /** A team's slug or a user's username: one namespace. */
    slug: string
    name: string | null
    /** Users only. */
    email: string | null
    default_team_id: string | null
    plan: 'hobby' | 'pro' | 'enterprise'
    soft_blocked_at: number | null
    payment_missing_at: number | null
    add_ons_json: string
    created_stamp: number
  }
  member: { team_id: string; user_id: string; role: Role; created_at: number }
  token: {
    id: string
    hash: string
    user_id: string
    team_id: string | null
    name: string | null
    scopes_json: string | null
    project_ids_json: string | null
    expires_at: number | null
    created_stamp: number
  }
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
    created_at: number
    updated_stamp: number
  }
  /** The outbox: written in the transaction of the change it tells of. */
  event: {
    stamp: number
    id: string
    account_id: string
    project_id: string | null
    type: string
    payload_json: string
  }
  audit: {
    stamp: number
    account_id: string | null
    actor_kind: string
    actor_id: string
    token_id: string | null
    type: string
    subject_id: string | null
    fields_json: string
  }
  /** One row a fact about the store itself. */
  fact: { name: string; value: string }
}

export type Row<T extends keyof Schema> = Selectable<Schema[T]>
