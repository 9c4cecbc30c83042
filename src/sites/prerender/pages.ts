/** The kept pages in memory: their order of use, and what an account may have. Their bodies are in the file cache. docs/prerendering.md: Budget. */
import type { Header } from '../../delivery/protocol/routing-manifest.ts'

/**
 * A kept page. `number`: of the last purge when it was rendered. `at`, `freshUntil` and `staleUntil` in ms since 1970; null: for ever. `isFirst`: the file of the output, which no function rendered since.
 * `isOwned`: the body is in the file cache for kept pages alone. `source`: the digest of what a picture was made from.
 */
export type Page = {
  key: string
  group: string | undefined
  account: string
  deploymentId: string
  status: number
  headers: Header[]
  tags: string[]
  contentType: string
  body: { digest: string; size: number; isOwned: boolean }
  source?: string
  at: number
  number: number
  freshUntil: number | null
  staleUntil: number | null
  isFirst: boolean
  wasShown?: boolean
}

/** `group`: stale because another page of its group was renewed. `gone`: too old to be shown. */
type Freshness = 'fresh' | 'stale' | 'group' | 'gone'

export type Pages = {
  /** Returns a page and marks it as used. */
  use(key: string): Page | undefined
  /** Keeps a page in the place of the one of its key. One that is too large for its account is not kept. */
  keep(page: Page): void
  drop(page: Page): void
  dropDeployments(ids: ReadonlySet<string>): void
  /** A page of this group was made at this time: older ones are stale. */
  renewGroup(group: string, at: number): void
  freshness(page: Page, now: number): Freshness
  /** In the order of their use within an account, the oldest first. */
  all(): Iterable<Page>
  used(account: string): Space
  /** Whether a kept page has this body. */
  ownsBody(account: string, digest: string): boolean
}

type Space = { pages: number; bytes: number }
/** `bytes`: on disk. `texts`: characters of headers and tags, which stay in memory. */
export type PageBudget = { pages: number; texts: number; ofAccount: Space & { texts: number } }

/** In memory a page takes about a kilobyte, and at most 48 KiB. */
export const PAGE_BUDGET: PageBudget = {
  ...{ pages: 100_000, texts: 128 * 1024 ** 2 },
  ofAccount: { pages: 20_000, bytes: 512 * 1024 ** 2, texts: 32 * 1024 ** 2 },
}
const BLOCK = 4096
/** The cost of a text in memory in addition to its characters. */
const TEXT_WEIGHT = 32

/** Pages in the order of their use, the oldest first. */
type Own = { pages: Map<string, Page>; bytes: number; texts: number }
type Group = { at: number; pages: number }

type Index = {
  budget: PageBudget
  pages: Map<string, Page>
  accounts: Map<string, Own>
  texts: number
  groups: Map<string, Group>
  bodies: ReturnType<typeof countBodies>
}

/** Creates the index. `release`: a body is not needed any more. */
export function createPages(budget: PageBudget, release: (account: string, digest: string) => void): Pages {
  const bodies = countBodies(release)
  const index: Index = { budget, pages: new Map(), accounts: new Map(), texts: 0, groups: new Map(), bodies }
  const { pages, accounts, groups } = index
  return {
    use(key) {
      const page = pages.get(key)
      if (page === undefined) return undefined
      const own = accounts.get(page.account)!
      own.pages.delete(key)
      own.pages.set(key, page)
      return page
    },
    keep: (page) => keep(index, page),
    drop: (page) => remove(index, page),
    dropDeployments(ids) {
      for (const page of [...pages.values()]) if (ids.has(page.deploymentId)) remove(index, page)
    },
    renewGroup(group, at) {
      const existing = groups.get(group)
      if (existing !== undefined) existing.at = Math.max(existing.at, at)
    },
    freshness(page, now) {
      if (page.staleUntil !== null && now >= page.staleUntil) return 'gone'
      if (page.group !== undefined && page.at < (groups.get(page.group)?.at ?? 0)) return 'group'
      return page.freshUntil !== null && now >= page.freshUntil ? 'stale' : 'fresh'
    },
    all: () => accounts.values().flatMap((own) => own.pages.values()),
    used: (account) => ({ pages: accounts.get(account)?.pages.size ?? 0, bytes: accounts.get(account)?.bytes ?? 0 }),
    ownsBody: bodies.has,
  }
}

function keep(index: Index, page: Page): void {
  const { budget, pages, accounts, groups, bodies } = index
  const { ofAccount } = budget
  // Before the older page is removed, so that a body or a group that both have stays.
  bodies.add(page)
  if (page.group !== undefined) groups.getOrInsertComputed(page.group, () => ({ at: 0, pages: 0 })).pages++
  const before = pages.get(page.key)
  if (before !== undefined) remove(index, before)
  const own = accounts.getOrInsertComputed(page.account, () => ({ pages: new Map(), bytes: 0, texts: 0 }))
  pages.set(page.key, page)
  own.pages.set(page.key, page)
  count(index, own, page, 1)
  while (own.pages.size > ofAccount.pages || own.bytes > ofAccount.bytes || own.texts > ofAccount.texts)
    removeOldest(index, own)
  while (pages.size > budget.pages)
    removeOldest(
      index,
      largest(accounts.values(), ({ pages }) => pages.size),
    )
  while (index.texts > budget.texts)
    removeOldest(
      index,
      largest(accounts.values(), ({ texts }) => texts),
    )
}

function count(index: Index, own: Own, page: Page, sign: 1 | -1): void {
  const texts = sign * textsOf(page)
  own.bytes += sign * bytesOf(page)
  own.texts += texts
  index.texts += texts
}

function removeOldest(index: Index, own: Own): void {
  const [oldest] = own.pages.values()
  if (oldest !== undefined) remove(index, oldest)
}

function remove(index: Index, page: Page): void {
  const { pages, accounts, groups, bodies } = index
  if (pages.get(page.key) !== page) return
  pages.delete(page.key)
  const own = accounts.get(page.account)!
  own.pages.delete(page.key)
  count(index, own, page, -1)
  if (own.pages.size === 0) accounts.delete(page.account)
  const group = page.group === undefined ? undefined : groups.get(page.group)
  if (group !== undefined && --group.pages === 0) groups.delete(page.group!)
  bodies.remove(page)
}

/** A body takes whole blocks of the disk. One of the output is there anyway. */
function bytesOf({ headers, tags, body }: Page): number {
  const texts = headers.reduce((sum, { name, value }) => sum + name.length + value.length, 0)
  const tagged = tags.reduce((sum, tag) => sum + tag.length, 0)
  return texts + tagged + (body.isOwned ? Math.max(1, Math.ceil(body.size / BLOCK)) * BLOCK : 0)
}

function textsOf({ headers, tags }: Page): number {
  return weightOf(headers.flatMap(({ name, value }) => [name, value])) + weightOf(tags)
}

/** Returns what texts take in memory, in characters. */
export function weightOf(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + TEXT_WEIGHT + text.length, 0)
}

/** Returns the one with most. */
export function largest<O>(accounts: Iterable<O>, sizeOf: (own: O) => number): O {
  return [...accounts].reduce((most, own) => (sizeOf(own) > sizeOf(most) ? own : most))
}

type WithBody = Pick<Page, 'account' | 'body'>

/** Counts the uses of bodies in the file cache: pages of the same content share one. */
export function countBodies(release: (account: string, digest: string) => void) {
  const counts = new Map<string, number>()
  const nameOf = ({ account, body }: WithBody) => `${account}/${body.digest}`
  return {
    has: (account: string, digest: string) => counts.has(`${account}/${digest}`),
    add(page: WithBody) {
      if (page.body.isOwned) counts.set(nameOf(page), (counts.get(nameOf(page)) ?? 0) + 1)
    },
    remove(page: WithBody) {
      if (!page.body.isOwned) return
      const left = counts.get(nameOf(page))! - 1
      if (left > 0) return void counts.set(nameOf(page), left)
      counts.delete(nameOf(page))
      release(page.account, page.body.digest)
    },
  }
}
