/** Changes of a transaction of the embedded store, as caches are notified of them. docs/architecture.md: Caching. */
import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { startChangeCapture } from '../../../src/platform/db/sqlite/change-triggers.ts'

const MOST = 5000

test('up to 5,000 subjects of a group of writes are noted one by one, and of more that anything may have changed [sqlite]', () => {
  const database = new DatabaseSync(process.env.BERTH_TEST_SQLITE!, { readOnly: true })
  const take = startChangeCapture(database)
  const note = (count: number) =>
    database.exec(`with recursive n(i) as (select 1 union all select i + 1 from n where i < ${count})
      select berth_note('account', 'acc_' || i) from n`)
  try {
    for (const [count, noted] of [
      [MOST, MOST],
      [MOST + 1, 'all'],
      [2, 2],
      [3 * MOST, 'all'],
      [0, 0],
    ] as const) {
      if (count > 0) note(count)
      const taken = take()
      assert.deepEqual(taken === 'all' ? 'all' : taken.length, noted, `${count} subjects`)
    }
  } finally {
    database.close()
  }
})
