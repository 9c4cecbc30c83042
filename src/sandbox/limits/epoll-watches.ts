/** What a user may watch with epoll, which no group and no namespace limits. docs/sandbox.md: Limits. */
import { readFileSync } from 'node:fs'
import { totalmem } from 'node:os'

/** The least that the kernel takes for one. */
const BYTES_OF_WATCH = 128

/**
 * Returns that one sandbox can use up what its user may watch, and what to do, as a sentence without a period. Undefined where the memory of the machine
 * ends first, and on another system than Linux. Pure with both values.
 */
export function sharedWatches(max = maxWatches(), memoryBytes = totalmem()): string | undefined {
  const enough = Math.ceil(memoryBytes / BYTES_OF_WATCH)
  if (max === undefined || max >= enough) return undefined
  return `one sandbox can use up the ${max} epoll watches of its user, without which no Node.js of this user works: set fs.epoll.max_user_watches=${enough} with sysctl`
}

function maxWatches(): number | undefined {
  try {
    return Number(readFileSync('/proc/sys/fs/epoll/max_user_watches', 'latin1'))
  } catch {
    return undefined
  }
}
