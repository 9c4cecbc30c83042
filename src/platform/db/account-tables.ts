/** The tables of users, teams, memberships and personal tokens. Conventions: `schema.ts`. */
import type { Role } from '../permissions/roles.ts'

export type AccountTables = {
  /** A user or a team. It owns projects. */
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
    /** Client settings without a meaning for Berth (accounts/accounts/teams.ts); null: none. */
    settings_json: string | null
    created_stamp: number
    /** Teams only: since when their members need a second factor. */
    factor_demanded_at: number | null
    /** Users only: since when they are suspended. accounts/users/suspend.ts. */
    suspended_at: number | null
    /** Users only: since when they are an operator in the console. */
    operator_at: number | null
  }
  /** The membership of a user in a team. An invited user has no row here yet. */
  member: {
    team_id: string
    user_id: string
    role: Role
    created_stamp: number
    /** When the operator added a user who never accepted; null: accepted, or the team was created for them. */
    placed_at: number | null
    /** When another user made the user OWNER; null: not an OWNER, or accepted, also since then. Such a user may leave as the last one too. */
    owner_put_at: number | null
  }
  /** An invitation to a team that awaits an answer. */
  invitation: {
    id: string
    team_id: string
    /** In lower case. A user who gets this email later receives the invitation. */
    email: string
    /** Null: no user has the email yet. */
    user_id: string | null
    role: Role
    invited_by: string
    /** The inviting token; null: a session, or an earlier version, which did not record it. */
    token_id: string | null
    expires_at: number
    created_stamp: number
  }
  /** A slug that was released, reserved for its last owner. accounts/accounts/slugs.ts. */
  reserved_slug: { id: string; slug_hash: string; holder_id: string; expires_at: number }
  /** When a user or a token was last seen, to the hour. platform/access/last-seen.ts. */
  seen: { id: string; at: number }
  /** A bearer token of a user or of an installation, by its hash. */
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
    /** The installation that owns the token. It decides scopes and projects. */
    configuration_id: string | null
  }
}

/** The tables of second factors. docs/sign-in-and-consent.md: Second factors. */
export type SecondFactorTables = {
  /** The secret of a user's authenticator app for one-time codes (RFC 6238). */
  totp: {
    user_id: string
    sealed_secret: string
    created_at: number
    /** When the user typed the first right code. Null: setup is not finished, and no code is accepted. */
    confirmed_at: number | null
    /** The 30-second step of the last accepted code. Only a later one is accepted. */
    used_step: number
  }
  /** An unused recovery code. */
  recovery_code: { hash: string; user_id: string }
  /** A passkey of a user. Its id is the credential's, in base64url. */
  passkey: {
    id: string
    user_id: string
    /** COSE, in base64url. */
    public_key: string
    /** The signature counter that the authenticator reported last. 0: it does not count. */
    counter: number
    transports_json: string
    name: string
    created_at: number
    used_at: number | null
  }
  /** A used passkey challenge, stored until five minutes after it expires. */
  spent_challenge: { hash: string; expires_at: number }
  /** A browser that sent the right password and no second factor yet. */
  half_sign_in: { hash: string; user_id: string; expires_at: number }
  /** A member's access to a protected site: a code, and after it is redeemed the cookie of the host. */
  site_session: {
    /** The hash of the code, later of the cookie. */
    hash: string
    /** Of a code: the hash of the browser secret that may redeem it; null: redeemed. */
    challenge: string | null
    /** Lower case, without a port. */
    host: string
    project_id: string
    /** The account that owned the project at that time. */
    account_id: string
    user_id: string
    /** The console session that created it; both end together. */
    session_hash: string
    expires_at: number
  }
}
