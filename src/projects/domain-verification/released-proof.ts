/** Verifications outlive their names by 30 days, so that removing and re-adding a name needs no DNS change. docs/domains.md. */
import { sql } from 'kysely'
import type { OperatorCtx } from '../../context.ts'
import { stampToMs } from '../../platform/base/clock.ts'
import { deleteRows } from '../../platform/db/bulk.ts'
import { chunks } from '../../platform/db/chunks.ts'
import type { Row } from '../../platform/db/schema.ts'

const RELEASED_RETENTION_MS = 30 * 24 * 60 * 60_000

/** Stores the verifications of names that are about to be removed, and keeps a later one that is stored. Skips names from a transfer. */
export async function releaseProofs(
  ctx: Pick<OperatorCtx, 'db' | 'stamp'>,
  accountId: string,
  names: readonly string[],
): Promise<void> {
  const proofs = ctx.db
    .selectFrom('project_domain')
    .select((eb) => [
      'apex_name',
      'account_id',
      eb.fn.max('proven_at').as('proven_at'),
      sql<number>`cast(${stampToMs(ctx.stamp)} as bigint)`.as('released_at'),
    ])
    .where('account_id', '=', accountId)
    .where('verified_at', 'is not', null)
    .where('proven_at', 'is not', null)
    .where('inherited_at', 'is', null)
    .groupBy(['apex_name', 'account_id'])
  for (const some of chunks(names)) {
    await ctx.db
      .insertInto('released_proof')
      .columns(['apex_name', 'account_id', 'proven_at', 'released_at'])
      .expression(proofs.where('name', 'in', some))
      .onConflict((conflict) =>
        conflict.columns(['apex_name', 'account_id']).doUpdateSet((eb) => ({
          proven_at: eb
            .case()
            // An expired one may wait for the sweep.
            .when('released_proof.released_at', '<=', stampToMs(ctx.stamp) - RELEASED_RETENTION_MS)
            .then(eb.ref('excluded.proven_at'))
            .when('released_proof.proven_at', '>', eb.ref('excluded.proven_at'))
            .then(eb.ref('released_proof.proven_at'))
            .else(eb.ref('excluded.proven_at'))
            .end(),
          released_at: eb.ref('excluded.released_at'),
        })),
      )
      .execute()
  }
}

/** Returns the latest verification of an apex from a recently removed name. */
export function readReleasedProof(
  ctx: Pick<OperatorCtx, 'db' | 'now'>,
  apex: string,
): Promise<Pick<Row<'released_proof'>, 'account_id' | 'proven_at'> | undefined> {
  return ctx.db
    .selectFrom('released_proof')
    .select(['account_id', 'proven_at'])
    .where('apex_name', '=', apex)
    .where('released_at', '>', ctx.now - RELEASED_RETENTION_MS)
    .orderBy('proven_at', 'desc')
    .limit(1)
    .executeTakeFirst()
}

/** Deletes stored verifications of an apex: all except those of `provenBy`, or only those of `accountId`. */
export async function deleteReleasedProofs(
  ctx: Pick<OperatorCtx, 'db'>,
  apex: string,
  whose: { provenBy: string } | { accountId: string },
): Promise<void> {
  const ofApex = ctx.db.deleteFrom('released_proof').where('apex_name', '=', apex)
  await ('provenBy' in whose
    ? ofApex.where('account_id', '!=', whose.provenBy)
    : ofApex.where('account_id', '=', whose.accountId)
  ).execute()
}

/** Sweep: deletes verifications that were released 30 days ago. Returns their number. */
export async function purgeReleasedProofs(ctx: OperatorCtx, limit: number): Promise<number> {
  const old = await ctx.db
    .selectFrom('released_proof')
    .select(['apex_name', 'account_id'])
    .where('released_at', '<=', ctx.now - RELEASED_RETENTION_MS)
    .orderBy('released_at')
    .limit(limit)
    .execute()
  await deleteRows(ctx.db, 'released_proof', old)
  return old.length
}
