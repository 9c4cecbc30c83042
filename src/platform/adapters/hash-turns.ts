/**
 * Queue for password hashing. A hash takes one of libuv's four threads for some 30 ms, and the same threads compress pages and read files, so few run
 * at a time. docs/limits.md: Password hashing.
 */
import { createPathQueue } from '../fairness/fair-queue.ts'

/** Leaves half of libuv's threads free. A hash also takes 19 MiB. */
const MAX_AT_ONCE = 2
const MAX_WAIT_MS = 10_000
/** In all: the number of connections. */
const MAX_WAITING = 10_000

/**
 * TABLE Limits of the queue per kind: entries of one owner, and of one address of it. Kinds, owners and addresses are served round-robin, so a known
 * user never waits behind all unknown clients.
 */
const KINDS = {
  /** A known user or account. */
  account: { ofOwner: 64, ofAddress: 64 },
  /** A client address that signs in. Behind a proxy all have the same one. */
  stranger: { ofOwner: 64, ofAddress: 64 },
  /** A password-protected site, and the addresses of its visitors. */
  site: { ofOwner: 512, ofAddress: 16 },
} as const

/** The owner of a hash. `owner`: the id of an account or user, an address (by /64: docs/limits.md), or a site. */
export type HashOwner = { kind: keyof typeof KINDS; owner: string; address?: string }

/** Runs hashing work round-robin. Returns undefined, and runs nothing, when the queue is full or the wait was too long. */
export type HashTurns = <T>(owner: HashOwner, work: () => Promise<T>) => Promise<T | undefined>

/** Creates an empty hash queue. */
export function createHashTurns(maxWaitMs: number = MAX_WAIT_MS): HashTurns {
  const queue = createPathQueue<() => void>(3)
  let running = 0
  const take = (path: readonly string[]): Promise<boolean> =>
    new Promise((resolve) => {
      const go = () => {
        clearTimeout(timeout)
        resolve(true)
      }
      const abort = () => {
        queue.remove(path, go)
        resolve(false)
      }
      const timeout = setTimeout(abort, maxWaitMs)
      queue.push(path, go)
    })
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
