/** Storage used by an account: one row, updated in the transaction that adds or removes a file. docs/limits.md: Uploads. */
import { sql } from 'kysely'
import type { Deps } from '../../context.ts'
import type { Queries } from '../../platform/db/db.ts'
import { refuse } from '../../platform/refusals/refusal.ts'

const BLOCK = 4096
const UNITS = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB']

/** Returns the storage that a file counts: whole blocks, and at least one. So the budget also bounds the number of files. */
export function roomFor(size: number): number {
  return Math.max(1, Math.ceil(size / BLOCK)) * BLOCK
}

/** Returns how many bytes the account may still add. */
export async function roomLeft({ db, deps }: { db: Queries; deps: Pick<Deps, 'config'> }, accountId: string) {
  return Math.max(0, deps.config.files.perAccount - (await usedRoom(db, accountId)))
}

/** Returns the storage that the files of an account take. */
export async function usedRoom(db: Queries, accountId: string): Promise<number> {
  const row = await db.selectFrom('file_usage').select('bytes').where('account_id', '=', accountId).executeTakeFirst()
  return row?.bytes ?? 0
}

/** Counts added files in the same transaction. Refuses: budget_used_up 409. */
export async function addRoom(
  { db, deps }: { db: Queries; deps: Pick<Deps, 'config'> },
  accountId: string,
  bytes: number,
): Promise<void> {
  if ((await countRoom(db, accountId, bytes)) > deps.config.files.perAccount) refuseFull(deps)
}

/** Counts existing bytes regardless of the budget, and returns the new total of the account. */
export async function countRoom(db: Queries, accountId: string, bytes: number): Promise<number> {
  const row = await db
    .insertInto('file_usage')
    .values({ account_id: accountId, bytes })
    .onConflict((conflict) =>
      conflict.column('account_id').doUpdateSet({ bytes: sql<number>`file_usage.bytes + excluded.bytes` }),
    )
    .returning('bytes')
    .executeTakeFirstOrThrow()
  return row.bytes
}

/** Throws the refusal with what to remove. Refuses: budget_used_up 409. */
export function refuseFull({ config }: Pick<Deps, 'config'>, what = 'this file'): never {
  refuse(
    'budget_used_up',
    `The account has no room for ${what}: its files may take ${describeSize(config.files.perAccount)} together. Remove deployments first; files that no deployment uses are removed automatically within 9 days (docs/limits.md).`,
    { name: 'files' },
  )
}

/** Formats a size in the largest unit that gives a whole number. */
export function describeSize(bytes: number): string {
  let [count, unit] = [bytes, 0]
  while (count % 1024 === 0 && count > 0 && unit < UNITS.length - 1) {
    count /= 1024
    unit++
  }
  return `${count.toLocaleString('en')} ${UNITS[unit]}`
}
