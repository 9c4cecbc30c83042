/** The tables of variables that several projects of an account have. docs/shared-variables.md. */
export type SharedEnvTables = {
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
}
