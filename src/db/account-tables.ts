/** The tables of users, teams, who is in which, and personal tokens. Conventions: `schema.ts`. */
import type { Role } from '../permissions/roles.ts'

export type AccountTables = {
  /** A user or a team: whoever can own projects. */
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
    /** Teams only, as are the next two. */
    description: string | null
    sensitive_env_policy: 'on' | 'off' | 'default' | null
    /** Settings that clients keep here and Berth does nothing with, as accounts/teams.ts reads them; null: none. */
    settings_json: string | null
    created_stamp: number
    /** Teams only: since when their members need a second factor. access/second-factor.ts. */
    factor_demanded_at: number | null
    /** Users only: since when they may not come in. people/suspend.ts. */
    suspended_at: number | null
    /** Users only: since when they are an operator, for pages that ask. */
    operator_at: number | null
  }
  /** A person's place in a team, by consent or by the operator. Whoever is only invited has no row here. */
  member: {
    team_id: string
    user_id: string
    role: Role
    created_stamp: number
    /** When the operator placed them, who never accepted; null: they accepted, or the team was made for them. */
    placed_at: number | null
    /** When others made them OWNER; null: they are none, or accepted it. They may leave as the last one too. */
    owner_put_at: number | null
  }
  /** An offer of a place in a team that waits for the person's answer. */
  invitation: {
    id: string
    team_id: string
    /** In lower case: who gets a user with it later is the one who is meant. */
    email: string
    /** Null: nobody has the address yet. */
    user_id: string | null
    role: Role
    invited_by: string
    expires_at: number
    created_stamp: number
  }
  /** A slug that was given up, kept for whoever had it. accounts/slugs.ts. */
  reserved_slug: { id: string; slug_hash: string; holder_id: string; expires_at: number }
  /** When a person or a token was last seen, to the hour. access/last-seen.ts. */
  seen: { id: string; at: number }
  /** A bearer token of a person or of an installation, by the hash of its text. */
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
    /** The installation whose token it is: it says then what the token may do, and on which projects. */
    configuration_id: string | null
  }
}
