/** The tables of integrations, of people who sign in, and of what leaves: webhooks, log drains, mail. Conventions: `schema.ts`. */

export type IntegrationTables = {
  /** How a user signs in to the pages: an argon2id hash, and what failed of late. */
  sign_in: { user_id: string; password_hash: string | null; failures: number; locked_until: number | null }
  /** A browser in which a user is signed in. */
  session: {
    hash: string
    user_id: string
    created_at: number
    used_at: number
    expires_at: number
    /** When the person last gave their password in it again; null: at the sign-in. */
    confirmed_at: number | null
    /** Where it began: what the browser calls itself, and its address. Null: before Berth noted it. */
    agent: string | null
    address: string | null
  }
  /** A new email of a user, until they open the link that was sent there. */
  email_change: { user_id: string; hash: string; email: string; expires_at: number }
  /** A link by which a user sets a password, once. */
  password_link: {
    hash: string
    user_id: string
    expires_at: number
    used_at: number | null
    /** The operator who made it. Null: the operator token, the first start, or a Berth that did not note it. */
    created_by: string | null
  }
  /** Who a person is at the provider of single sign-on. accounts/single-sign-on/identities.ts. */
  identity: {
    issuer: string
    sub: string
    user_id: string
    /** Sealed; null: the provider gave none, and cannot be asked again. */
    refresh_token: string | null
    /** When the provider last vouched for the person. */
    checked_at: number
    /** When it is asked again; null once it no longer vouches. */
    due_at: number | null
    /** Since when the person is suspended because of it. */
    ended_at: number | null
  }
  /** A letter by which a person confirms, once, who they are at the provider. */
  identity_link: { hash: string; user_id: string; issuer: string; sub: string; expires_at: number }
  /** A third-party app. Its id is the `client_id`; `scopes_json` is what it asks for. */
  integration: {
    id: string
    /** The team that made it and runs it. */
    team_id: string
    slug: string
    name: string
    redirect_url: string
    logo_url: string | null
    scopes_json: string
    created_stamp: number
    updated_at: number
  }
  /** One or two live client secrets. Sealed beside the hash, because webhooks are signed with them. */
  integration_secret: {
    integration_id: string
    id: string
    hash: string
    sealed_secret: string
    created_stamp: number
  }
  /** An installation of an integration on an account. What it asks for and was not granted is pending. */
  configuration: {
    id: string
    integration_id: string
    account_id: string
    /** Its owner: who installed it, or took it over. */
    user_id: string
    /** What was granted. */
    scopes_json: string
    project_selection: 'all' | 'selected'
    source: 'marketplace' | 'deploy-button' | 'external'
    created_stamp: number
    updated_at: number
    /** When the first code was exchanged. */
    completed_at: number | null
    disabled_at: number | null
    disabled_reason: 'original-owner-left-the-team' | 'original-owner-role-downgraded' | 'disabled-by-admin' | null
    /** When it was last taken over: what was held until then is sent in order. */
    resumed_at: number | null
    /** The row stays for its last event; nothing else finds it. */
    deleted_at: number | null
  }
  /** A project that an installation was given, where it has selected ones. */
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
    /** When it was exchanged, as a stamp: a use that began after it is a replay, one that began before has lost a race. */
    used_stamp: number | null
    /** The token it gave: a replay ends it. */
    token_id: string | null
  }
  /** An endpoint to which events go: one of an account, or the one of an integration for all of its installations. */
  webhook: {
    id: string
    /** The account that has it; the team that runs the integration when it is the integration's. */
    account_id: string
    integration_id: string | null
    /** The installation that registered it, with which it goes. */
    configuration_id: string | null
    url: string
    /** Null: all that its owner may hear. */
    events_json: string | null
    project_ids_json: string | null
    /** Null on an integration's: its client secrets sign. */
    sealed_secret: string | null
    created_by: string | null
    created_stamp: number
    updated_at: number
    /** Since when nothing arrived. */
    failing_since: number | null
    disabled_at: number | null
    disabled_reason: 'gone' | 'failing' | 'overflow' | null
    /** Since when who made it has no access any more, and nothing is sent. */
    held_at: number | null
    held_reason: 'original-owner-left-the-team' | 'original-owner-role-downgraded' | 'disabled-by-admin' | null
    /** Since when its installation is gone: it hears of that, and nothing else. */
    ended_at: number | null
  }
  /** An endpoint to which the log lines of an account's projects go. */
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
    /** Rules by which only a share of the lines is sent; null: all are. */
    sampling_json: string | null
    created_by: string | null
    created_stamp: number
    updated_at: number
    failing_since: number | null
    disabled_at: number | null
    disabled_reason: 'gone' | 'failing' | 'overflow' | 'owner' | null
    /** Since when whoever made it has no access any more. Nothing is sent then. */
    held_at: number | null
    held_reason: 'original-owner-left-the-team' | 'original-owner-role-downgraded' | 'disabled-by-admin' | null
  }
  /** One thing to send to one endpoint, written in the transaction that made the reason for it. */
  delivery: {
    id: string
    account_id: string
    /** A webhook or a log drain. */
    endpoint_id: string
    configuration_id: string | null
    /** The event that it tells; null for lines of a log drain, which are in `body`. */
    event_stamp: number | null
    type: string
    body: string | null
    /** How many bytes the `body` has, or had. */
    body_bytes: number | null
    attempts: number
    /** When the next attempt is due; pushed ahead by who attempts it. Null: nothing more to do, or held. */
    due_at: number | null
    /** Since when it waits for its installation to be active again; with a `due_at`, it is its turn. */
    held_at: number | null
    status: 'pending' | 'delivered' | 'failed' | 'dropped'
    created_stamp: number
    done_at: number | null
  }
  /** One try to send a delivery, and what was answered. */
  delivery_attempt: {
    delivery_id: string
    attempt: number
    at: number
    /** Null when there was no answer; then `error` says why. */
    status_code: number | null
    duration_ms: number
    error: string | null
    /** The first KiB of the answer. */
    response: string | null
  }
  /** Mail to send, written in the transaction that made the reason for it. */
  mail: {
    id: string
    recipient: string
    subject: string
    /** Sealed, until it is done with; then empty. */
    body_text: string
    /** 1: somebody asked for a password. 2: somebody asked for something else, such as an invitation. */
    asked: number
    /** What it tells of, where that is told once a day. */
    topic: string | null
    created_stamp: number
    attempts: number
    due_at: number | null
    sent_at: number | null
    failed_at: number | null
    last_error: string | null
  }
}
