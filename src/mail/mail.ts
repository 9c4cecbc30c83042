/** Mail is queued in the transaction that gives the reason for it, and sent afterwards: `poster.ts`. */
import { STAMPS_PER_MS } from '../clock.ts'
import type { OperatorCtx } from '../context.ts'
import { newId } from '../ids.ts'
import { lineOf } from './text.ts'

/** What one person is told. `text` is plain text; a link stands on a line of its own. */
export type Letter = { recipient: string; subject: string; text: string }

const MAIL_KEPT_MS = 30 * 86_400_000
/** In most cases the transaction is committed by then; the poster's own look finds what is not. */
const SOON_MS = 20

/** Puts a letter in the queue. It leaves when the transaction commits, and never when it does not. */
export async function queueMail(ctx: Pick<OperatorCtx, 'db' | 'deps' | 'now'>, letter: Letter): Promise<void> {
  await ctx.db
    .insertInto('mail')
    .values({
      id: newId('mail'),
      recipient: letter.recipient,
      subject: lineOf(letter.subject),
      body_text: letter.text,
      created_stamp: ctx.deps.clock.stamp(),
      attempts: 0,
      due_at: ctx.now,
      sent_at: null,
      failed_at: null,
      last_error: null,
    })
    .execute()
  setTimeout(() => ctx.deps.nudges.mail(), SOON_MS).unref()
}

/** Sweep: what was sent, or given up, goes 30 days after it was queued. */
export async function forgetOldMail(ctx: OperatorCtx, limit: number): Promise<number> {
  const old = ctx.db
    .selectFrom('mail')
    .select('id')
    .where('created_stamp', '<', (ctx.now - MAIL_KEPT_MS) * STAMPS_PER_MS)
    .where('due_at', 'is', null)
    .limit(limit)
  const gone = await ctx.db.deleteFrom('mail').where('id', 'in', old).returning('id').execute()
  return gone.length
}
