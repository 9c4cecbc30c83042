/**
 * Own urls of deployments. A sites server looks each up on the first visit and caches it until its deployment or project changes.
 * Cached ones still resolve while the control plane is unavailable. docs/deploying-sites.md: Data of the sites server.
 */
import {
  BadSnapshot,
  deploymentFacts,
  type FactLine,
  type HostFacts,
  projectFacts,
} from '../../delivery/protocol/snapshot.ts'
import { networkOf } from '../../platform/base/network.ts'
import { createSemaphore, type Semaphore } from '../../platform/fairness/semaphore.ts'
import { entryOfDeployment, type HostEntry, versionOf } from '../../platform/verdict/hosts.ts'
import { setNewest } from '../content/newest.ts'

/** `none`: no deployment has this url. `unavailable`: unknown now. */
export type OwnUrl = HostEntry | 'none' | 'unavailable'

export type OwnUrls = {
  /** Resolves an own url. `address` is the visitor's, for the lookup rate limit. */
  find(host: string, address: string): Promise<OwnUrl>
  changed(lines: readonly FactLine[]): void
  /** Anything may have changed: cached urls are looked up again, and stay valid if that fails. */
  suspect(): void
  kept(): Iterable<HostFactsOf>
  /** Increases with every cached or evicted url. */
  version(): number
  /** Caches urls of an earlier process. They are looked up again, like after `suspect`. */
  restore(urls: Iterable<HostFactsOf>): void
}

export type HostFactsOf = { host: string; facts: HostFacts }

export type OwnUrlRules = {
  /** Asks the control plane; undefined: no deployment has the url. Throws BadSnapshot where this one cannot be had, anything else where none can. */
  ask(host: string): Promise<HostFacts | undefined>
  /** Returns whether a version is older than the current facts. */
  isOld(version: string): boolean
  atOnce: number
  maxKept?: number
  maxCharacters?: number
  /** New lookups per second and visitor address (/64 for IPv6). */
  perSecond?: number
  now?: () => number
}

const MAX_KEPT = 20_000
/** Of the facts of all. Those of a project may have 30 KiB, and each url has a copy of them. */
const MAX_CHARACTERS = 64 * 1024 ** 2
/** Limits of the negative cache. */
const MAX_NEGATIVE = 20_000
const NEGATIVE_MS = 1000
/** After a failed lookup, no lookup starts for this time, so that visitors do not wait for an unreachable control plane. */
const PAUSE_MS = 1000
const PER_SECOND = 20
const MAX_ADDRESSES = 100_000
/** Queued lookups of an address, and their time limit. */
const MAX_WAITING = 50
const TIMEOUT_MS = 2000

type Kept = HostFactsOf & { entry: HostEntry; characters: number; isSuspect: boolean }
/** A lookup in progress. `touched`: ids that changed meanwhile, so an outdated response is not cached. */
type Flight = { result: Promise<OwnUrl>; touched: Set<string>; isOverrun: boolean }

type State = Pick<OwnUrlRules, 'ask' | 'isOld'> & {
  urls: ReturnType<typeof createKept>
  /** Hosts that are not own urls, with their expiry. */
  negative: Map<string, number>
  flights: Map<string, Flight>
  slots: Semaphore
  canAsk(owner: string): boolean
  pausedUntil: number
  now(): number
}

/** Creates a cache of own urls. */
export function createOwnUrls(rules: OwnUrlRules): OwnUrls {
  const {
    now = () => performance.now(),
    maxKept = MAX_KEPT,
    maxCharacters = MAX_CHARACTERS,
    perSecond = PER_SECOND,
  } = rules
  const state: State = {
    ask: rules.ask,
    isOld: rules.isOld,
    urls: createKept(maxKept, maxCharacters),
    negative: new Map(),
    flights: new Map(),
    slots: createSemaphore({ slots: rules.atOnce }),
    canAsk: createRate(perSecond, now),
    pausedUntil: 0,
    now,
  }
  const { urls, flights } = state
  return {
    find: (host, address) => find(state, host, address),
    changed(lines) {
      for (const line of lines) {
        if (line.kind === 'name' || (line.kind === 'gone' && line.of === 'name')) continue
        urls.removeOf(line.id)
        for (const flight of flights.values()) flight.touched.add(line.id)
      }
    },
    suspect() {
      urls.suspect()
      for (const flight of flights.values()) flight.isOverrun = true
    },
    kept: urls.all,
    version: urls.version,
    restore(restored) {
      for (const { host, facts } of restored) urls.add(host, facts, true)
    },
  }
}

async function find(state: State, host: string, address: string): Promise<OwnUrl> {
  const { urls, negative, flights, slots, now } = state
  const cached = urls.get(host)
  if (cached !== undefined && !cached.isSuspect) return cached.entry
  if ((negative.get(host) ?? 0) > now()) return 'none'
  const running = flights.get(host)?.result
  const owner = networkOf(address)
  const canStart = () => now() >= state.pausedUntil && slots.waiting(owner) < MAX_WAITING && state.canAsk(owner)
  const found = await (running ?? (canStart() ? start(state, host, owner) : 'unavailable'))
  return found === 'unavailable' ? (urls.get(host)?.entry ?? found) : found
}

function start(state: State, host: string, owner: string): Promise<OwnUrl> {
  const flight: Flight = { result: Promise.resolve('unavailable'), touched: new Set(), isOverrun: false }
  state.flights.set(host, flight)
  flight.result = inTurn(state, host, owner, flight).finally(() => state.flights.delete(host))
  return flight.result
}

async function inTurn(state: State, host: string, owner: string, flight: Flight): Promise<OwnUrl> {
  const { slots, now } = state
  if (!(await slots.acquire(owner, TIMEOUT_MS))) return 'unavailable'
  try {
    return await lookUp(state, host, flight)
  } catch (error) {
    // What one url is answered says nothing about others.
    if (!(error instanceof BadSnapshot)) state.pausedUntil = now() + PAUSE_MS
    return 'unavailable'
  } finally {
    slots.release(owner)
  }
}

async function lookUp({ ask, isOld, urls, negative, now }: State, host: string, flight: Flight): Promise<OwnUrl> {
  const facts = await ask(host)
  if (facts === undefined) {
    urls.remove(host)
    setNewest(negative, host, now() + NEGATIVE_MS, MAX_NEGATIVE)
    return 'none'
  }
  const { deployment, project, version } = facts
  const isOvertaken = flight.isOverrun || flight.touched.has(deployment.id) || flight.touched.has(project.id)
  return isOvertaken || isOld(version) ? entryOf(facts) : urls.add(host, facts, false)
}

/** An own url always serves its own deployment. One looked up by id only serves pinned visitors of other hosts. */
function entryOf(facts: HostFacts): HostEntry {
  const [deployment, project] = [deploymentFacts(facts.deployment), projectFacts(facts.project)]
  const entry = entryOfDeployment(deployment, project)
  return deployment.createdAt === undefined ? entry : { ...entry, ...versionOf(deployment, project) }
}

/** Urls in least-recently-used order, indexed by host and by the ids that they depend on. */
function createKept(max: number, maxCharacters: number) {
  const byHost = new Map<string, Kept>()
  const hostsOf = new Map<string, Set<string>>()
  let [version, characters] = [0, 0]
  const remove = (host: string) => {
    const cached = byHost.get(host)
    if (cached === undefined) return
    version++
    characters -= cached.characters
    byHost.delete(host)
    for (const id of [cached.facts.deployment.id, cached.facts.project.id]) {
      const hosts = hostsOf.get(id)!
      hosts.delete(host)
      if (hosts.size === 0) hostsOf.delete(id)
    }
  }
  return {
    remove,
    version: () => version,
    all: (): Iterable<HostFactsOf> => [...byHost.values()],
    get(host: string): Kept | undefined {
      const cached = byHost.get(host)
      if (cached === undefined) return undefined
      byHost.delete(host)
      byHost.set(host, cached)
      return cached
    },
    add(host: string, facts: HostFacts, isSuspect: boolean): HostEntry {
      remove(host)
      version++
      const cached = { host, facts, entry: entryOf(facts), characters: JSON.stringify(facts).length, isSuspect }
      characters += cached.characters
      byHost.set(host, cached)
      for (const id of [facts.deployment.id, facts.project.id])
        hostsOf.getOrInsertComputed(id, () => new Set()).add(host)
      while (byHost.size > max || characters > maxCharacters) remove(byHost.keys().next().value!)
      return cached.entry
    },
    removeOf(id: string) {
      for (const host of [...(hostsOf.get(id) ?? [])]) remove(host)
    },
    suspect() {
      for (const cached of byHost.values()) cached.isSuspect = true
    },
  }
}

function createRate(perSecond: number, now: () => number): (owner: string) => boolean {
  let counts = new Map<string, number>()
  let began = now()
  return (owner) => {
    if (now() - began >= 1000) {
      counts = new Map()
      began = now()
    }
    const count = counts.get(owner) ?? 0
    if (count >= perSecond || counts.size >= MAX_ADDRESSES) return false
    counts.set(owner, count + 1)
    return true
  }
}
