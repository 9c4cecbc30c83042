/**
 * Sends due messages, each at least once. The same statement leases a message and postpones its next attempt, so only one instance has it. After a
 * crash its messages come due again.
 */

import type { Deps } from '../../context.ts'
import type { SendResult } from '../adapters/mailer.ts'
import { stampToMs } from '../base/clock.ts'
import type { Row } from '../db/schema.ts'
import { leaseDue } from '../outbox/lease-due.ts'
import { drainLeaseQueue, type LeaseQueue, startLeaseWorker } from '../outbox/lease-loop.ts'
import { textOf } from './mail.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
/** How long an instance leases a message. Sending takes less. */
const LEASE_MS = 5 * MINUTE_MS
const MAX_POST_MS = MINUTE_MS
/** Delays after the first failure, the second, and so on. The last one repeats. */
const WAITS_MS = [MINUTE_MS, 5 * MINUTE_MS, 15 * MINUTE_MS, HOUR_MS, 3 * HOUR_MS, 6 * HOUR_MS]
const GIVE_UP_MS = 72 * HOUR_MS
const AT_ONCE = 5

/** Starts the mail worker. Returns a function that stops it, waiting up to 3 s for messages in flight. */
export function startMailWorker(deps: Deps): () => Promise<void> {
  const { wake, stop } = startLeaseWorker(deps, letterWork(deps))
  deps.wakeups.mail = wake
  return () => {
    deps.wakeups.mail = () => {}
    return stop()
  }
}

/** Sends every due message. Returns how many it leased. */
export function sendDueMail(deps: Deps, stop: AbortSignal = deps.shutdownSignal): Promise<number> {
  return drainLeaseQueue(letterWork(deps), deps.clock.now(), stop)
}

function letterWork(deps: Deps): LeaseQueue<Row<'mail'>> {
  return {
    name: 'letters',
    lease: (now, running) =>
      leaseDue(deps.db, 'mail', { now, leaseMs: LEASE_MS, room: AT_ONCE - running.length, countsAttempts: true }),
    run: (letter, _now, stop) =>
      postOne(deps, letter, stop).catch((error) => {
        deps.log.warn(
          { err: error, mailId: letter.id },
          'the outcome of an email could not be written; it is sent again',
        )
      }),
  }
}

async function postOne(deps: Deps, letter: Row<'mail'>, stop: AbortSignal): Promise<void> {
  const signal = AbortSignal.any([stop, AbortSignal.timeout(MAX_POST_MS)])
  const at = stampToMs(letter.created_stamp)
  const { id, recipient, subject } = letter
  const text = await textOf(deps, letter)
  const posted: SendResult =
    text === undefined
      ? { end: 'refused', reason: 'the text cannot be decrypted: its key is missing from the keyring' }
      : await deps.adapters.mailer.post({ id, at, recipient, subject, text }, signal)
  const end = columnsOf(posted, letter, deps.clock.now())
  await deps.db.write((tx) =>
    tx
      .updateTable('mail')
      .set(end)
      .where('id', '=', id)
      // If the lease expired and another instance leased the message, that instance writes the outcome.
      .where('attempts', '=', letter.attempts)
      .execute(),
  )
  const fields = { mailId: id, attempts: letter.attempts, to: deps.adapters.mailer.place }
  const outcome = posted.end === 'sent' ? 'sent' : end.failed_at ? 'given_up' : 'retried'
  deps.metrics.counter('berth_mail_total', outcome).value++
  if (posted.end === 'sent') return deps.log.info(fields, 'email delivered')
  Object.assign(fields, { reason: posted.reason })
  if (end.failed_at) deps.log.error(fields, 'email could not be delivered and is dropped')
  else deps.log.warn(fields, 'email could not be delivered; it is retried')
}

/** Columns after an attempt. A finished message loses its text, because a link in it may open an account. */
function columnsOf(posted: SendResult, letter: Row<'mail'>, now: number): Partial<Row<'mail'>> {
  if (posted.end === 'sent') return { sent_at: now, due_at: null, last_error: null, body_text: '' }
  const due = now + (WAITS_MS[letter.attempts - 1] ?? WAITS_MS.at(-1)!)
  const last_error = posted.reason.slice(0, 500)
  const isOver = posted.end === 'refused' || due > stampToMs(letter.created_stamp) + GIVE_UP_MS
  return isOver ? { failed_at: now, due_at: null, last_error, body_text: '' } : { due_at: due, last_error }
}
