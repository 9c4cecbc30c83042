/** Real DNS through the configured resolvers. They are trusted: what they say of a name is taken for its owner's word. */
import { getServers, Resolver } from 'node:dns/promises'
import { READERS } from '../../readers.ts'
import { createSemaphore } from '../fairness/semaphore.ts'
import type { Traces } from '../tracing/traces.ts'

/** What a look-up gives: what was found, `[]` when the name has nothing of it, undefined when no resolver answered. */
export type DnsAnswer<T> = T[] | undefined

/** `asker`: the account for which it is asked. Slow names of one account hold up no other. */
export type Dns = {
  /** TXT records, the chunks of each joined. CNAMEs are followed, a truncated answer is asked for again over TCP. */
  readTxt(name: string, asker: string): Promise<DnsAnswer<string>>
  /** As `readTxt`, of each name server by itself, in their order; at most 4. */
  readTxtOfEach(name: string, asker: string): Promise<DnsAnswer<string>[]>
  readCname(name: string, asker: string): Promise<DnsAnswer<string>>
  /** IPv4 addresses. */
  readA(name: string, asker: string): Promise<DnsAnswer<string>>
  /** IPv6 addresses. */
  readAaaa(name: string, asker: string): Promise<DnsAnswer<string>>
}

/** Two tries of 1.5 s a server, and never longer than this in all, waiting for a slot included. */
const TRIES = { timeout: 1500, tries: 2 }
const MAX_MS = 5000
/** Beyond this a resolver starts to lose questions (docs/spec/reliability.md 2e). */
const MAX_IN_FLIGHT = 32
/** Servers that are asked by themselves. */
const MAX_SERVERS = 4

/** "There is no such name" and "the name has no such record": an answer. Everything else is none. */
const NOTHING = new Set(['ENOTFOUND', 'ENODATA'])

/** `servers`: `address:port` of each; the system's when undefined. */
export function openDns(servers: string[] | undefined): Dns {
  // Each asker takes only as many slots as it leaves free: one alone has half of them, and for somebody new one is free at once.
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

/** The same resolvers, and each look-up is a span where traces are collected. docs/operations.md: Traces. */
export function tracedDns(dns: Dns, traces: Traces | undefined): Dns {
  if (traces === undefined) return dns
  return {
    readTxt: (name, asker) => traces.lookUp('TXT', () => dns.readTxt(name, asker)),
    // One span for all: they are asked at once.
    readTxtOfEach: async (name, asker) => (await traces.lookUp('TXT', () => dns.readTxtOfEach(name, asker))) ?? [],
    readCname: (name, asker) => traces.lookUp('CNAME', () => dns.readCname(name, asker)),
    readA: (name, asker) => traces.lookUp('A', () => dns.readA(name, asker)),
    readAaaa: (name, asker) => traces.lookUp('AAAA', () => dns.readAaaa(name, asker)),
  }
}
