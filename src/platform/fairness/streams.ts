/** Responses that are sent as they come, such as a log that is followed. docs/building.md: Logs. */
import { Readable } from 'node:stream'
import { createSemaphore, type Semaphore } from './semaphore.ts'

/** Open streams of all, and of the accounts of one owner, who never has more than are left free. */
const MAX_OF_ALL = 500
const MAX_OF_ONE = 40
/** A client that reads nothing for this long is disconnected. */
const STALL_MS = 20_000
/** How often it is checked that the caller of a stream may still read it, also while it is silent. */
const CHECK_MS = 3000

const openStreams = new WeakMap<object, Semaphore>()

/** `canRead` throws once the caller may not read the resource any more. */
export type Followed = { owner: string; lines: AsyncIterable<string>; canRead: () => Promise<unknown> }

/**
 * Opens a stream of text of a service, which is named by its database; undefined where the owner has too many. It ends with an error
 * when `canRead` throws.
 */
export function openStream(
  service: object,
  { owner, lines, canRead }: Followed,
  { stallMs = STALL_MS, checkMs = CHECK_MS } = {},
): Readable | undefined {
  const canAcquire = (_: string, inUse: number, free: number) => inUse < MAX_OF_ONE && inUse < free
  const open = openStreams.getOrInsertComputed(service, () => createSemaphore({ slots: MAX_OF_ALL, canAcquire }))
  if (!open.tryAcquire(owner)) return undefined
  const reading = lines[Symbol.asyncIterator]()
  let stalled: NodeJS.Timeout | undefined
  const stream = new Readable({
    read() {
      clearTimeout(stalled)
      reading.next().then(
        ({ done, value }) => {
          if (done) this.push(null)
          else if (!this.push(value)) stalled = setTimeout(() => this.destroy(), stallMs)
        },
        (error) => this.destroy(error),
      )
    },
    destroy(error, done) {
      clearTimeout(stalled)
      stopChecks()
      open.release(owner)
      // Not awaited: it ends with its next step.
      reading.return?.(undefined)?.catch(() => {})
      done(error)
    },
  })
  const stopChecks = checkEach(checkMs, canRead, (error) => stream.destroy(error))
  return stream
}

/** One check at a time; the next one begins `ms` after the last has ended. */
function checkEach(ms: number, check: () => Promise<unknown>, onRefusal: (error: Error) => void): () => void {
  let isOver = false
  let timer: NodeJS.Timeout
  const next = () => {
    timer = setTimeout(() => {
      check().then(
        () => {
          if (!isOver) next()
        },
        (error) => {
          if (!isOver) onRefusal(error)
        },
      )
    }, ms)
  }
  next()
  return () => {
    isOver = true
    clearTimeout(timer)
  }
}
