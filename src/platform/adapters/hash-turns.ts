/**
 * When a password is hashed. A hash takes one of libuv's four threads for some 30 ms, and the same threads compress pages and read files.
 * So few run at a time, and the others wait in turn. docs/limits.md: Passwords in turn.
 */
import { createPathQueue } from '../fairness/fair-queue.ts'

/** Half of libuv's threads stay free. A hash also takes 19 MiB. */
const MAX_AT_ONCE = 2
const MAX_WAIT_MS = 10_000
/** All that wait: no more than there are connections. */
const MAX_WAITING = 10_000

/**
 * TABLE who waits -> at most how many of one owner, and of those how many of one address. Kinds take turns, owners of a kind take turns,
 * and so do the addresses of an owner: a person who is known never waits behind all strangers.
 */
const KINDS = {
  /** A person or an account that is known. */
  account: { ofOwner: 64, ofAddress: 64 },
  /** An address from which somebody signs in. Behind a proxy all have one address. */
  stranger: { ofOwner: 64, ofAddress: 64 },
  /** A site that is protected by a password, and the addresses of its visitors. */
  site: { ofOwner: 512, ofAddress: 16 },
} as const

/** Whose turn a hash takes. `owner`: the id of an account or person, an address (docs/limits.md counts them by /64), or a site. */
export type HashOwner = { kind: keyof typeof KINDS; owner: string; address?: string }

/** Runs work that hashes when it is the owner's turn. Gives undefined, and runs nothing, when too many wait or this one waited for too long. */
export type HashTurns = <T>(owner: HashOwner, work: () => Promise<T>) => Promise<T | undefined>

/** Turns that nobody waits for yet. */
export function openHashTurns(longestWaitMs: number = MAX_WAIT_MS): HashTurns {
  const queue = createPathQueue<() => void>(3)
  let running = 0
  const take = (path: readonly string[]): Promise<boolean> =>
    new Promise((resolve) => {
      const go = () => {
        clearTimeout(timeout)
        resolve(true)
      }
      const giveUp = () => {
        queue.remove(path, go)
        resolve(false)
      }
      const timeout = setTimeout(giveUp, longestWaitMs)
      queue.push(path, go)
    })
  /** The slot goes to the next one that waits, and is free where nobody does. */
  const release = () => {
    const next = queue.shift()
    if (next === undefined) running--
    else next()
  }
  return async ({ kind, owner, address = '' }, work) => {
    if (running < MAX_AT_ONCE) running++
    else {
      const { ofOwner, ofAddress } = KINDS[kind]
      if (queue.sizeOf([]) >= MAX_WAITING || queue.sizeOf([kind, owner]) >= ofOwner) return undefined
      if (queue.sizeOf([kind, owner, address]) >= ofAddress) return undefined
      if (!(await take([kind, owner, address]))) return undefined
    }
    try {
      return await work()
    } finally {
      release()
    }
  }
}
