/**
 * Takes what is due from the queue and hands it over. Who takes a letter pushes its next attempt ahead in the same statement,
 * so that of several instances one has it; one that dies with it in hand leaves it to be taken again. At least once.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Posted } from '../adapters/mailer.ts'
import { momentOf } from '../clock.ts'
import type { Deps } from '../context.ts'
import type { Row } from '../db/schema.ts'
import { textOf } from './mail.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
/** How long who took a letter has it alone; longer than handing it over may take. */
const LEASE_MS = 5 * MINUTE_MS
const LONGEST_POST_MS = MINUTE_MS
/** After the first failure, the second, and so on; then the last again and again. */
const WAITS_MS = [MINUTE_MS, 5 * MINUTE_MS, 15 * MINUTE_MS, HOUR_MS, 3 * HOUR_MS, 6 * HOUR_MS]
const GIVE_UP_MS = 72 * HOUR_MS
/** Letters that are handed over at the same time. */
const AT_ONCE = 5
const POLL_MS = 1000
/** How long letters in hand may take once the service stops. */
const GRACE_MS = 3000

/** Starts to post; the answer stops it and waits a little for letters that are being handed over. */
export function startPoster(deps: Deps): () => Promise<void> {
  const leave = new AbortController()
  let running: Promise<unknown> | undefined
  const look = () => {
    running ??= postDue(deps, leave.signal)
      .catch((error) => deps.log.error({ err: error }, 'mail could not be looked through; it is tried again'))
      .finally(() => {
        running = undefined
      })
  }
  const poll = setInterval(look, POLL_MS)
  deps.wakeups.mail = look
  return async () => {
    clearInterval(poll)
    deps.wakeups.mail = () => {}
    await Promise.race([running, sleep(GRACE_MS, undefined, { ref: false })])
    leave.abort()
    await running
  }
}

/** Posts all that is due now. Gives how many letters were taken. */
export async function postDue(deps: Deps, leave: AbortSignal = deps.stopping): Promise<number> {
  let posted = 0
  for (;;) {
    if (leave.aborted || !(await isAnyDue(deps))) return posted
    const letters = await take(deps)
    await Promise.all(letters.map((letter) => postOne(deps, letter, leave)))
    posted += letters.length
    if (letters.length === 0) return posted
  }
}

/** An empty queue costs a read, not a transaction. */
async function isAnyDue({ db, clock }: Deps): Promise<boolean> {
  const due = await db.read.selectFrom('mail').select('id').where('due_at', '<=', clock.now()).limit(1).execute()
  return due.length > 0
}

function take({ db, clock }: Deps): Promise<Row<'mail'>[]> {
  return db.write(async (tx) => {
    const now = clock.now()
    const due = tx.selectFrom('mail').select('id').where('due_at', '<=', now).orderBy('due_at').limit(AT_ONCE)
    return tx
      .updateTable('mail')
      .set((eb) => ({ due_at: now + LEASE_MS, attempts: eb('attempts', '+', 1) }))
      .where('id', 'in', due)
      .where('due_at', '<=', now)
      .returningAll()
      .execute()
  })
}

async function postOne(deps: Deps, letter: Row<'mail'>, leave: AbortSignal): Promise<void> {
  const signal = AbortSignal.any([leave, AbortSignal.timeout(LONGEST_POST_MS)])
  const at = momentOf(letter.created_stamp)
  const { id, recipient, subject } = letter
  const text = await textOf(deps, letter)
  const posted: Posted =
    text === undefined
      ? { end: 'refused', reason: 'the text of the letter does not open: the keyring lacks its key' }
      : await deps.adapters.mailer.post({ id, at, recipient, subject, text }, signal)
  const end = columnsOf(posted, letter, deps.clock.now())
  await deps.db.write((tx) =>
    tx
      .updateTable('mail')
      .set(end)
      .where('id', '=', id)
      // Whoever took it meanwhile, because this took longer than it has the letter alone, says how it ended.
      .where('attempts', '=', letter.attempts)
      .execute(),
  )
  const said = { mailId: id, attempts: letter.attempts, to: deps.adapters.mailer.place }
  const outcome = posted.end === 'sent' ? 'sent' : end.failed_at ? 'given_up' : 'retried'
  deps.metrics.counter('berth_mail_total', outcome).value++
  if (posted.end === 'sent') return deps.log.info(said, 'a letter was delivered')
  Object.assign(said, { reason: posted.reason })
  if (end.failed_at) deps.log.error(said, 'a letter could not be delivered and is given up')
  else deps.log.warn(said, 'a letter could not be delivered; it is tried again')
}

/** Once a letter is done with, its text goes: it may hold a link that opens something. */
function columnsOf(posted: Posted, letter: Row<'mail'>, now: number): Partial<Row<'mail'>> {
  if (posted.end === 'sent') return { sent_at: now, due_at: null, last_error: null, body_text: '' }
  const due = now + (WAITS_MS[letter.attempts - 1] ?? WAITS_MS.at(-1)!)
  const last_error = posted.reason.slice(0, 500)
  const isOver = posted.end === 'refused' || due > momentOf(letter.created_stamp) + GIVE_UP_MS
  return isOver ? { failed_at: now, due_at: null, last_error, body_text: '' } : { due_at: due, last_error }
}
