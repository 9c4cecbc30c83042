/** The tables of second factors. docs/sign-in-and-consent.md: Second factors. Conventions: `schema.ts`. */

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
}
