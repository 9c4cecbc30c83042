/**
 * TABLE how often: group -> at most `total` in `seconds`, for each owner; `of`: its operations. Upstream's figures where it publishes
 * some (docs/spec/wire.md 3.5). `limiter/` counts. docs/limits.md.
 * `failures`: what is counted may be a guess, so all instances count as one, and a restart forgets nothing. `mayReturn`: a failure is counted before it
 * is known to be one, so what was taken may be given back.
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
  /** An address that an account chose is asked while the caller waits. */
  'webhook-test': { total: 20, seconds: 60, operations: ['testWebhook'] },
  'drain-test': { total: 20, seconds: 60, operations: ['testDrain'] },
  'user-read': { total: 500, seconds: 60, operations: ['getAuthUser'] },
  'team-read': { total: 600, seconds: 60, operations: ['getTeam', 'getTeams'] },
  /** Each reads up to some ten thousand rows. */
  search: { total: 120, seconds: 60, operations: ['searchAccount'] },
  'token-create': { total: 32, seconds: 3600, operations: ['createAuthToken'] },
  'transfer-code': { total: 60, seconds: 60, operations: ['acceptProjectTransferRequest'] },
  /** A deployment may bring 20,000 files, and a client that is told 429 gives up. */
  'file-upload': { total: null, seconds: 60, operations: ['uploadFile'] },
  /** Every other GET of the public API, and every other write. */
  read: { total: null, seconds: 60 },
  write: { total: null, seconds: 60 },
  /** Variables written, however many requests they come in: a request that would be over it writes none. For each account. */
  'rows-written': { total: 10_000, seconds: 60 },
  /** Entries of the audit log, which stay: for each account. */
  'audit-lines': { total: 500_000, seconds: 86_400 },
  /** Bytes of events, and 512 for each delivery of one: for each account. They stay for 30 days. */
  'event-bytes': { total: 256 * 1024 * 1024, seconds: 86_400 },
  /** Answers kept for Idempotency-Key, and their bytes as they are stored: for each account. */
  'kept-answers': { total: 50_000, seconds: 86_400 },
  'kept-answer-bytes': { total: 64 * 1024 * 1024, seconds: 86_400 },
  /** DNS is asked for one name: for each account and domain. */
  'domain-lookup': { total: 20, seconds: 60 },
  /** DNS is asked, for whatever names: for each account. */
  'account-lookup': { total: 120, seconds: 60 },
  /** Bearer tokens that nobody has: for each address. */
  'token-failures': { total: 100, seconds: 60, failures: true },
  /** Wrong client secrets: for each client and address, and for each address over all clients. */
  'client-failures': { total: 10, seconds: 60, failures: true },
  'client-address-failures': { total: 100, seconds: 60, failures: true },
  /** Codes that an app may not exchange: for each client and address. */
  'code-failures': { total: 60, seconds: 60, failures: true },
  /** Wrong passwords and codes, and failed sign-ins by the provider: for each address. */
  'sign-in-failures': { total: 100, seconds: 60, failures: true, refundable: true },
  /** Letters that a person has sent to others (invitations): of all, and for each person and address. */
  'letters-sent': { total: 200, seconds: 86_400 },
  'letters-to-address': { total: 5, seconds: 86_400 },
  /** Letters to addresses that a person wants as their email: for each person. */
  'email-changes': { total: 10, seconds: 3600 },
} as const satisfies Record<string, Limit>

export type LimitName = keyof typeof LIMITS

/** Figures by which an operator replaces some of the table's, `total` null for none; or no limits at all. */
export type LimitSettings = 'off' | Partial<Record<LimitName, Limit>>
