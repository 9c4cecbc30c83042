/** Email queue: a message is queued in the transaction that caused it, and `worker.ts` sends it after the commit. */

import type { OperatorCtx } from '../../context.ts'
import { STAMPS_PER_MS, stampToMs } from '../base/clock.ts'
import { newId } from '../base/ids.ts'
import type { Queries } from '../db/db.ts'
import type { Row } from '../db/schema.ts'
import { openSecretBox, openSecretBoxToWrite } from '../secrets/data-keys.ts'
import { toSingleLine } from './text.ts'

/** An email to one user. `text` is plain text; a link is on a line of its own. */
export type MailMessage = {
  recipient: string
  subject: string
  text: string
  /** A user requested it: a password link, or another message that users can trigger. Each kind has its own daily budget. */
  asked?: keyof typeof ASKED
  /** Its topic. A recipient gets one message per topic, news and day; another one is sent the next day. */
  topic?: string
  /** Distinguishes several kinds of news in a topic. */
  news?: string
}

/** The column `asked`. Other requests cannot use up the budget of password emails. */
const ASKED = { password: 1, byOthers: 2 } as const
/** Messages per recipient, day and kind. */
const MAX_A_DAY = 50
const DAY_MS = 86_400_000
/** The longest delay: 50 may wait behind the 50 of a day, and one per topic. */
const MAX_HELD_MS = 4 * DAY_MS

/** Messages are sealed with the data key of this owner (no account has this id): their links can open an account, and backups contain them. */
const OWNER = 'mail'
const SEALED = /^v1\.dk_/
const MAIL_RETENTION_MS = 30 * 86_400_000

/**
 * Queues a message for after the commit. A message that no user requested is delayed when its topic was already sent today, or over the daily budget;
 * of those the latest per topic is stored. A requested message over the budget, or one behind 50 pending ones without a topic, is dropped and logged.
 */
export async function queueMail(ctx: Pick<OperatorCtx, 'db' | 'deps' | 'now'>, letter: MailMessage): Promise<void> {
  const due = await dueOf(ctx, letter)
  if (due === undefined) {
    const what = 'email dropped: its recipient has 50 of this kind today, or pending'
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

/** The column `asked`. 0: not requested by a user. */
function askedOf({ asked }: MailMessage): number {
  return asked === undefined ? 0 : ASKED[asked]
}

function topicOf({ topic, news }: MailMessage): string | null {
  return topic === undefined ? null : [topic, news].join(' ').trim()
}

/** Returns the earliest time to send, or undefined to drop the message. It replaces a delayed message of the same topic. */
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
    .sort((a, b) => b.at - a.at)
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

/** Decrypts the text of a message; undefined on failure. Messages from before encryption are plaintext. */
export async function textOf(
  deps: Pick<OperatorCtx, 'deps'>['deps'],
  { id, body_text }: Pick<Row<'mail'>, 'id' | 'body_text'>,
): Promise<string | undefined> {
  if (!SEALED.test(body_text)) return body_text
  return (await openSecretBox({ db: deps.db.read, deps }, OWNER)).openSecret('mail', id, body_text)
}

/** Seals plaintext messages of an earlier version. Runs once at the start, because a migration has no keyring. */
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

/** Sweep: deletes messages that were sent or dropped, 30 days after they were queued. */
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
