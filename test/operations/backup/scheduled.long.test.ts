/** A scheduled backup whose service is killed in the middle. docs/backup.md: Scheduled backups. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { credentialsOf, newHome, processOnBothEngines, startService } from '../../support/process.ts'
import { bucketSettings, strictServer } from '../../support/servers/bucket-server.ts'

const MINUTE_MS = 60_000

processOnBothEngines(
  'a service that is killed during an upload leaves no backup, and the next one creates it',
  async (t, engine) => {
    const server = await strictServer(t)
    const home = await newHome(t, engine)
    const settings = {
      ...bucketSettings(server.endpoint),
      BERTH_BACKUP_SCHEDULE: '0 3 * * *',
      BERTH_TEST_CLOCK: '1',
      BERTH_TIMERS: 'off',
    }
    const running = await startService(t, home, settings)
    const { operatorToken } = credentialsOf(home)
    const run = async (address: string, now: number) => {
      const answer = await fetch(`${address}/operator/v1/timers/scheduled-backups/run`, {
        method: 'POST',
        headers: { authorization: `Bearer ${operatorToken}`, 'content-type': 'application/json' },
        body: JSON.stringify({ now }),
      })
      return ((await answer.json()) as { swept: number }).swept
    }
    const began = Date.parse('2026-12-01T03:00Z')
    const arrived = new Promise<void>((resolve) => {
      server.fault = ({ method, key }) => {
        if (method !== 'PUT' || !key.endsWith('.db')) return false
        resolve()
        // It is never answered.
        return true
      }
    })
    const cut = run(running.address, began).catch(() => 'cut')
    await arrived
    const closed = once(running.child, 'close')
    running.child.kill('SIGKILL')
    await closed
    assert.equal(await cut, 'cut')
    assert.equal(server.objects.size, 0)
    server.fault = () => false
    const again = await startService(t, home, settings)
    assert.equal(await run(again.address, began + MINUTE_MS), 0, 'the dead one still holds it')
    assert.equal(await run(again.address, began + 3 * MINUTE_MS), 1)
    assert.equal(server.objects.size, 2)
    assert.deepEqual(
      readdirSync(home.folder).filter((name) => /on-its-way/.test(name)),
      [],
    )
  },
)
