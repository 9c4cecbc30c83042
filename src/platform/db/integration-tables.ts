/** The tables of integrations, sign-in, webhooks, log drains and email. Conventions: `schema.ts`. */

export type IntegrationTables = {
  /** The password of a user (argon2id hash) and recent failed attempts. */
  sign_in: { user_id: string; password_hash: string | null; failures: number; locked_until: number | null }
  /** A browser in which a user is signed in. */
  session: {
    hash: string
    user_id: string
    created_at: number
    used_at: number
    expires_at: number
    /** The last reauthentication; null: the sign-in. */
    confirmed_at: number | null
    /** The user agent at sign-in, followed by the address. Null: an earlier version did not record it. */
    agent: string | null
    address: string | null
  }
  /** A new email of a user, pending until they open the emailed link. */
  email_change: { user_id: string; hash: string; email: string; expires_at: number }
  /** A single-use link to set a password. */
  password_link: {
    hash: string
    user_id: string
    expires_at: number
    used_at: number | null
    /** The operator who created it. Null: the operator token, the first start, or an earlier version. */
    created_by: string | null
  }
  /** The identity of a user at the single sign-on provider. accounts/single-sign-on/identities.ts. */
  identity: {
    issuer: string
    sub: string
    user_id: string
    /** Sealed; null: the provider sent none, so it cannot be checked again. */
    refresh_token: string | null
    /** When the provider last confirmed the user. */
    checked_at: number
    /** When the next check is due; null once the provider rejects the user. */
    due_at: number | null
    /** Since when the user is suspended because of it. */
    ended_at: number | null
  }
  /** A single-use emailed link that connects a user to an identity of the provider. */
  identity_link: { hash: string; user_id: string; issuer: string; sub: string; expires_at: number }
  /** A third-party app. Its id is the `client_id`; `scopes_json` has the scopes that it requests. */
  integration: {
    id: string
    /** The team that created and runs it. */
    team_id: string
    slug: string
    name: string
    redirect_url: string
    logo_url: string | null
    scopes_json: string
    created_stamp: number
    updated_at: number
  }
  /** One or two live client secrets. Also stored sealed, because webhooks are signed with them. */
  integration_secret: {
    integration_id: string
    id: string
    hash: string
    sealed_secret: string
    created_stamp: number
  }
  /** An installation of an integration on an account. Requested scopes that were not granted are pending. */
  configuration: {
    id: string
    integration_id: string
    account_id: string
    /** Its owner: the user who installed it, or to whom it was transferred. */
    user_id: string
    /** The granted scopes. */
    scopes_json: string
    project_selection: 'all' | 'selected'
    source: 'marketplace' | 'deploy-button' | 'external'
    created_stamp: number
    updated_at: number
    /** When the first code was exchanged. */
    completed_at: number | null
    disabled_at: number | null
    disabled_reason: 'original-owner-left-the-team' | 'original-owner-role-downgraded' | 'disabled-by-admin' | null
    /** When ownership was last transferred: deliveries on hold until then are sent in order. */
    resumed_at: number | null
    /** The row stays for its last event; nothing else finds it. */
    deleted_at: number | null
  }
  /** A project that an installation with selected projects can access. */
  configuration_project: { configuration_id: string; project_id: string }
  /** The one-time code that an installation exchanges for its token. */
  authorization_code: {
    hash: string
    configuration_id: string
    integration_id: string
    user_id: string
    redirect_uri: string
    /** PKCE, S256. */
    code_challenge: string | null
    expires_at: number
    /** When it was exchanged, as a stamp: a use that began later is a replay; an earlier one lost a race. */
    used_stamp: number | null
    /** The token from the exchange: a replay revokes it. */
    token_id: string | null
  }
  /** A webhook endpoint of an account, or of an integration for all of its installations. */
  webhook: {
    id: string
    /** The account that owns it; for an integration's endpoint, the team that runs the integration. */
    account_id: string
    integration_id: string | null
    /** The installation that registered it; both are deleted together. */
    configuration_id: string | null
    url: string
    /** Null: all events that its owner may receive. */
    events_json: string | null
    project_ids_json: string | null
    /** Null on an integration's endpoint: its client secrets sign. */
    sealed_secret: string | null
    created_by: string | null
    created_stamp: number
    updated_at: number
    /** Since when every attempt failed. */
    failing_since: number | null
    disabled_at: number | null
    disabled_reason: 'gone' | 'failing' | 'overflow' | null
    /** Since when it is on hold, because its creator lost access. */
    held_at: number | null
    held_reason: 'original-owner-left-the-team' | 'original-owner-role-downgraded' | 'disabled-by-admin' | null
    /** Since when its installation is deleted: it receives only that event. */
    ended_at: number | null
  }
  /** A log drain: an endpoint that receives the log lines of an account's projects. */
  log_drain: {
    id: string
    account_id: string
    configuration_id: string | null
    name: string
    url: string
    delivery_format: 'json' | 'ndjson'
    sealed_secret: string
    sealed_headers: string | null
    sources_json: string | null
    environments_json: string
    project_ids_json: string | null
    /** Sampling rules; null: all lines are sent. */
    sampling_json: string | null
    created_by: string | null
    created_stamp: number
    updated_at: number
    failing_since: number | null
    disabled_at: number | null
    disabled_reason: 'gone' | 'failing' | 'overflow' | 'owner' | null
    /** Since when it is on hold, because its creator lost access. */
    held_at: number | null
    held_reason: 'original-owner-left-the-team' | 'original-owner-role-downgraded' | 'disabled-by-admin' | null
  }
  /** A delivery to one endpoint, written in the transaction that caused it. */
  delivery: {
    id: string
    account_id: string
    /** A webhook or a log drain. */
    endpoint_id: string
    configuration_id: string | null
    /** The event to send; null for lines of a log drain, which are in `body`. */
    event_stamp: number | null
    type: string
    body: string | null
    /** The size of `body`, also after it was deleted. */
    body_bytes: number | null
    attempts: number
    /** When the next attempt is due; an attempt extends it as a lease. Null: finished or on hold. */
    due_at: number | null
    /** When it was put on hold, until its installation is active; with a `due_at`, it is next. */
    held_at: number | null
    status: 'pending' | 'delivered' | 'failed' | 'dropped'
    created_stamp: number
    done_at: number | null
  }
  /** An attempt of a delivery, and its response. */
  delivery_attempt: {
    delivery_id: string
    attempt: number
    at: number
    /** Null without a response; `error` has the reason. */
    status_code: number | null
    duration_ms: number
    error: string | null
    /** The first KiB of the response. */
    response: string | null
  }
  /** An email to send, written in the transaction that caused it. */
  mail: {
    id: string
    recipient: string
    subject: string
    /** Sealed, until it is sent or dropped; then empty. */
    body_text: string
    /** 1: requested password email. 2: another requested email, such as an invitation. */
    asked: number
    /** The topic of an email that is sent at most once a day. */
    topic: string | null
    created_stamp: number
    attempts: number
    due_at: number | null
    sent_at: number | null
    failed_at: number | null
    last_error: string | null
  }
}
