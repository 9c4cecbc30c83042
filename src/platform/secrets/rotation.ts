import { sql } from 'kysely'
import type { Deps, Input, OperatorCtx } from '../../context.ts'
import type { Db, Queries } from '../db/db.ts'
import type { Row } from '../db/schema.ts'
import { refuse } from '../refusals/refusal.ts'
import { rewrap } from './data-keys.ts'
import { activeKeyId, registerRootKeys } from './root-keys.ts'

/** Data keys per rewrap transaction. */
export const REWRAP_SLICE = 100
/** An advisory lock for changes of the keyring file. The number is arbitrary. */
const KEYRING_LOCK = 4_137_250_131

/**
 * Starts a rotation: a new root key, on disk before the database knows it, becomes active. An interrupted rotation is resumed instead. Refuses:
 * keyring_fixed 409.
 */
export async function beginRotation({ db, clock, keyring }: Deps): Promise<void> {
  if (!keyring.changeable) {
    refuse(
      'keyring_fixed',
      'BERTH_KEYS holds the keyring itself, which Berth cannot change. Put a new key in front of the others and restart: ' +
        'the project keys are then rewrapped automatically.',
    )
  }
  await aloneWithKeyring(db, async () => {
    if ((await staleKeys(db.read, await activeKeyId(db.read), 1)).length > 0) return
    keyring.add()
    await db.write((tx) => registerRootKeys(tx, keyring, clock))
  })
}

/** Sweep: rewraps a slice of data keys with the active root key. Returns how many. */
export async function rewrapProjectKeys(ctx: OperatorCtx, limit: number): Promise<number> {
  const active = await activeKeyId(ctx.db)
  let total = 0
  for (const row of await staleKeys(ctx.db, active, limit)) if (await rewrap(ctx, row, active)) total++
  return total
}

/** Queries by the other root keys, which are few: `!=` would read every data key. */
async function staleKeys(db: Queries, active: string, limit: number): Promise<Row<'project_key'>[]> {
  const others = await db.selectFrom('root_key').select('id').where('id', '!=', active).execute()
  if (others.length === 0) return []
  const ids = others.map(({ id }) => id)
  return db.selectFrom('project_key').selectAll().where('root_key_id', 'in', ids).limit(limit).execute()
}

/** Lists the root keys and the number of data keys that each wraps. */
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
 * Retires an unused root key: deletes it from the database, then from the file. If interrupted, the next start registers it again, and it can be
 * retired again. The operator removes it from a keyring in the settings. Refuses: not_found 404, key_in_use 409.
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

/** Only one instance at a time changes the keyring file. On PostgreSQL the database has the lock. */
async function aloneWithKeyring(db: Db, work: () => Promise<void>): Promise<void> {
  if (db.engine === 'sqlite') return work()
  await db.read.transaction().execute(async (tx) => {
    await sql`select pg_advisory_xact_lock(${KEYRING_LOCK}::bigint)`.execute(tx)
    await work()
  })
}
