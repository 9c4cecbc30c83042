/** A scheduled backup whose process dies is tried three times, and not without end. docs/backup.md: Scheduled backups. */
import assert from 'node:assert/strict'
import { acquireRun, finishRun } from '../../../src/operations/backup/runs.ts'
import { onBothEngines } from '../../support/world.ts'

const HELD_MS = 2 * 60_000

onBothEngines(
  'a backup that ends its process each time is given up after three tries, and reported',
  async (world) => {
    const { db } = world.deps
    const due = Date.parse('2026-12-01T03:00Z')
    let now = due
    for (let tries = 1; tries <= 3; tries++) {
      assert.deepEqual(await acquireRun(db, due, now), { dueAt: due, tries })
      assert.equal(await acquireRun(db, due, now + HELD_MS - 1), undefined)
      now += HELD_MS
    }
    for (let look = 0; look < 3; look++) assert.equal(await acquireRun(db, due, now + look * HELD_MS), undefined)
    const { scheduled } = (await world.operator('GET', '/operator/v1/backups/known')).body
    assert.match(String(scheduled.fault), /The process ended/)
    // The last try was only stopped for long, and made it.
    await finishRun(db, { dueAt: due, tries: 3 }, now, { isMade: true, fault: null })
    assert.equal((await world.operator('GET', '/operator/v1/backups/known')).body.scheduled.fault, null)
    assert.deepEqual(await acquireRun(db, due + 86_400_000, now), { dueAt: due + 86_400_000, tries: 1 })
  },
  { BERTH_BACKUP_SCHEDULE: '0 3 * * *' },
)
