/** The index of the data cache: what an account may have, and what gives way. Values are in the file cache. docs/data-cache.md: Budget. */
import type { CacheSize } from '../../delivery/protocol/usage-report.ts'
import { countBodies, largest, weightOf } from '../prerender/pages.ts'

/** `id`: made by `idOf`. `space`: its project and environment. `number`: of the last purge when it was made. `at`, `expiresAt`: in ms since 1970. */
export type DataEntry = {
  id: string
  space: string
  account: string
  projectId: string
  environment: string
  tags: string[]
  body: { digest: string; size: number; isOwned: boolean }
  at: number
  number: number
  expiresAt: number | null
}

export type DataEntries = {
  use(id: string): DataEntry | undefined
  /** Keeps an entry in the place of the one of its id. */
  keep(entry: DataEntry): void
  drop(entry: DataEntry): void
  dropProjects(ids: ReadonlySet<string>): void
  /** The oldest use of a space first. */
  all(): Iterable<DataEntry>
  used(space: string): Space
  /** What each environment of a project has. */
  sizes(): CacheSize[]
  usedBy(account: string): Space
  ownsBody(account: string, digest: string): boolean
}

type Space = { entries: number; bytes: number }
/** `bytes`: on disk. `texts`: characters of keys and tags, which stay in memory. */
export type DataBudget = { entries: number; texts: number; ofAccount: Space & { texts: number } }

/** In memory an entry takes about a kilobyte, and at most 40 KiB. */
export const DATA_BUDGET: DataBudget = {
  ...{ entries: 100_000, texts: 64 * 1024 ** 2 },
  ofAccount: { entries: 20_000, bytes: 256 * 1024 ** 2, texts: 16 * 1024 ** 2 },
}
const BLOCK = 4096

/** Entries in the order of their use, the oldest first. */
type Own = { entries: Map<string, DataEntry>; bytes: number; texts: number }
type Account = { spaces: Map<string, Own>; entries: number; bytes: number; texts: number }
type Index = {
  budget: DataBudget
  entries: Map<string, DataEntry>
  accounts: Map<string, Account>
  texts: number
  bodies: ReturnType<typeof countBodies>
}

/** Returns the name of a key of functions among all. */
export function idOf(space: string, key: string): string {
  return `${space} ${key}`
}

/** Creates the index. `release`: a body is not needed any more. */
export function createDataEntries(budget: DataBudget, release: (account: string, digest: string) => void): DataEntries {
  const index: Index = { budget, entries: new Map(), accounts: new Map(), texts: 0, bodies: countBodies(release) }
  const { entries, accounts, bodies } = index
  return {
    use(id) {
      const entry = entries.get(id)
      if (entry === undefined) return undefined
      const own = accounts.get(entry.account)!.spaces.get(entry.space)!
      own.entries.delete(id)
      own.entries.set(id, entry)
      return entry
    },
    keep: (entry) => keep(index, entry),
    drop: (entry) => remove(index, entry),
    dropProjects(ids) {
      for (const entry of [...entries.values()]) if (ids.has(entry.projectId)) remove(index, entry)
    },
    all: () => accounts.values().flatMap(({ spaces }) => spaces.values().flatMap((own) => own.entries.values())),
    used(space) {
      const own = [...accounts.values()].map(({ spaces }) => spaces.get(space)).find((entry) => entry !== undefined)
      return { entries: own?.entries.size ?? 0, bytes: own?.bytes ?? 0 }
    },
    sizes: () => sizesOf(accounts.values()),
    usedBy(account) {
      const { entries = 0, bytes = 0 } = accounts.get(account) ?? {}
      return { entries, bytes }
    },
    ownsBody: bodies.has,
  }
}

/** A project that was transferred has entries of two accounts. */
function sizesOf(accounts: Iterable<Account>): CacheSize[] {
  const sizes = new Map<string, CacheSize>()
  for (const { spaces } of accounts)
    for (const [space, { entries, bytes }] of spaces) {
      const [projectId = '', environment = ''] = space.split(' ')
      const size = sizes.getOrInsertComputed(space, () => ({ projectId, environment, entries: 0, bytes: 0 }))
      size.entries += entries.size
      size.bytes += bytes
    }
  return [...sizes.values()]
}

function keep(index: Index, entry: DataEntry): void {
  const { budget, entries, accounts, bodies } = index
  const { ofAccount } = budget
  // Before the older one is removed, so that a body that both have stays.
  bodies.add(entry)
  const before = entries.get(entry.id)
  if (before !== undefined) remove(index, before)
  const account = accounts.getOrInsertComputed(entry.account, openAccount)
  const own = account.spaces.getOrInsertComputed(entry.space, () => ({ entries: new Map(), bytes: 0, texts: 0 }))
  entries.set(entry.id, entry)
  own.entries.set(entry.id, entry)
  count(index, account, own, entry, 1)
  while (account.entries > ofAccount.entries || account.bytes > ofAccount.bytes) removeOldest(index, account, byBytes)
  while (account.texts > ofAccount.texts) removeOldest(index, account, byTexts)
  while (entries.size > budget.entries)
    removeOldest(
      index,
      largest(accounts.values(), ({ entries }) => entries),
      byBytes,
    )
  while (index.texts > budget.texts) removeOldest(index, largest(accounts.values(), byTexts), byTexts)
}

function openAccount(): Account {
  return { spaces: new Map(), entries: 0, bytes: 0, texts: 0 }
}

function count(index: Index, account: Account, own: Own, entry: DataEntry, sign: 1 | -1): void {
  const [bytes, texts] = [sign * bytesOf(entry), sign * weightOf([entry.id, ...entry.tags])]
  account.entries += sign
  account.bytes += bytes
  account.texts += texts
  index.texts += texts
  own.bytes += bytes
  own.texts += texts
}

function byBytes({ bytes }: Own | Account): number {
  return bytes
}

function byTexts({ texts }: Own | Account): number {
  return texts
}

/** Of the project and environment that has most, so that one cannot evict what the others use. */
function removeOldest(index: Index, { spaces }: Account, sizeOf: (own: Own) => number): void {
  const own = largest(spaces.values(), sizeOf)
  const [oldest] = own.entries.values()
  if (oldest !== undefined) remove(index, oldest)
}

function remove(index: Index, entry: DataEntry): void {
  const { entries, accounts, bodies } = index
  if (entries.get(entry.id) !== entry) return
  entries.delete(entry.id)
  const account = accounts.get(entry.account)!
  const own = account.spaces.get(entry.space)!
  own.entries.delete(entry.id)
  count(index, account, own, entry, -1)
  if (own.entries.size === 0) account.spaces.delete(entry.space)
  if (account.entries === 0) accounts.delete(entry.account)
  bodies.remove(entry)
}

/** A body takes whole blocks of the disk. */
function bytesOf({ tags, body }: DataEntry): number {
  const tagged = tags.reduce((sum, tag) => sum + tag.length, 0)
  return tagged + Math.max(1, Math.ceil(body.size / BLOCK)) * BLOCK
}
