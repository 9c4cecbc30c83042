/** The letters that wait in the store of a test, opened as who sends them opens them. */
import type { Row } from '../../src/platform/db/schema.ts'
import { textOf } from '../../src/platform/mail/mail.ts'
import type { World } from './world.ts'

/** All letters, the oldest first, each with its text in clear: '' once it is done with. */
export async function readQueuedMail({ deps }: Pick<World, 'deps'>): Promise<Row<'mail'>[]> {
  const rows = await deps.db.read.selectFrom('mail').selectAll().orderBy('created_stamp').execute()
  return Promise.all(rows.map(async (row) => ({ ...row, body_text: (await textOf(deps, row)) ?? 'does not open' })))
}
