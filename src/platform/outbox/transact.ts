/** The life of a write once its caller is known: one transaction, in it one stamp, then the work, the events and the audit line, and the commit. */

import type { Deps, OperatorCtx } from '../../context.ts'
import type { EventName } from '../../events.ts'
import { stampToMs } from '../base/clock.ts'
import type { Queries } from '../db/db.ts'
import { type PendingEvent, toPendingEvent } from './outbox.ts'

/** What a write has besides its connection. `now`: the moment of its stamp, in ms. `outgoing`: the events that were told so far. */
export type WriteContext = { stamp: number; now: number; emit: OperatorCtx['emit']; outgoing: PendingEvent[] }

/** `name`: the route, page or timer. `emits`: the events that it declares; undefined: any. `shareId`: whose turn the write takes. */
type Writer = { name: string; emits?: readonly EventName[] | undefined; shareId?: string | undefined }

/**
 * Runs `work` in one transaction, and again where it lost a race to another. `begin` draws the stamp: call it once, after the caller
 * was let in. An event that the writer does not declare is a bug and throws.
 */
export function transact<T>(
  { db, clock }: Pick<Deps, 'db' | 'clock'>,
  { name, emits, shareId }: Writer,
  work: (tx: Queries, begin: () => WriteContext) => Promise<T>,
): Promise<T> {
  const begin = (): WriteContext => {
    const stamp = clock.stamp()
    const outgoing: PendingEvent[] = []
    const emit: WriteContext['emit'] = (type, payload, about, owner) => {
      if (emits?.includes(type) === false) throw new Error(`${name} does not declare the event ${type}`)
      outgoing.push(toPendingEvent(type, payload, about, owner))
    }
    return { stamp, now: stampToMs(stamp), emit, outgoing }
  }
  return db.write((tx) => work(tx, begin), shareId)
}
