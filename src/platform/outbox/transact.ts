import type { Deps, OperatorCtx } from '../../context.ts'
import type { EventName } from '../../events.ts'
import { stampToMs } from '../base/clock.ts'
import type { Queries } from '../db/db.ts'
import { type PendingEvent, toPendingEvent } from './outbox.ts'

/** The context of a write. `now`: the time of its stamp, in ms. `outgoing`: the emitted events. */
export type WriteContext = { stamp: number; now: number; emit: OperatorCtx['emit']; outgoing: PendingEvent[] }

/** `name`: the route, page or timer. `emits`: declared events; undefined: any. `shareId`: the owner for round-robin. */
type Writer = { name: string; emits?: readonly EventName[] | undefined; shareId?: string | undefined }

/**
 * Runs `work` in one transaction, with retries after conflicts, then writes its events and audit entry. `begin` draws the stamp: call it once, after
 * authorization. An undeclared event is a bug and throws.
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
