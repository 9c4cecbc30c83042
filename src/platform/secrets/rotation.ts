/** Rotation: a new root key becomes active, and the project keys are wrapped anew, slice by slice; a root key that wraps nothing can go. */
import { sql } from 'kysely'
import type { Deps, Input, OperatorCtx } from '../../context.ts'
import type { Db, Queries } from '../db/db.ts'
import type { Row } from '../db/schema.ts'
import { refuse } from '../refusals/refusal.ts'
import { rewrap } from './data-keys.ts'
import { activeKeyId, registerRootKeys } from './root-keys.ts'

/** Project keys that one transaction wraps anew. */
export const REWRAP_SLICE = 100
/** Any number, the same in every instance: whoever holds it changes the keyring file. */
const KEYRING_LOCK = 4_137_250_131

/**
 * Begins a rotation: a new root key, on disk before any row knows it, and active from then on. A rotation that was cut short
 * is gone on with instead. Refuses: keyring_fixed 409.
 */
export async function beginRotation({ db, clock, keyring }: Deps): Promise<void> {
  if (!keyring.changeable) {
    refuse(
      'keyring_fixed',
      'BERTH_KEYS holds the keyring itself, which Berth cannot change. Put a new key in front of the others and restart: ' +
        'the project keys are then wrapped anew by themselves.',
    )
  }
  await aloneWithKeyring(db, async () => {
    if ((await staleKeys(db.read, await activeKeyId(db.read), 1)).length > 0) return
    keyring.add()
    await db.write((tx) => registerRootKeys(tx, keyring, clock))
  })
}

/** Sweep: wraps one slice of the project keys that another root key wraps by the active one. Gives how many. */
export async function rewrapProjectKeys(ctx: OperatorCtx, limit: number): Promise<number> {
  const active = await activeKeyId(ctx.db)
  let total = 0
  for (const row of await staleKeys(ctx.db, active, limit)) if (await rewrap(ctx, row, active)) total++
  return total
}

/** Asked by the other root keys, which are few: `!=` would read every project key there is. */
async function staleKeys(db: Queries, active: string, limit: number): Promise<Row<'project_key'>[]> {
  const others = await db.selectFrom('root_key').select('id').where('id', '!=', active).execute()
  if (others.length === 0) return []
  const ids = others.map(({ id }) => id)
  return db.selectFrom('project_key').selectAll().where('root_key_id', 'in', ids).limit(limit).execute()
}

/** The root keys of the store and how many project keys each wraps. */
export async function listKeys(ctx: OperatorCtx) {
  const rows = await ctx.db
    .selectFrom('root_key')
    .leftJoin('project_key', 'project_key.root_key_id', 'root_key.id')
    .select(['root_key.id', (eb) => eb.fn.count<number>('project_key.id').as('references')])
    .groupBy('root_key.id')
    .orderBy('root_key.id')
    .execute()
  const activeId = await activeKeyId(ctx.db)
  return {
    activeKeyId: activeId,
    keys: rows.map(({ id, references }) => ({ id, references, active: id === activeId })),
  }
}

/**
 * Retires a root key that wraps nothing any more: first the store forgets it, then the file. Killed between the two, the
 * next start knows it again, and it can be retired again. From a keyring that was handed in whole the operator takes it.
 * Refuses: not_found 404, key_in_use 409.
 */
export async function retireKey(ctx: OperatorCtx, _: undefined, { params }: Input): Promise<void> {
  const { db, keyring } = ctx.deps
  const id = params.id ?? ''
  await aloneWithKeyring(db, async () => {
    await db.write(async (tx) => {
      if ((await activeKeyId(tx)) === id) refuse('key_in_use', `The key ${id} is the active one: rotate first.`)
      const used = await tx.selectFrom('project_key').select('id').where('root_key_id', '=', id).limit(1).execute()
      if (used.length > 0) refuse('key_in_use', `The key ${id} still wraps project keys: rotate first.`)
      const row = await tx.deleteFrom('root_key').where('id', '=', id).returning('id').executeTakeFirst()
      if (row === undefined) refuse('not_found', `No root key "${id.slice(0, 64)}".`)
    })
    if (keyring.changeable) keyring.remove(id)
  })
}

/** One instance at a time changes the keyring file. An embedded store has one process; elsewhere the database is the arbiter. */
async function aloneWithKeyring(db: Db, work: () => Promise<void>): Promise<void> {
  if (db.engine === 'sqlite') return work()
  await db.read.transaction().execute(async (tx) => {
    await sql`select pg_advisory_xact_lock(${KEYRING_LOCK}::bigint)`.execute(tx)
    await work()
  })
}
