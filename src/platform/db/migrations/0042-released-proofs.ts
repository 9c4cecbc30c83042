import type { Kysely } from 'kysely'

/** Proofs of an apex whose last name was removed: they speak for their account for a while longer. projects/domain-verification/released-proof.ts. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('released_proof')
    .addColumn('apex_name', 'text', (c) => c.notNull())
    .addColumn('account_id', 'text', (c) => c.notNull())
    .addColumn('proven_at', 'bigint', (c) => c.notNull())
    .addColumn('released_at', 'bigint', (c) => c.notNull())
    .addPrimaryKeyConstraint('released_proof_pk', ['apex_name', 'account_id'])
    .execute()
  await db.schema.createIndex('released_proof_age').on('released_proof').column('released_at').execute()
}
