/** Real DNS through the configured resolvers. They are trusted: what they say of a name is taken for its owner's word. */
import { Resolver } from 'node:dns/promises'
import { openFairLine } from '../fair-line.ts'

/** What a look-up gives: what was found, `[]` when the name has nothing of it, undefined when no resolver answered. */
export type Found<T> = T[] | undefined

/** `asker`: the account for which it is asked. Slow names of one account hold up no other. */
export type Dns = {
  /** TXT records, the chunks of each joined. CNAMEs are followed, a truncated answer is asked for again over TCP. */
  readTxt(name: string, asker: string): Promise<Found<string>>
  readCname(name: string, asker: string): Promise<Found<string>>
  /** IPv4 addresses. */
  readA(name: string, asker: string): Promise<Found<string>>
  /** IPv6 addresses. */
  readAaaa(name: string, asker: string): Promise<Found<string>>
}

/** Two tries of 1.5 s a server, and never longer than this in all, waiting for a turn included. */
const TRIES = { timeout: 1500, tries: 2 }
const LONGEST_MS = 5000
/** Beyond this a resolver starts to lose questions (docs/spec/reliability.md 2e). */
const MOST_IN_FLIGHT = 32
const MOST_RECORDS = 100

/** "There is no such name" and "the name has no such record": an answer. Everything else is none. */
const NOTHING = new Set(['ENOTFOUND', 'ENODATA'])

/** `servers`: `address:port` of each; the system's when undefined. */
export function openDns(servers: string[] | undefined): Dns {
  const turns = openTurns(MOST_IN_FLIGHT)
  const ask = async <T>(asker: string, question: (resolver: Resolver) => Promise<T[]>): Promise<Found<T>> => {
    const deadline = Date.now() + LONGEST_MS
    const leave = await turns.enter(asker, LONGEST_MS)
    if (leave === undefined) return undefined
    const resolver = new Resolver(TRIES)
    const hurry = setTimeout(() => resolver.cancel(), Math.max(1, deadline - Date.now()))
    try {
      if (servers !== undefined) resolver.setServers(servers)
      return (await question(resolver)).slice(0, MOST_RECORDS)
    } catch (error) {
      const { code, syscall } = error as { code?: string; syscall?: string }
      if (syscall === undefined) throw error
      return NOTHING.has(code ?? '') ? [] : undefined
    } finally {
      clearTimeout(hurry)
      leave()
    }
  }
  return {
    readTxt: (name, asker) =>
      ask(asker, async (resolver) => (await resolver.resolveTxt(name)).map((chunks) => chunks.join(''))),
    readCname: (name, asker) => ask(asker, (resolver) => resolver.resolveCname(name)),
    readA: (name, asker) => ask(asker, (resolver) => resolver.resolve4(name)),
    readAaaa: (name, asker) => ask(asker, (resolver) => resolver.resolve6(name)),
  }
}

type Turns = {
  /** Waits for a place and gives the way out of it; undefined when none came free in time. */
  enter(asker: string, longestMs: number): Promise<(() => void) | undefined>
}

/**
 * Places that askers share. Each takes only as many as it leaves free: one alone has half of them, and for somebody new there is
 * one at once. Who waits does so behind its own, and takes turns with the others.
 */
function openTurns(places: number): Turns {
  let free = places
  const inside = new Map<string, number>()
  const line = openFairLine<() => void>()
  const of = (asker: string) => inside.get(asker) ?? 0
  const may = (asker: string) => of(asker) < free
  const leave = (asker: string) => {
    free++
    if (of(asker) === 1) inside.delete(asker)
    else inside.set(asker, of(asker) - 1)
    for (let next = line.shift(may); next !== undefined; next = line.shift(may)) next()
  }
  const take = (asker: string) => {
    free--
    inside.set(asker, of(asker) + 1)
    return () => leave(asker)
  }
  return {
    enter(asker, longestMs) {
      if (may(asker)) return Promise.resolve(take(asker))
      return new Promise((resolve) => {
        const begin = () => {
          clearTimeout(patience)
          resolve(take(asker))
        }
        const patience = setTimeout(() => {
          line.remove(asker, begin)
          resolve(undefined)
        }, longestMs)
        line.push(asker, begin)
      })
    },
  }
}
