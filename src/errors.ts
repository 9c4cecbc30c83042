/**
 * TABLE what is refused: key -> [status, code on the wire, sentence]. The key is what code says (`refuse('name_taken')`),
 * the code is what clients compare, the sentence is for people. Specification: Errors; shape: `{error: {code, message}}`.
 */
export const REFUSALS = {
  missing_token: [401, 'forbidden', 'The request is missing an authentication token.'],
  invalid_token: [401, 'forbidden', 'The token is unknown, expired or revoked.'],
  operator_only: [401, 'forbidden', 'This path takes the operator token and no other.'],
  team_forbidden: [403, 'forbidden', 'You do not have access to the team that teamId or slug names.'],
  team_id_required: [
    403,
    'forbidden',
    'The token belongs to an installation on a team: every request must name the team by the query parameter teamId.',
  ],
  integration_configuration_disabled: [
    403,
    'integration_configuration_disabled',
    'The installation of the integration is disabled until an owner of the team takes it over.',
  ],
  missing_permission: [403, 'forbidden', "You don't have permission to do this."],
  invalid_client: [401, 'invalid_client', 'The client id or the client secret is wrong.'],
  invalid_grant: [
    400,
    'invalid_grant',
    'The code is unknown, used, older than 30 minutes, of another client, or was given for another redirect_uri.',
  ],
  invalid_request: [400, 'invalid_request', 'A parameter is missing or given twice.'],
  form_not_ours: [403, 'forbidden', 'The page was too old, or the form was not ours. Go back, reload it, try again.'],
  owner_only: [403, 'forbidden', 'Only an OWNER of the team can do this.'],
  password_link_spent: [404, 'not_found', 'The link was used, replaced, or is older than 24 hours. Ask for a new one.'],
  test_clock_off: [403, 'forbidden', 'Only where BERTH_TEST_CLOCK=1 may a request say what time it is.'],
  domain_forbidden: [403, 'forbidden', "You don't have access to the domain."],
  bad_request: [400, 'bad_request', 'Invalid request.'],
  invalid_project_name: [
    400,
    'invalid_project_name',
    'Project names are up to 100 characters of lowercase letters, digits, ".", "_" and "-", without "---"; they do not begin with "prj_" and are not ".", ".." or "transfer-request".',
  ],
  unknown_project: [400, 'bad_request', 'The project does not exist.'],
  trusted_ips_enterprise_only: [
    400,
    'trusted_ips_enterprise_only',
    'Trusted IPs are available on the enterprise plan only.',
  ],
  env_key_characters: [
    400,
    'KEY_INVALID_CHARACTERS',
    'The key of a variable is letters, digits and "_", and does not begin with a digit.',
  ],
  env_key_length: [400, 'KEY_INVALID_LENGTH', 'The key of a variable is 1 to 256 characters.'],
  env_key_reserved: [400, 'RESERVED_ENV_VARIABLE', 'The key is reserved.'],
  env_value_length: [400, 'VALUE_INVALID_LENGTH', 'The value of a variable is at most 64 KiB of UTF-8.'],
  env_system_value: [
    400,
    'SYSTEM_ENV_WITH_VALUE',
    'The value of a variable of type "system" is the name of a platform variable.',
  ],
  env_missing_target: [400, 'MISSING_TARGET', 'A variable needs at least one of production, preview and development.'],
  env_stays_sensitive: [
    400,
    'bad_request',
    'Invalid request: `type` of a sensitive variable cannot be changed. Delete the variable and create it anew.',
  ],
  env_conflict: [400, 'ENV_CONFLICT', 'Another variable has this key, target and branch.'],
  env_limit: [
    400,
    'MAX_ENVS_EXCEEDED',
    'A project has at most 1,000 variables and 64 KiB of values in each environment.',
  ],
  env_too_many: [400, 'TOO_MANY_KEYS', 'One request carries at most 1,000 variables.'],
  env_already_exists: [
    403,
    'ENV_ALREADY_EXISTS',
    'Another variable with the same key, environment and branch exists in the project.',
  ],
  env_too_many_ids: [400, 'TOO_MANY_IDS', 'One request names at most 1,000 variables.'],
  gitlab_webhook_failed: [400, 'gitlab_webhook_failed', 'The webhook could not be made at GitLab.'],
  bitbucket_webhook_failed: [400, 'bitbucket_webhook_failed', 'The webhook could not be made at Bitbucket.'],
  not_linked: [400, 'bad_request', 'The project is linked to no repository.'],
  production_branch: [400, 'production_branch', '`gitBranch` is the production branch; null serves production.'],
  invalid_domain: [400, 'invalid_domain', 'The domain name is not valid.'],
  domain_on_project: [400, 'domain_already_in_use', 'The domain is already on this project.'],
  branch_and_redirect: [
    400,
    'branch_and_redirect',
    'A domain serves a `gitBranch` or goes to a `redirect`, not both. Set one of them to null.',
  ],
  invalid_redirect: [400, 'invalid_redirect', '`redirect` must be another domain of the same project.'],
  redirect_to_itself: [400, 'redirect_to_itself', 'A domain cannot redirect to itself.'],
  domain_not_assigned: [400, 'domain_not_assigned', 'The domain is not assigned to the project.'],
  missing_txt_record: [400, 'missing_txt_record', 'There is no TXT record for the challenge.'],
  txt_record_mismatch: [400, 'txt_record_mismatch', 'The TXT record does not match the challenge.'],
  txt_verifies_another_project: [
    400,
    'txt_verifies_another_project',
    'The TXT record verifies the domain for another project. Add the record of this project beside it.',
  ],
  transfer_to_same_account: [400, 'bad_request', 'The project is in this account already.'],
  callback_not_supported: [400, 'bad_request', 'Invalid request: `callbackUrl` is not supported.'],
  unknown_user: [400, 'bad_request', 'There is no such user.'],
  unknown_team: [400, 'bad_request', 'There is no such team.'],
  production_deployment_failed: [
    400,
    'production_deployment_failed',
    'The latest production deployment was not successful. Deploy again, then add the domain.',
  ],
  account_soft_blocked: [402, 'account_soft_blocked', 'The account is blocked. Contact the operator of this service.'],
  payment_method_missing: [
    402,
    'payment_method_missing',
    'The account is missing a payment. Update the payment method.',
  ],
  too_many_endpoints: [400, 'bad_request', 'There are 20 already, which is the most. Remove one first.'],
  not_found: [404, 'not_found', 'Not found.'],
  method_unknown: [405, 'method_unknown', 'This path does not take that method.'],
  request_timeout: [408, 'request_timeout', 'The request did not arrive in time.'],
  key_in_use: [409, 'conflict', 'The root key is still in use.'],
  keyring_fixed: [409, 'conflict', 'The keyring cannot be changed from here.'],
  conflict: [409, 'conflict', 'The request conflicts with what is stored.'],
  not_replayable: [409, 'conflict', 'The delivery cannot be sent once more.'],
  slug_taken: [409, 'conflict', 'The name is already taken by a user or a team.'],
  email_taken: [409, 'conflict', 'A user with this email already exists.'],
  integration_installed: [409, 'conflict', 'The integration is installed.'],
  secrets_full: [409, 'conflict', 'There are two client secrets already. Delete the older one first.'],
  last_secret: [409, 'conflict', 'This is the only client secret. Make another one first.'],
  integration_slug_taken: [409, 'conflict', 'An integration with this slug already exists.'],
  bypass_exists: [409, 'conflict', 'The project has this bypass secret already.'],
  already_linked: [409, 'conflict', 'The project is linked to another repository.'],
  project_name_taken: [409, 'conflict', 'A project with this name already exists.'],
  domain_on_other_project: [
    409,
    'domain_already_in_use',
    'The domain is on another project of this account. Remove it there first, or move it.',
  ],
  alias_domain_exists: [
    409,
    'ALIAS_DOMAIN_EXIST',
    'The domain is on another project of this account. Remove it there first, or move it.',
  ],
  domain_owned_by_your_other_account: [
    409,
    'domain_owned_by_your_other_account',
    'Another account that you belong to has the domain. Remove it there first.',
  ],
  conflict_with_verified_domain: [
    409,
    'conflict_with_verified_domain',
    'The domain conflicts with one that is verified in another account.',
  ],
  domain_not_allowed: [409, 'domain_not_allowed', 'The operator of this service does not allow this domain.'],
  scopes_changed: [409, 'conflict', 'What the integration asks for has changed. Look again before you confirm.'],
  deployment_url_taken: [409, 'conflict', 'Something else has this url.'],
  deployment_ended: [409, 'conflict', 'The deployment has ended and stays as it is.'],
  deployment_not_ready: [409, 'deployment_not_ready', 'Only a deployment that is READY can serve production.'],
  deployment_never_live: [
    409,
    'deployment_never_live',
    'A rollback goes to a deployment that served production before. Promote this one instead.',
  ],
  project_paused: [409, 'project_paused', 'The project is paused. Unpause it first.'],
  in_transfer: [409, 'conflict', 'The project is being transferred. Try again when the transfer has ended.'],
  payload_too_large: [413, 'payload_too_large', 'The body is too large.'],
  unsupported_media_type: [415, 'unsupported_media_type', 'The body must be application/json.'],
  protection_addon_required: [
    428,
    'protection_addon_required',
    'Password protection needs the add-on "advanced-deployment-protection" or the enterprise plan.',
  ],
  advanced_protection_unavailable: [
    428,
    'advanced_protection_unavailable',
    'Protecting all deployments is not available on the hobby plan.',
  ],
  headers_too_large: [431, 'headers_too_large', 'The request line or the headers are too large.'],
  internal_server_error: [
    500,
    'internal_server_error',
    'Something failed on our side. The log has the details under the request id.',
  ],
  unavailable: [
    503,
    'unavailable',
    'The database does not answer. Try again shortly; a write may or may not have been stored.',
  ],
  dns_unavailable: [
    503,
    'dns_unavailable',
    'The name servers did not answer, so nothing is known of the TXT record and nothing was changed. Try again shortly.',
  ],
  busy: [503, 'busy', 'Too many writes met on the same data; nothing was stored. Try again shortly.'],
  storage_full: [507, 'storage_full', 'The disk is full; nothing was stored. Reads go on.'],
} as const satisfies Record<string, readonly [number, string, string]>

export type RefusalKey = keyof typeof REFUSALS

/** An expected no. Anything else that is thrown is a bug and a 500 that says nothing of its inside. */
export class Refusal extends Error {
  readonly key: RefusalKey
  readonly status: number
  readonly extra: Record<string, unknown>

  constructor(key: RefusalKey, message: string, extra: Record<string, unknown>) {
    super(message)
    this.key = key
    this.status = REFUSALS[key][0]
    this.extra = extra
  }
}

/** Refuses with a row of the table. `message` replaces its sentence, `extra` is sent beside code and message. */
export function refuse(
  key: RefusalKey,
  message: string = REFUSALS[key][2],
  extra: Record<string, unknown> = {},
): never {
  throw new Refusal(key, message, extra)
}
