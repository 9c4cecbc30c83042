/** Subscriptions to changes when the store does not respond. docs/console.md: Live updates. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Queries } from '../../../src/platform/db/db.ts'
import { readLiveAccess } from '../../../src/platform/live/access.ts'
import type { LivePage } from '../../../src/platform/live/live-page.ts'
import { Refusal } from '../../../src/platform/refusals/refusal.ts'

const PAGE = { sessionHash: 'hash', accountId: 'team_1', userId: 'user_1', projectId: undefined } as unknown as LivePage

test('a page loses its right by a refusal alone: where the store fails, it waits', async () => {
  const failing = (error: Error) => {
    const fail = () => {
      throw error
    }
    return new Proxy({}, { get: fail }) as unknown as Queries
  }
  const rights = (error: Error) => readLiveAccess(failing(error), [PAGE], 0)
  assert.deepEqual(await rights(new Refusal('invalid_token', 'no', {})), [undefined])
  for (const error of [new Refusal('busy', 'busy', {}), new TypeError('a bug')])
    await assert.rejects(rights(error), error)
})
