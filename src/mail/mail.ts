/** A letter is queued in the transaction that is the reason for it. After the commit `poster.ts` sends it. */
import { STAMPS_PER_MS } from '../clock.ts'
import type { OperatorCtx } from '../context.ts'
import type { Queries } from '../db/db.ts'
import type { Row } from '../db/schema.ts'
import { newId } from '../ids.ts'
import { openSecretBox, openSecretBoxToWrite } from '../secrets/data-keys.ts'
import { lineOf } from './text.ts'

/** A letter to one person. `text` is plain text; a link stands on a line of its own. */
export type Letter = {
  recipient: string
  subject: string
  text: string
  /** Somebody asked for it (a password, an invitation). Such letters have a daily budget of their own, apart from those that Berth writes by itself. */
  asked?: true
  /** A person gets one letter a day about a topic. A second one would say nothing new. */
  topic?: string
}

/** How many letters a person gets in a day: so many that somebody asked for, and as many others. */
const MOST_A_DAY = 50
const DAY_MS = 86_400_000

/** The data key of this owner seals letters; no account has this id. Letters are sealed because their links can open an account, and backups hold letters that wait. */
const OWNER = 'mail'
const SEALED = /^v1\.dk_/
const MAIL_KEPT_MS = 30 * 86_400_000

/**
 * Puts a letter in the queue. It is sent after the transaction commits, and never when it does not. A letter over the daily budget of its
 * reader is not written, and the log says so. A second letter of the day about one topic is not written either.
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
      'a letter is not written: its reader got 50 letters of this kind today',
    )
    return
  }
  const id = newId('mail')
  const box = await openSecretBoxToWrite(ctx, OWNER)
  await ctx.db
    .insertInto('mail')
    .values({
      id,
      recipient: letter.recipient,
      subject: lineOf(letter.subject),
      body_text: box.sealSecret('mail', id, letter.text),
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

/** Opens the text of a letter; undefined: it does not open. Letters from before texts were sealed are stored in clear. */
export async function textOf(
  deps: Pick<OperatorCtx, 'deps'>['deps'],
  { id, body_text }: Pick<Row<'mail'>, 'id' | 'body_text'>,
): Promise<string | undefined> {
  if (!SEALED.test(body_text)) return body_text
  return (await openSecretBox({ db: deps.db.read, deps }, OWNER)).openSecret('mail', id, body_text)
}

/** Seals letters that an earlier version stored in clear. It runs once when the service starts, because a migration has no keyring. */
export async function sealWaitingMail(deps: Pick<OperatorCtx, 'deps'>['deps']): Promise<void> {
  const readPending = (db: Queries) =>
    db.selectFrom('mail').select(['id', 'body_text']).where('due_at', '>=', 0).execute()
  const isClear = ({ body_text }: { body_text: string }) => !SEALED.test(body_text)
  if (!(await readPending(deps.db.read)).some(isClear)) return
  await deps.db.write(async (db) => {
    const box = await openSecretBoxToWrite({ db, deps }, OWNER)
    for (const { id, body_text } of (await readPending(db)).filter(isClear)) {
      const sealed = box.sealSecret('mail', id, body_text)
      await db.updateTable('mail').set({ body_text: sealed }).where('id', '=', id).execute()
    }
  })
}

/** Sweep: removes letters that were sent or given up, 30 days after they were queued. */
export async function forgetOldMail(ctx: OperatorCtx, limit: number): Promise<number> {
  const old = ctx.db
    .selectFrom('mail')
    .select('id')
    .where('created_stamp', '<', (ctx.now - MAIL_KEPT_MS) * STAMPS_PER_MS)
    .where('due_at', 'is', null)
    .limit(limit)
  const rows = await ctx.db.deleteFrom('mail').where('id', 'in', old).returning('id').execute()
  return rows.length
}
