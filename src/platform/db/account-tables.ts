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
    /** Settings that clients keep here and Berth does nothing with, as accounts/accounts/teams.ts reads them; null: none. */
    settings_json: string | null
    created_stamp: number
    /** Teams only: since when their members need a second factor. platform/access/second-factor.ts. */
    factor_demanded_at: number | null
    /** Users only: since when they may not come in. accounts/users/suspend.ts. */
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
    /** The token by which they were invited; null: a session, or an earlier version, which did not note it. */
    token_id: string | null
    expires_at: number
    created_stamp: number
  }
  /** A slug that was given up, kept for whoever had it. accounts/accounts/slugs.ts. */
  reserved_slug: { id: string; slug_hash: string; holder_id: string; expires_at: number }
  /** When a person or a token was last seen, to the hour. platform/access/last-seen.ts. */
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

/** The tables of second factors. docs/sign-in-and-consent.md: Second factors. */
export type SecondFactorTables = {
  /** The secret from which the app of a person makes one-time codes (RFC 6238). */
  totp: {
    user_id: string
    sealed_secret: string
    created_at: number
    /** When the person typed the first right code. Null: it is being set up, and opens nothing. */
    confirmed_at: number | null
    /** The step of 30 seconds of the code that was used last. Only a later one counts. */
    used_step: number
  }
  /** A recovery code that was not used yet. */
  recovery_code: { hash: string; user_id: string }
  /** A passkey of a person. Its id is the credential's, in base64url. */
  passkey: {
    id: string
    user_id: string
    /** COSE, in base64url. */
    public_key: string
    /** How often the authenticator signed, as it said last. 0: it does not count. */
    counter: number
    transports_json: string
    name: string
    created_at: number
    used_at: number | null
  }
  /** A challenge that a passkey answered, kept until the challenge expires. */
  spent_challenge: { hash: string; expires_at: number }
  /** A browser in which somebody gave the right password and no second factor yet. */
  half_sign_in: { hash: string; user_id: string; expires_at: number }
  /** A member who came into a protected site of their account: a code, and once that is redeemed the cookie of the host. */
  site_session: {
    /** Of the secret: that of the code, and then that of the cookie. */
    hash: string
    /** Of a code: the hash of what the browser holds that may redeem it; null: it is redeemed. */
    challenge: string | null
    /** Lower case, without a port. */
    host: string
    project_id: string
    /** Whose project it was then. */
    account_id: string
    user_id: string
    /** The session of the console in which it was made: it ends with that one. */
    session_hash: string
    expires_at: number
  }
}
