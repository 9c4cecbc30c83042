/** Reads the pending emails in the store of a test, decrypted as the mail worker does. */
import type { Row } from '../../src/platform/db/schema.ts'
import { textOf } from '../../src/platform/mail/mail.ts'
import type { World } from './world.ts'

/** All emails, the oldest first, each with its decrypted text: '' once it was sent or dropped. */
export async function readQueuedMail({ deps }: Pick<World, 'deps'>): Promise<Row<'mail'>[]> {
  const rows = await deps.db.read.selectFrom('mail').selectAll().orderBy('created_stamp').execute()
  return Promise.all(rows.map(async (row) => ({ ...row, body_text: (await textOf(deps, row)) ?? 'does not open' })))
}
