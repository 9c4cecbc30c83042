/** The audit log as a chain: where an entry stands in it, and the hash that binds it to the one before. docs/decisions/0100. */
import { type Kysely, sql } from 'kysely'
import { STAMPS_PER_MS } from '../../base/clock.ts'

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('audit').addColumn('position', 'bigint').execute()
  await db.schema.alterTable('audit').addColumn('hash', 'text').execute()
  await db.schema
    .createIndex('audit_chain_stamp')
    .unique()
    .on('audit')
    .column('position')
    .where(sql.ref('position'), 'is not', null)
    .execute()
  await db.schema
    .createIndex('audit_unlinked')
    .on('audit')
    .column('stamp')
    .where(sql.ref('position'), 'is', null)
    .execute()
  // What is older was there before the chain, and joins it whenever the sweep comes to it.
  const began = String(Date.now() * STAMPS_PER_MS)
  await sql`insert into fact (name, value) values ('audit_chain_began', ${began})`.execute(db)
}
