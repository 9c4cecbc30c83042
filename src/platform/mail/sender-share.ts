/** Emails that a user causes to others count for that user: no sender uses up what an address gets in a day. docs/limits.md: Rate limits. */
import type { LimitName } from '../../limits.ts'
import type { Sooner } from '../limiter/counter.ts'
import { type LimitStatus, rejectIfExceeded } from '../limiter/limiter.ts'

type Consume = (name: LimitName, owner: string) => Sooner<LimitStatus | undefined>

/** Counts an email to an address that its sender chose. Call it before the message `byOthers`. Refuses: rate_limited 429 (a day: to it, or in all). */
export async function countSentEmail(consume: Consume, now: number, sender: string, address: string): Promise<void> {
  rejectIfExceeded(await consume('letters-to-address', `${sender} ${address}`), now, 'emails to this address')
  rejectIfExceeded(await consume('letters-sent', sender), now, 'emails')
}
