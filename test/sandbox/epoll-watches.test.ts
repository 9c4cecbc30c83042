/** What a user may watch with epoll. docs/sandbox.md: Limits. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sharedWatches } from '../../src/sandbox/limits/epoll-watches.ts'

const GIB = 1024 ** 3

test('fewer epoll watches than the memory holds are reported with the number that is enough', () => {
  assert.match(
    sharedWatches(1_800_000, 8 * GIB)!,
    /^one sandbox can use up the 1800000 epoll watches .*fs\.epoll\.max_user_watches=67108864 /,
  )
  assert.equal(sharedWatches(67_108_864, 8 * GIB), undefined)
})
