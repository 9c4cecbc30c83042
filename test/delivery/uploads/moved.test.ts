/** Files in a store that was moved to PostgreSQL: the next one has a number of its own. docs/backup.md: From SQLite to PostgreSQL. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { copyRows } from '../../../src/operations/backup/copy.ts'
import { ENGINES, openWorld } from '../../support/world.ts'
import { thereIs, upload } from './uploading.ts'

for (const engine of ENGINES)
  test(`files that are uploaded after a restore are numbered behind those of the backup [${engine}]`, async (t) => {
    const from = await openWorld('sqlite')
    t.after(() => from.close())
    for (const text of ['one', 'two', 'three']) await upload(from.call, text)
    const to = await openWorld(engine)
    t.after(() => to.close())
    await to.deps.db.write((tx) => copyRows(from.deps.db.read, tx, () => {}))
    assert.equal((await upload(to.as(from.credentials.token), 'four')).status, 200)
    const { blobs, used } = await thereIs(to)
    assert.deepEqual(
      blobs.map(({ id }) => id),
      [1, 2, 3, 4],
    )
    assert.deepEqual(used, [4 * 4096])
  })
