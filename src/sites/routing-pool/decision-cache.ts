/**
 * Cache of decisions, so that most requests need no worker. A decision is used again for requests that are equal in all that its
 * rules looked at. docs/deploying-sites.md: Patterns.
 */
import type { Decision, Subject } from '../router/decision.ts'
import { MAX_LOOKED, partsOf, type VisitorRequest } from '../router/request.ts'

export type DecisionCache = {
  get(site: string, request: VisitorRequest): Decision | undefined
  set(site: string, request: VisitorRequest, decision: Decision): void
}

/** Characters of all entries, and of one site: visitors who request unknown paths cannot evict the entries of other sites. */
const MAX_CHARACTERS = 16 * 1024 ** 2
const MAX_OF_A_SITE = 1024 ** 2
const LARGEST = 4096
/** The cost of an entry in addition to its texts. */
const ENTRY = 256
/** The same for what it says of a function, or of a picture. */
const FUNCTION = 1024
/** The same for a part of a request. */
const SUBJECT = 64

/** A path has a decision, or the parts of a request on which its decisions depend. Those are entries whose keys have the values of these parts. */
type Entry = { kept: Decision | Subject[]; characters: number }
/** Both maps are in least-recently-used order. */
type Kept = { entries: Map<string, Entry>; characters: number }

/** Creates a cache of decisions. */
export function createDecisionCache(): DecisionCache {
  const { use, keep } = createEntries()
  return {
    get(site, request) {
      const path = pathOf(request)
      const kept = path && use(site, path)
      if (!path || !kept) return undefined
      const decision = Array.isArray(kept) ? use(site, keyOf(path, kept, request)) : kept
      return decision && withSearch(decision as Decision, request.search)
    },
    set(site, request, decision) {
      const path = pathOf(request)
      if (path === undefined || !decision.reusable) return
      const subjects = subjectsOf(use(site, path), decision)
      if (subjects.length > MAX_LOOKED) return
      const key = subjects.length === 0 ? path : keyOf(path, subjects, request)
      const kept = withSearch(decision, '')
      const characters = sizeOf(key, kept)
      if (characters > LARGEST) return
      if (key !== path)
        keep(site, path, { kept: subjects, characters: ENTRY + path.length + SUBJECT * subjects.length })
      keep(site, key, { kept, characters })
    },
  }
}

function createEntries() {
  const sites = new Map<string, Kept>()
  let total = 0

  function evict(cached: Kept, max: number): void {
    for (const [key, { characters }] of cached.entries) {
      if (cached.characters <= max) return
      cached.entries.delete(key)
      cached.characters -= characters
      total -= characters
    }
  }

  function use(site: string, key: string): Entry['kept'] | undefined {
    const cached = sites.get(site)
    const entry = cached?.entries.get(key)
    if (cached === undefined || entry === undefined) return undefined
    renew(sites, site, cached)
    renew(cached.entries, key, entry)
    return entry.kept
  }

  function keep(site: string, key: string, entry: Entry): void {
    const cached = sites.get(site) ?? { entries: new Map(), characters: 0 }
    const before = cached.entries.get(key)?.characters ?? 0
    renew(sites, site, cached)
    renew(cached.entries, key, entry)
    cached.characters += entry.characters - before
    total += entry.characters - before
    evict(cached, MAX_OF_A_SITE)
    for (const [oldest, others] of sites) {
      if (total <= MAX_CHARACTERS) return
      evict(others, 0)
      sites.delete(oldest)
    }
  }

  return { use, keep }
}

/** The key of a path. Sites that list folders use a different one; no path begins without a slash. */
function pathOf({ method, path, listsFolders }: VisitorRequest): string | undefined {
  if (method !== 'GET') return undefined
  return listsFolders ? `listed ${path}` : path
}

/** It names its parts, so it differs from every path, and from the keys of other parts. */
function keyOf(path: string, subjects: Subject[], request: VisitorRequest): string {
  const values = partsOf(request, subjects)
  return JSON.stringify([path, ...subjects.map(({ type, key }, at) => [type, key, values[at]])])
}

/** Rules look at the next part because of the value of the one before, so decisions of one path may depend on different ones. */
function subjectsOf(before: Entry['kept'] | undefined, { looked }: Decision): Subject[] {
  const known = Array.isArray(before) ? before : []
  const others = [...looked.values()].filter(
    ({ type, key }) => !known.some((subject) => subject.type === type && subject.key === key),
  )
  return [...known, ...others]
}

/** Functions and pages get the query of each request. */
function withSearch(decision: Decision, search: string): Decision {
  if (decision.kind !== 'function' && decision.kind !== 'prerender') return decision
  if (decision.invocation.search === search) return decision
  return { ...decision, invocation: { ...decision.invocation, search } }
}

function renew<T>(map: Map<string, T>, key: string, value: T): void {
  map.delete(key)
  map.set(key, value)
}

function sizeOf(key: string, { headers, rules, looked, responseTransforms, ...decision }: Decision): number {
  const { kind } = decision
  const own = kind === 'function' || kind === 'image' || kind === 'prerender' ? FUNCTION + 4 * key.length : 0
  const noted = [responseTransforms, kind === 'prerender' ? decision.prerender : []]
  return headers.reduce(
    (sum, { name, value }) => sum + name.length + value.length,
    ENTRY + own + key.length + 8 * rules.length + SUBJECT * looked.size + JSON.stringify(noted).length,
  )
}
