/** Counts of answers by deployment and hour, within bounds. docs/deploying-sites.md: Usage. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HOUR_MS } from '../../../src/delivery/protocol/usage-report.ts'
import { createCounts } from '../../../src/sites/usage/counts.ts'

const NOON = 400_000 * HOUR_MS

test('answers are counted by class of status, with their bytes; one that never began has no status', () => {
  const counts = createCounts(10, () => NOON + 5)
  for (const status of [200, 206, 301, 304, 404, 401, 503, undefined]) counts.add('d1', { status, bytes: 10 })
  const statuses = { '2xx': 2, '3xx': 2, '4xx': 2, '5xx': 1 }
  assert.deepEqual(counts.take(10), [{ deploymentId: 'd1', hour: NOON, requests: 8, statuses, bytes: 80 }])
  assert.deepEqual(counts.take(10), [])
})

test('each answer belongs to the hour in which it ended, also where the clock is set back, and the oldest hour is taken first', () => {
  let now = NOON + HOUR_MS
  const counts = createCounts(10, () => now)
  const add = () => counts.add('d1', { status: 200, bytes: 1 })
  add()
  now = NOON + HOUR_MS - 1
  add()
  now = NOON + 2 * HOUR_MS - 1
  add()
  now = NOON + 2 * HOUR_MS
  add()
  const taken = (most: number) => counts.take(most).map(({ hour, requests }) => [(hour - NOON) / HOUR_MS, requests])
  assert.deepEqual(taken(1), [[0, 1]])
  add()
  assert.deepEqual(taken(10), [
    [1, 2],
    [2, 2],
  ])
  add()
  assert.deepEqual(taken(10), [[2, 1]])
})

test('so many deployments are kept; those that are there are counted on, and what was taken makes room', () => {
  const counts = createCounts(3, () => NOON)
  const add = (id: string) => counts.add(id, { status: 200, bytes: 1 })
  assert.deepEqual(['a', 'b', 'c', 'd', 'a'].map(add), [true, true, true, false, true])
  assert.equal(counts.size(), 3)
  assert.deepEqual(
    counts.take(2).map(({ deploymentId, requests }) => [deploymentId, requests]),
    [
      ['a', 2],
      ['b', 1],
    ],
  )
  assert.deepEqual(['c', 'd', 'e', 'f'].map(add), [true, true, true, false])
})
