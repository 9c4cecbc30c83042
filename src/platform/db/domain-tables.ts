/** The tables of domains. docs/domains.md. Conventions: `schema.ts`. */

export type DomainTables = {
  /** A domain that an account claims for a project. Several accounts may claim a name; at most one claim is verified. */
  project_domain: {
    account_id: string
    /** Canonical: model/domain-name.ts. */
    name: string
    project_id: string
    apex_name: string
    git_branch: string | null
    /** The custom environment of its project that it serves. */
    custom_environment_id: string | null
    redirect: string | null
    redirect_status_code: number | null
    challenge_token: string
    verified_at: number | null
    /** When the account verified the apex by DNS; null where no verification was needed (docs/domains.md). */
    proven_at: number | null
    /** When it was transferred from the account that verified it: this verification then exempts no other name. */
    inherited_at: number | null
    /** When Berth looks up its record next; null: not. projects/domain-verification/check-schedule.ts. */
    check_due: number | null
    /** When the last check of an unverified domain is. */
    checked_until: number | null
    created_stamp: number
    updated_at: number
  }
  /** When the next unverified domain of an account is looked up. projects/domain-verification/checks.ts. */
  domain_turn: {
    account_id: string
    due_at: number
  }
  /** The verification of an apex whose names were removed; it remains valid for a while. projects/domain-verification/released-proof.ts. */
  released_proof: {
    apex_name: string
    account_id: string
    proven_at: number
    released_at: number
  }
  /** An apex that an account claims, in addition to the domains of its projects. projects/account-domains/account-domains.ts. */
  account_domain: {
    account_id: string
    /** A canonical apex. */
    name: string
    challenge_token: string
    /** When the account verified it; null: not verified, or another account has verified a name under it since. */
    proven_at: number | null
    created_stamp: number
  }
}
