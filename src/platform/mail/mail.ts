/** A letter is queued in the transaction that is the reason for it. After the commit `poster.ts` sends it. */

import type { OperatorCtx } from '../../context.ts'
import { STAMPS_PER_MS, stampToMs } from '../base/clock.ts'
import { newId } from '../base/ids.ts'
import type { Queries } from '../db/db.ts'
import type { Row } from '../db/schema.ts'
import { openSecretBox, openSecretBoxToWrite } from '../secrets/data-keys.ts'
import { toSingleLine } from './text.ts'

/** A letter to one person. `text` is plain text; a link stands on a line of its own. */
export type MailMessage = {
  recipient: string
  subject: string
  text: string
  /** Somebody asked for it: for a password, or anything that others can ask for. Each kind has a daily budget apart from what Berth writes by itself. */
  asked?: keyof typeof ASKED
  /** What it tells of. A person is told the same news of a topic once a day; a second letter is sent the day after. */
  topic?: string
  /** What is new, where a topic has news of several kinds. */
  news?: string
}

/** The column `asked`. Others, who can ask for many, use up no letter about a password. */
const ASKED = { password: 1, byOthers: 2 } as const
/** How many letters a person gets in a day, of each kind. */
const MAX_A_DAY = 50
const DAY_MS = 86_400_000
/** So long a letter is held back at the most: 50 may wait behind 50 of a day, and one of each topic. */
const MAX_HELD_MS = 4 * DAY_MS

/** The data key of this owner seals letters; no account has this id. Letters are sealed because their links can open an account, and backups hold letters that wait. */
const OWNER = 'mail'
const SEALED = /^v1\.dk_/
const MAIL_RETENTION_MS = 30 * 86_400_000

/**
 * Puts a letter in the queue. It is sent after the transaction commits, and never when it does not. A letter that Berth writes by itself is
 * held back where it says again what its reader was told today, or is over their daily budget: it is sent later. Of those that wait about one
 * topic the latest stays. A letter over the budget that somebody asked for, or one behind 50 that wait without a topic, is not written, and
 * the log says so.
 */
export async function queueMail(ctx: Pick<OperatorCtx, 'db' | 'deps' | 'now'>, letter: MailMessage): Promise<void> {
  const due = await dueOf(ctx, letter)
  if (due === undefined) {
    const what = 'a letter is not written: its reader has 50 of this kind today, or waiting'
    return ctx.deps.log.warn({ subject: toSingleLine(letter.subject) }, what)
  }
  const id = newId('mail')
  const box = await openSecretBoxToWrite(ctx, OWNER)
  await ctx.db
    .insertInto('mail')
    .values({
      id,
      recipient: letter.recipient,
      subject: toSingleLine(letter.subject),
      body_text: box.sealSecret('mail', id, letter.text),
      created_stamp: ctx.deps.clock.stamp(),
      asked: askedOf(letter),
      topic: topicOf(letter),
      attempts: 0,
      due_at: due,
      sent_at: null,
      failed_at: null,
      last_error: null,
    })
    .execute()
  ctx.deps.wakeups.mail()
}

/** The column `asked`. 0: Berth writes it by itself. */
function askedOf({ asked }: MailMessage): number {
  return asked === undefined ? 0 : ASKED[asked]
}

function topicOf({ topic, news }: MailMessage): string | null {
  return topic === undefined ? null : [topic, news].join(' ').trim()
}

/** When a letter is sent at the earliest; undefined: never. A letter that waits about the same topic makes way for it. */
async function dueOf(ctx: Pick<OperatorCtx, 'db' | 'now'>, letter: MailMessage): Promise<number | undefined> {
  const { db, now } = ctx
  const asked = askedOf(letter)
  const earlier = await db
    .selectFrom('mail')
    .select(['id', 'topic', 'created_stamp', 'due_at', 'sent_at', 'attempts'])
    .where('recipient', '=', letter.recipient)
    .where('asked', '=', asked)
    .where('created_stamp', '>', (now - MAX_HELD_MS) * STAMPS_PER_MS)
    .orderBy('created_stamp', 'desc')
    .limit(4 * MAX_A_DAY)
    .execute()
  const isHeld = (row: (typeof earlier)[number]) => row.attempts === 0 && row.due_at !== null && row.due_at > now
  const replaced = earlier.filter((row) => isHeld(row) && letter.topic !== undefined && isAbout(row, letter.topic))
  for (const { id } of replaced) await db.deleteFrom('mail').where('id', '=', id).execute()
  const recent = earlier
    .filter((row) => !replaced.includes(row))
    .map((row) => ({ topic: row.topic, at: row.sent_at ?? row.due_at ?? stampToMs(row.created_stamp) }))
    .filter(({ at }) => at > now - DAY_MS)
    .sort((one, other) => other.at - one.at)
  const topic = topicOf(letter)
  const same = topic === null ? undefined : recent.find((row) => row.topic === topic)
  const due = Math.max(now, ...[same, recent[MAX_A_DAY - 1]].map((row) => (row === undefined ? 0 : row.at + DAY_MS)))
  if (due === now) return due
  const isOver = topic === null && earlier.filter(isHeld).length >= MAX_A_DAY
  return letter.asked || isOver ? undefined : due
}

function isAbout({ topic }: Pick<Row<'mail'>, 'topic'>, about: string): boolean {
  return topic === about || topic?.startsWith(`${about} `) === true
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
export async function sealPendingMail(deps: Pick<OperatorCtx, 'deps'>['deps']): Promise<void> {
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
export async function purgeOldMail(ctx: OperatorCtx, limit: number): Promise<number> {
  const old = ctx.db
    .selectFrom('mail')
    .select('id')
    .where('created_stamp', '<', (ctx.now - MAIL_RETENTION_MS) * STAMPS_PER_MS)
    .where('due_at', 'is', null)
    .limit(limit)
  const rows = await ctx.db.deleteFrom('mail').where('id', 'in', old).returning('id').execute()
  return rows.length
}
