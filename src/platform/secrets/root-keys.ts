/**
 * Root keys known to the database, and which one is active. The database has only a check value per key; the keys are only in the keyring.
 * docs/spec/decisions.md: At rest.
 */
import { sql } from 'kysely'
import type { Config } from '../../config.ts'
import type { Clock } from '../base/clock.ts'
import type { Db, Queries } from '../db/db.ts'
import type { Row } from '../db/schema.ts'
import { type Keyring, openKeyring } from './keyring.ts'
import { associatedData, open, seal } from './seal.ts'

const CHECK = Buffer.from('berth root key')

/**
 * Opens the keyring, checks it against the database and registers new keys. Throws when a known key is missing or differs: a service that cannot
 * decrypt its values must not start.
 */
export async function loadKeyring(config: Config, db: Db, clock: Clock): Promise<Keyring> {
  const rows = await db.read.selectFrom('root_key').selectAll().execute()
  const keyring = openKeyring(config.keys, () => rows.length === 0)
  mustFit(keyring, rows)
  const used = new Map(rows.map((row) => [row.id, row.activated_stamp]))
  const ids = keyring.ids()
  if (ids.every((id) => used.has(id)) && used.get(ids[0]!) !== null) return keyring
  await db.write(async (tx) => {
    mustFit(keyring, await tx.selectFrom('root_key').selectAll().execute())
    await registerRootKeys(tx, keyring, clock)
  })
  return keyring
}

/** Registers the keys of the ring. The first one becomes active if no key ever was. */
export async function registerRootKeys(tx: Queries, keyring: Keyring, clock: Clock): Promise<void> {
  const activated = await activatedNow(tx, clock)
  for (const [at, id] of keyring.ids().entries()) {
    const sealed_check = seal(keyring.find(id)!, CHECK, checkPlace(id))
    await tx
      .insertInto('root_key')
      .values({ id, sealed_check, activated_stamp: at === 0 ? activated : null })
      .onConflict((conflict) => conflict.column('id').doNothing())
      .execute()
    if (at > 0) continue
    await tx
      .updateTable('root_key')
      .set({ activated_stamp: activated })
      .where('id', '=', id)
      .where('activated_stamp', 'is', null)
      .execute()
  }
}

/** Later than every activation, also where another instance had a clock that was ahead: the last one activated is the active one. */
async function activatedNow(tx: Queries, clock: Clock): Promise<number> {
  const rows = await tx.selectFrom('root_key').select('activated_stamp').execute()
  return Math.max(clock.stamp(), ...rows.map(({ activated_stamp }) => Number(activated_stamp ?? 0) + 1))
}

function mustFit(keyring: Keyring, rows: Row<'root_key'>[]): void {
  for (const row of rows) {
    const fits = matchesStoredKey(keyring, row)
    if (fits === undefined) {
      throw new Error(
        `the keyring ${keyring.place} lacks the key ${row.id}, which this store needs. Put the key back from your ` +
          'backup of the keyring; without it the values that it protects cannot be read by anyone.',
      )
    }
    if (!fits) {
      throw new Error(
        `the key ${row.id} in the keyring ${keyring.place} is not the one this store was written with. Is it the keyring ` +
          'of another installation? Put the right one back from your backup.',
      )
    }
  }
}

/** Returns whether the ring has the same key for an id; undefined when it has none. */
export function matchesStoredKey(keyring: Keyring, { id, sealed_check }: Row<'root_key'>): boolean | undefined {
  const key = keyring.find(id)
  return key && open(key, sealed_check, checkPlace(id)) !== undefined
}

function checkPlace(id: string): Buffer {
  return associatedData('check', id)
}

/** Returns the id of the key that wraps new data keys. */
export async function activeKeyId(db: Queries): Promise<string> {
  const { id } = await db
    .selectFrom('root_key')
    .select('id')
    .where('activated_stamp', 'is not', null)
    .orderBy('activated_stamp', 'desc')
    .limit(sql.lit(1))
    .executeTakeFirstOrThrow()
  return id
}
