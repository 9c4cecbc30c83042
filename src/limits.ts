/**
 * TABLE how often: group -> at most `total` in `seconds`, for each owner; `of`: its operations. Upstream's figures where it publishes
 * some (wire.md 3.5). Counted in memory, by each instance for itself. docs/limits.md; docs/decisions/0117.
 */
import { Refusal } from './refusal.ts'
import { counted } from './words.ts'

type Row = { total: number | null; seconds: number; of?: readonly string[] }

export const LIMITS = {
  'domain-read': {
    total: 500,
    seconds: 60,
    of: [
      'getProjectDomains',
      'getProjectDomain',
      'getDomainProjectDomains',
      'getProjectDomainByName',
      'getDomainConfig',
      'getDomains',
      'getDomain',
      'getDomainVerificationRecord',
    ],
  },
  'domain-write': {
    total: 100,
    seconds: 60,
    of: [
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
  'domain-verify': { total: 100, seconds: 60, of: ['verifyProjectDomain', 'claimDomainOwnership'] },
  'env-read': { total: 500, seconds: 60, of: ['filterProjectEnvs', 'getProjectEnv', 'getProjectEnvHistory'] },
  'env-create': { total: 120, seconds: 60, of: ['createProjectEnv', 'putProjectEnvFile'] },
  'env-update': { total: 120, seconds: 60, of: ['editProjectEnv', 'restoreProjectEnv'] },
  'env-delete': { total: 60, seconds: 60, of: ['removeProjectEnv'] },
  'env-batch-delete': { total: 60, seconds: 60, of: ['batchRemoveProjectEnv'] },
  'env-pull': {
    total: 500,
    seconds: 60,
    of: ['pullProjectEnv', 'pullProjectEnvOfBranch', 'pullProjectEnvOfDevelopment', 'exportProjectEnv'],
  },
  'protection-bypass': { total: 100, seconds: 60, of: ['updateProjectProtectionBypass'] },
  'user-read': { total: 500, seconds: 60, of: ['getAuthUser'] },
  'team-read': { total: 600, seconds: 60, of: ['getTeam', 'getTeams'] },
  'token-create': { total: 32, seconds: 3600, of: ['createAuthToken'] },
  'transfer-code': { total: 60, seconds: 60, of: ['acceptProjectTransferRequest'] },
  /** Every other GET of the public API, and every other write. */
  read: { total: null, seconds: 60 },
  write: { total: null, seconds: 60 },
  /** Variables written, however many requests they come in: a request that would be over it writes none. For each account. */
  'rows-written': { total: 10_000, seconds: 60 },
  /** DNS is asked for one name: for each account and domain. */
  'domain-lookup': { total: 20, seconds: 60 },
  /** DNS is asked, for whatever names: for each account. */
  'account-lookup': { total: 120, seconds: 60 },
  /** Bearer tokens that nobody has: for each address. */
  'token-failures': { total: 100, seconds: 60 },
  /** Wrong client secrets: for each client and address, and for each address over all clients. */
  'client-failures': { total: 10, seconds: 60 },
  'client-address-failures': { total: 100, seconds: 60 },
  /** Codes that an app may not exchange: for each client and address. */
  'code-failures': { total: 60, seconds: 60 },
  /** Wrong passwords: for each address. */
  'sign-in-failures': { total: 100, seconds: 60 },
} as const satisfies Record<string, Row>

export type LimitName = keyof typeof LIMITS

/** What is asked of the limiter: how many, of how many, until when. */
type Taken = { name: LimitName; total: number; seconds: number; remaining: number; endsAt: number; exceeded: boolean }

export type Limiter = {
  /** The group of an operation of the public API. */
  groupOf(route: { operationId: string; method: string }): LimitName
  /** Takes one, or `count` or none, of what `owner` has. Undefined where nothing is limited. */
  take(name: LimitName, owner: string, now: number, count?: number): Taken | undefined
  /** Gives back what was taken for something that does not count after all. */
  giveBack(name: LimitName, owner: string, count?: number): void
}

/** Figures by which an operator replaces some of the table's, `total` null for none; or no limits at all. */
export type LimitSettings = 'off' | Partial<Record<LimitName, Row>>

type Window = { used: number; endsAt: number }

/** Windows of a group: the newer ones, and those of before, of which nobody has been heard since. */
type Windows = { newer: Map<string, Window>; older: Map<string, Window> }

/** Requests look at the clock when they begin, and are counted in another order. By more than this the clock was set back. */
const SET_BACK_MS = 10_000

/** So many owners are known in each group at the least, and twice as many at the most. */
const KNOWN = 10_000

/** Nothing is counted yet. */
export function openLimiter(settings: LimitSettings): Limiter {
  const groups = new Map<string, LimitName>()
  const counters = new Map<LimitName, { row: Row; windows: Windows }>()
  for (const [name, row] of Object.entries(LIMITS) as [LimitName, Row][]) {
    for (const operation of row.of ?? []) groups.set(operation, name)
    const set: Row = settings === 'off' ? { total: null, seconds: 60 } : (settings[name] ?? row)
    if (set.total !== null) counters.set(name, { row: set, windows: { newer: new Map(), older: new Map() } })
  }
  return {
    groupOf: ({ operationId, method }) => groups.get(operationId) ?? (method === 'GET' ? 'read' : 'write'),
    take(name, owner, now, count = 1) {
      const counter = counters.get(name)
      if (counter === undefined) return undefined
      const { total, seconds } = counter.row as { total: number; seconds: number }
      const window = windowOf(counter.windows, owner, now, seconds * 1000)
      const exceeded = window.used + count > total
      if (!exceeded) window.used += count
      return { name, total, seconds, remaining: total - window.used, endsAt: window.endsAt, exceeded }
    },
    giveBack(name, owner, count = 1) {
      const windows = counters.get(name)?.windows
      const window = windows?.newer.get(owner) ?? windows?.older.get(owner)
      if (window !== undefined) window.used = Math.max(0, window.used - count)
    },
  }
}

function windowOf(windows: Windows, owner: string, now: number, lengthMs: number): Window {
  const newer = windows.newer.get(owner)
  const known = newer ?? windows.older.get(owner)
  // One that ends later than any could was begun before the clock was set back.
  const runs = known !== undefined && known.endsAt > now && known.endsAt <= now + lengthMs + SET_BACK_MS
  if (runs && newer !== undefined) return newer
  const window = runs ? known : { used: 0, endsAt: now + lengthMs }
  if (newer === undefined && windows.newer.size >= KNOWN) {
    windows.older = windows.newer
    windows.newer = new Map()
  }
  windows.newer.set(owner, window)
  return window
}

/** What an answer says of the limit that it counts against: as upstream does, and as the IETF draft does. */
export function limitHeaders({ name, total, seconds, remaining, endsAt }: Taken, now: number): Record<string, string> {
  return {
    'x-ratelimit-limit': String(total),
    'x-ratelimit-remaining': String(remaining),
    'x-ratelimit-reset': String(Math.ceil(endsAt / 1000)),
    ratelimit: `"${name}";r=${remaining};t=${secondsUntil(endsAt, now)}`,
    'ratelimit-policy': `"${name}";q=${total};w=${seconds}`,
  }
}

/** Refuses with rate_limited 429 when what was taken was not there any more. `what`: of what there was too much. */
export function mustBeLeft(taken: Taken | undefined, now: number, what = 'requests'): void {
  if (!taken?.exceeded) return
  const { name, total, seconds, endsAt } = taken
  const wait = secondsUntil(endsAt, now)
  throw new Refusal(
    'rate_limited',
    `Too many ${what} - try again in ${counted(wait, 'second')} (more than ${total} in ${counted(seconds, 'second')}).`,
    { name, limit: { total, remaining: 0, reset: Math.ceil(endsAt / 1000), resetMs: endsAt } },
    { ...limitHeaders(taken, now), 'retry-after': String(wait) },
  )
}

function secondsUntil(endsAt: number, now: number): number {
  return Math.max(1, Math.ceil((endsAt - now) / 1000))
}

/** Reads the setting: `on`, `off`, or a JSON object of groups: a number, `{"total", "seconds"}`, or null for no limit. Throws what `wrong` makes of a sentence. */
export function readLimits(text: string | undefined, wrong: (sentence: string) => Error): LimitSettings {
  if (text === undefined || text === '' || text === 'on') return {}
  if (text === 'off') return 'off'
  const said = parseObject(text)
  if (said === undefined) throw wrong('must be on, off or a JSON object such as {"env-create": 500}')
  const settings: LimitSettings = {}
  for (const [name, value] of Object.entries(said)) {
    if (!Object.hasOwn(LIMITS, name))
      throw wrong(`has no limit "${name}"; the limits are ${Object.keys(LIMITS).join(', ')}`)
    const row = rowOf(value, LIMITS[name as LimitName].seconds)
    if (row === undefined)
      throw wrong(`"${name}" must be a whole number from 1 to 1000000000, {"total": …, "seconds": 1 to 86400}, or null`)
    settings[name as LimitName] = row
  }
  return settings
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const said: unknown = JSON.parse(text)
    return typeof said === 'object' && said !== null && !Array.isArray(said) ? { ...said } : undefined
  } catch {
    return undefined
  }
}

function rowOf(value: unknown, usual: number): Row | undefined {
  if (value === null) return { total: null, seconds: usual }
  const said = typeof value === 'number' ? { total: value } : value
  if (typeof said !== 'object' || said === null) return undefined
  const { total, seconds = usual, ...more } = said as { total?: unknown; seconds?: unknown }
  const good = isWhole(total, 1_000_000_000) && isWhole(seconds, 86_400) && Object.keys(more).length === 0
  return good ? { total: total as number, seconds: seconds as number } : undefined
}

function isWhole(value: unknown, most: number): boolean {
  return Number.isInteger(value) && (value as number) >= 1 && (value as number) <= most
}
