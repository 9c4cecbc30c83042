/**
 * TABLE Rate limits: group → at most `total` in `seconds` per owner; `operations`: its routes. Numbers of the upstream service where it publishes some
 * (docs/spec/wire.md 3.5). `limiter/` counts. docs/limits.md. `failures`: possible brute-force attempts, so all instances share one count, which
 * survives a restart. `refundable`: a failure is counted before it is known to be one, and refunded otherwise.
 */
export type Limit = {
  total: number | null
  seconds: number
  operations?: readonly string[]
  failures?: true
  refundable?: true
}

export const LIMITS = {
  'domain-read': {
    total: 500,
    seconds: 60,
    operations: [
      'getProjectDomains',
      'getProjectDomain',
      'getDomainProjectDomains',
      'getProjectDomainByName',
      'getDomainConfig',
      'getProjectDomainAnswers',
      'getDomains',
      'getDomain',
      'getDomainVerificationRecord',
    ],
  },
  'domain-write': {
    total: 100,
    seconds: 60,
    operations: [
      'addProjectDomain',
      'updateProjectDomain',
      'removeProjectDomain',
      'moveProjectDomain',
      'addProjectAlias',
      'removeProjectAlias',
      'createOrTransferDomain',
      'deleteDomain',
    ],
  },
  'domain-verify': { total: 100, seconds: 60, operations: ['verifyProjectDomain', 'claimDomainOwnership'] },
  'env-read': {
    total: 500,
    seconds: 60,
    operations: [
      'filterProjectEnvs',
      'getProjectEnv',
      'getProjectEnvHistory',
      'listSharedEnvVariable',
      'listAllSharedEnvVariables',
      'getSharedEnvVar',
    ],
  },
  'env-create': {
    total: 120,
    seconds: 60,
    operations: ['createProjectEnv', 'putProjectEnvFile', 'createSharedEnvVariable'],
  },
  'env-update': {
    total: 120,
    seconds: 60,
    operations: ['editProjectEnv', 'restoreProjectEnv', 'updateSharedEnvVariable', 'unlinkSharedEnvVariable'],
  },
  'env-delete': { total: 60, seconds: 60, operations: ['removeProjectEnv'] },
  'env-batch-delete': { total: 60, seconds: 60, operations: ['batchRemoveProjectEnv', 'deleteSharedEnvVariable'] },
  'env-pull': {
    total: 500,
    seconds: 60,
    operations: ['pullProjectEnv', 'pullProjectEnvOfBranch', 'pullProjectEnvOfDevelopment', 'exportProjectEnv'],
  },
  'protection-bypass': { total: 100, seconds: 60, operations: ['updateProjectProtectionBypass'] },
  /** It sends a request to an address of the account while the caller waits. */
  'webhook-test': { total: 20, seconds: 60, operations: ['testWebhook'] },
  'drain-test': { total: 20, seconds: 60, operations: ['testDrain'] },
  'user-read': { total: 500, seconds: 60, operations: ['getAuthUser'] },
  'team-read': { total: 600, seconds: 60, operations: ['getTeam', 'getTeams'] },
  /** Each reads up to some ten thousand rows. */
  search: { total: 120, seconds: 60, operations: ['searchAccount'] },
  'token-create': { total: 32, seconds: 3600, operations: ['createAuthToken'] },
  'transfer-code': { total: 60, seconds: 60, operations: ['acceptProjectTransferRequest'] },
  /** A deployment may have 20,000 files, and clients do not retry after 429. */
  'file-upload': { total: null, seconds: 60, operations: ['uploadFile'] },
  /** Every other GET of the public API, and every other write. */
  read: { total: null, seconds: 60 },
  write: { total: null, seconds: 60 },
  /** Written variables per account, across all requests. A request above the limit writes none. */
  'rows-written': { total: 10_000, seconds: 60 },
  /** Audit entries per account, which are permanent. */
  'audit-lines': { total: 500_000, seconds: 86_400 },
  /** Bytes of events per account, plus 512 for each delivery. They are retained for 30 days. */
  'event-bytes': { total: 256 * 1024 * 1024, seconds: 86_400 },
  /** Bytes of the versions of variables with their values, per account. 100 of a variable are kept. */
  'history-bytes': { total: 128 * 1024 * 1024, seconds: 86_400 },
  /** Stored responses for Idempotency-Key, and their bytes, per account. */
  'kept-answers': { total: 50_000, seconds: 86_400 },
  'kept-answer-bytes': { total: 64 * 1024 * 1024, seconds: 86_400 },
  /** DNS lookups of one name, per account and domain. */
  'domain-lookup': { total: 20, seconds: 60 },
  /** DNS lookups of all names, per account. */
  'account-lookup': { total: 120, seconds: 60 },
  /** Unknown bearer tokens, per address. */
  'token-failures': { total: 100, seconds: 60, failures: true },
  /** Wrong client secrets: per client and address, and per address over all clients. */
  'client-failures': { total: 10, seconds: 60, failures: true },
  'client-address-failures': { total: 100, seconds: 60, failures: true },
  /** Rejected codes of an app, per client and address. */
  'code-failures': { total: 60, seconds: 60, failures: true },
  /** Wrong passwords and codes, and failed single sign-ons, per address. */
  'sign-in-failures': { total: 100, seconds: 60, failures: true, refundable: true },
  /** Emails to others (invitations, confirmations of a new email): in all, and per user and address. */
  'letters-sent': { total: 200, seconds: 86_400 },
  'letters-to-address': { total: 5, seconds: 86_400 },
  /** Emails that verify a new address, per user. */
  'email-changes': { total: 10, seconds: 3600 },
} as const satisfies Record<string, Limit>

export type LimitName = keyof typeof LIMITS

/** Numbers of the operator that replace some of the table, `total` null for no limit; or no limits at all. */
export type LimitSettings = 'off' | Partial<Record<LimitName, Limit>>
