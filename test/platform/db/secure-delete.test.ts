/** What was deleted is overwritten in the file of the store: a thief of the disk finds little of it. docs/spec/reliability.md T13. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { openSqlite } from '../../../src/platform/db/sqlite/open.ts'
import { storesFolder } from '../../support/postgres.ts'

test('the bytes of deleted rows are overwritten in the file once the log is folded into it [sqlite]', async (t) => {
  const folder = mkdtempSync(join(storesFolder(), 'berth-deleted-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'berth.db')
  const db = await openSqlite({ file, onDiskError: assert.ifError })
  t.after(() => db.close())
  // In the order of their names, so that SQLite moves none to another page: it overwrites what is deleted, and not what it left when it moved a row.
  const names = Array.from(
    { length: 200 },
    (_, at) => `${String(at).padStart(3, '0')}${randomBytes(22).toString('hex')}`,
  )
  /** Which of the values a copy of the file, and of the log next to it, has. */
  const found = () => {
    db.refreshSnapshot()
    const other = new DatabaseSync(file)
    other.exec('PRAGMA wal_checkpoint(TRUNCATE)')
    other.close()
    const log = existsSync(`${file}-wal`) ? readFileSync(`${file}-wal`) : Buffer.alloc(0)
    const bytes = Buffer.concat([readFileSync(file), log])
    return names.map((name) => bytes.includes(`${name}-value`))
  }
  const rows = names.map((name) => ({ name, value: `${name}-value` }))
  await db.write((tx) => tx.insertInto('fact').values(rows).execute())
  assert.deepEqual(new Set(found()), new Set([true]))
  const gone = names.filter((_, at) => at % 2 === 0)
  await db.write((tx) => tx.deleteFrom('fact').where('name', 'in', gone).execute())
  assert.deepEqual(
    found(),
    names.map((_, at) => at % 2 === 1),
  )
  await db.write((tx) => tx.deleteFrom('fact').execute())
  assert.deepEqual(new Set(found()), new Set([false]))
})
