/** Mail is queued in the transaction that gives the reason for it, and sent afterwards: `poster.ts`. */
import { STAMPS_PER_MS } from '../clock.ts'
import type { OperatorCtx } from '../context.ts'
import type { Queries } from '../db/db.ts'
import type { Row } from '../db/schema.ts'
import { newId } from '../ids.ts'
import { openSafe, openSafeToWrite } from '../secrets/data-keys.ts'
import { lineOf } from './text.ts'

/** What one person is told. `text` is plain text; a link stands on a line of its own. */
export type Letter = {
  recipient: string
  subject: string
  text: string
  /** Somebody asked for it (a password, an invitation), so it has a budget that what Berth writes by itself does not use up. */
  asked?: true
  /** Told once a day: a second letter of it would lead to where the first one leads. */
  topic?: string
}

/** Letters to a person in a day, of those that somebody asked for and of the others. */
const MOST_A_DAY = 50
const DAY_MS = 86_400_000

/** Whose data key seals letters: no account has this id. A link in a letter opens something, and backups carry what waits. */
const OWNER = 'mail'
const SEALED = /^v1\.dk_/
const MAIL_KEPT_MS = 30 * 86_400_000

/**
 * Puts a letter in the queue. It leaves when the transaction commits, and never when it does not. What is over the budget of a person and
 * day, or tells of a topic that was told today, is not written: the log says so.
 */
export async function queueMail(ctx: Pick<OperatorCtx, 'db' | 'deps' | 'now'>, letter: Letter): Promise<void> {
  const asked = Number(letter.asked ?? false)
  const today = await ctx.db
    .selectFrom('mail')
    .select('topic')
    .where('recipient', '=', letter.recipient)
    .where('asked', '=', asked)
    .where('created_stamp', '>', (ctx.now - DAY_MS) * STAMPS_PER_MS)
    .limit(MOST_A_DAY)
    .execute()
  if (letter.topic !== undefined && today.some(({ topic }) => topic === letter.topic)) return
  if (today.length >= MOST_A_DAY) {
    ctx.deps.log.warn(
      { subject: lineOf(letter.subject) },
      'a letter is not written: its reader had 50 of its kind today',
    )
    return
  }
  const id = newId('mail')
  const safe = await openSafeToWrite(ctx, OWNER)
  await ctx.db
    .insertInto('mail')
    .values({
      id,
      recipient: letter.recipient,
      subject: lineOf(letter.subject),
      body_text: safe.sealSecret('mail', id, letter.text),
      created_stamp: ctx.deps.clock.stamp(),
      asked,
      topic: letter.topic ?? null,
      attempts: 0,
      due_at: ctx.now,
      sent_at: null,
      failed_at: null,
      last_error: null,
    })
    .execute()
  ctx.deps.wakeups.mail()
}

/** The text of a letter; undefined when it does not open. One from before texts were sealed is in clear. */
export async function textOf(
  deps: Pick<OperatorCtx, 'deps'>['deps'],
  { id, body_text }: Pick<Row<'mail'>, 'id' | 'body_text'>,
): Promise<string | undefined> {
  if (!SEALED.test(body_text)) return body_text
  return (await openSafe({ db: deps.db.read, deps }, OWNER)).openSecret('mail', id, body_text)
}

/** Seals what an earlier version left waiting in clear. Once, when the service starts: no migration has the keyring. */
export async function sealWaitingMail(deps: Pick<OperatorCtx, 'deps'>['deps']): Promise<void> {
  const waiting = (db: Queries) => db.selectFrom('mail').select(['id', 'body_text']).where('due_at', '>=', 0).execute()
  const isClear = ({ body_text }: { body_text: string }) => !SEALED.test(body_text)
  if (!(await waiting(deps.db.read)).some(isClear)) return
  await deps.db.write(async (db) => {
    const safe = await openSafeToWrite({ db, deps }, OWNER)
    for (const { id, body_text } of (await waiting(db)).filter(isClear)) {
      const sealed = safe.sealSecret('mail', id, body_text)
      await db.updateTable('mail').set({ body_text: sealed }).where('id', '=', id).execute()
    }
  })
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
