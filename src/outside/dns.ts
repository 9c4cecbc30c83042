/** Real DNS through the configured resolvers. They are trusted: what they say of a name is taken for its owner's word. */
import { Resolver } from 'node:dns/promises'

/** What a look-up gives: what was found, `[]` when the name has nothing of it, undefined when no resolver answered. */
export type Found<T> = T[] | undefined

export type Dns = {
  /** TXT records, the chunks of each joined. CNAMEs are followed, a truncated answer is asked for again over TCP. */
  readTxt(name: string): Promise<Found<string>>
  readCname(name: string): Promise<Found<string>>
  /** IPv4 addresses. */
  readA(name: string): Promise<Found<string>>
  /** IPv6 addresses. */
  readAaaa(name: string): Promise<Found<string>>
}

/** Two tries of 1.5 s a server, and never longer than this in all, waiting for a turn included. */
const TRIES = { timeout: 1500, tries: 2 }
const LONGEST_MS = 5000
/** Beyond this a resolver starts to lose questions (reliability.md 2e). */
const MOST_IN_FLIGHT = 32
const MOST_RECORDS = 100

/** "There is no such name" and "the name has no such record": an answer. Everything else is none. */
const NOTHING = new Set(['ENOTFOUND', 'ENODATA'])

/** `servers`: `address:port` of each; the system's when undefined. */
export function openDns(servers: string[] | undefined): Dns {
  const turns = openTurns(MOST_IN_FLIGHT)
  const ask = async <T>(question: (resolver: Resolver) => Promise<T[]>): Promise<Found<T>> => {
    const deadline = Date.now() + LONGEST_MS
    const leave = await turns.enter(LONGEST_MS)
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
    readTxt: (name) => ask(async (resolver) => (await resolver.resolveTxt(name)).map((chunks) => chunks.join(''))),
    readCname: (name) => ask((resolver) => resolver.resolveCname(name)),
    readA: (name) => ask((resolver) => resolver.resolve4(name)),
    readAaaa: (name) => ask((resolver) => resolver.resolve6(name)),
  }
}

type Turns = {
  /** Waits for a place and gives the way out of it; undefined when none came free in time. */
  enter(longestMs: number): Promise<(() => void) | undefined>
}

function openTurns(places: number): Turns {
  let free = places
  const waiting = new Set<() => void>()
  const leave = () => {
    const [next] = waiting
    if (next === undefined) free++
    else {
      waiting.delete(next)
      next()
    }
  }
  return {
    enter(longestMs) {
      if (free > 0) {
        free--
        return Promise.resolve(leave)
      }
      return new Promise((resolve) => {
        const begin = () => {
          clearTimeout(patience)
          resolve(leave)
        }
        const patience = setTimeout(() => {
          waiting.delete(begin)
          resolve(undefined)
        }, longestMs)
        waiting.add(begin)
      })
    },
  }
}
