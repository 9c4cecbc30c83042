/** DNS through the configured resolvers, whose answers are trusted. */
import { getServers, Resolver } from 'node:dns/promises'
import { READERS } from '../../readers.ts'
import { createSemaphore } from '../fairness/semaphore.ts'
import type { Traces } from '../tracing/traces.ts'

/** Records of a lookup: `[]` for no records, undefined when no resolver answered. */
export type DnsAnswer<T> = T[] | undefined

/** `asker`: the account of the lookup. Slow names of one account delay no other. */
export type Dns = {
  /** TXT records, with joined chunks. Follows CNAMEs; retries a truncated answer over TCP. */
  readTxt(name: string, asker: string): Promise<DnsAnswer<string>>
  /** As `readTxt`, per name server, in their order; at most 4. */
  readTxtOfEach(name: string, asker: string): Promise<DnsAnswer<string>[]>
  readCname(name: string, asker: string): Promise<DnsAnswer<string>>
  readA(name: string, asker: string): Promise<DnsAnswer<string>>
  readAaaa(name: string, asker: string): Promise<DnsAnswer<string>>
}

/** Two attempts of 1.5 s per server, and never longer than this in all, including the wait for a slot. */
const TRIES = { timeout: 1500, tries: 2 }
const MAX_MS = 5000
/** Above this a resolver starts to drop queries (docs/spec/reliability.md 2e). */
const MAX_IN_FLIGHT = 32
/** Servers that are queried separately. */
const MAX_SERVERS = 4

/** "No such name" and "no such record" are answers. Other errors are not. */
const NOTHING = new Set(['ENOTFOUND', 'ENODATA'])

/** Opens DNS. `servers`: `address:port` each; undefined: those of the system. */
export function openDns(servers: string[] | undefined): Dns {
  // An asker may use as many slots as remain free: at most half, and a new asker finds one at once.
  const semaphore = createSemaphore({ slots: MAX_IN_FLIGHT, canAcquire: (_, inUse, free) => inUse < free })
  const ask = async <T>(
    asker: string,
    question: (resolver: Resolver) => Promise<T[]>,
    of = servers,
  ): Promise<DnsAnswer<T>> => {
    const deadline = Date.now() + MAX_MS
    if (!semaphore.tryAcquire(asker) && !(await semaphore.acquire(asker, MAX_MS))) return undefined
    const resolver = new Resolver(TRIES)
    const hurry = setTimeout(() => resolver.cancel(), Math.max(1, deadline - Date.now()))
    try {
      if (of !== undefined) resolver.setServers(of)
      return (await question(resolver)).slice(0, READERS['DNS answer'].parts)
    } catch (error) {
      const { code, syscall } = error as { code?: string; syscall?: string }
      if (syscall === undefined) throw error
      return NOTHING.has(code ?? '') ? [] : undefined
    } finally {
      clearTimeout(hurry)
      semaphore.release(asker)
    }
  }
  const askForTxt = (name: string, asker: string, of = servers) =>
    ask(asker, async (resolver) => (await resolver.resolveTxt(name)).map((chunks) => chunks.join('')), of)
  return {
    readTxt: (name, asker) => askForTxt(name, asker),
    readTxtOfEach: (name, asker) =>
      Promise.all((servers ?? getServers()).slice(0, MAX_SERVERS).map((server) => askForTxt(name, asker, [server]))),
    readCname: (name, asker) => ask(asker, (resolver) => resolver.resolveCname(name)),
    readA: (name, asker) => ask(asker, (resolver) => resolver.resolve4(name)),
    readAaaa: (name, asker) => ask(asker, (resolver) => resolver.resolve6(name)),
  }
}

/** Adds a span per lookup where traces are collected. docs/operations.md: Traces. */
export function tracedDns(dns: Dns, traces: Traces | undefined): Dns {
  if (traces === undefined) return dns
  return {
    readTxt: (name, asker) => traces.lookUp('TXT', () => dns.readTxt(name, asker)),
    // One span for all: the queries run in parallel.
    readTxtOfEach: async (name, asker) => (await traces.lookUp('TXT', () => dns.readTxtOfEach(name, asker))) ?? [],
    readCname: (name, asker) => traces.lookUp('CNAME', () => dns.readCname(name, asker)),
    readA: (name, asker) => traces.lookUp('A', () => dns.readA(name, asker)),
    readAaaa: (name, asker) => traces.lookUp('AAAA', () => dns.readAaaa(name, asker)),
  }
}
