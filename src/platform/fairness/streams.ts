/** Responses that are sent as they come, such as a log that is followed. docs/building.md: Logs. */
import { Readable } from 'node:stream'
import { createSemaphore, type Semaphore } from './semaphore.ts'

/** Open streams of all, and of one account. */
const MOST_OF_ALL = 500
const MOST_OF_ONE = 20
/** A client that reads nothing for this long is disconnected. */
const STALL_MS = 20_000
/** How often the caller of a stream is authorized again. */
const AUTHORIZE_MS = 10_000

const openStreams = new WeakMap<object, Semaphore>()

/**
 * Opens a stream of text for an account of a service, which is named by its database; undefined where it has too many. `authorize` throws once the caller may not read it any more,
 * which ends the stream.
 */
export function openStream(
  service: object,
  owner: string,
  lines: AsyncIterable<string>,
  authorize: () => Promise<unknown>,
  stallMs = STALL_MS,
): Readable | undefined {
  const rules = { slots: MOST_OF_ALL, canAcquire: (_: string, inUse: number) => inUse < MOST_OF_ONE }
  const open = openStreams.getOrInsertComputed(service, () => createSemaphore(rules))
  if (!open.tryAcquire(owner)) return undefined
  const reading = whileAuthorized(lines, authorize)[Symbol.asyncIterator]()
  let stalled: NodeJS.Timeout | undefined
  return new Readable({
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
      open.release(owner)
      // Not awaited: it ends with its next step.
      reading.return?.(undefined)?.catch(() => {})
      done(error)
    },
  })
}

async function* whileAuthorized(
  lines: AsyncIterable<string>,
  authorize: () => Promise<unknown>,
): AsyncGenerator<string> {
  let checkedAt = performance.now()
  for await (const line of lines) {
    if (performance.now() - checkedAt >= AUTHORIZE_MS) {
      await authorize()
      checkedAt = performance.now()
    }
    yield line
  }
}
