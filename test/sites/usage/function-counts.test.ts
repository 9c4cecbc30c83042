/** Invocations of functions by hour, within bounds. docs/deploying-sites.md: Usage. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HOUR_MS } from '../../../src/delivery/protocol/usage-report.ts'
import { createFunctionCounts } from '../../../src/sites/usage/function-counts.ts'

const NOON = 400_000 * HOUR_MS

test('invocations of a function are counted by hour, with their errors and milliseconds', () => {
  let now = NOON + 1
  const counts = createFunctionCounts(10, () => now)
  const add = (name: string, ms: number, isError = false) => counts.add({ deploymentId: 'd1', name, ms, isError })
  add('a', 1.4)
  add('a', 2.6, true)
  add('b', 10)
  now = NOON + HOUR_MS
  add('a', 5)
  const line = { deploymentId: 'd1', name: 'a', hour: NOON }
  assert.deepEqual(counts.take(2), [
    { ...line, invocations: 2, errors: 1, ms: 4 },
    { ...line, name: 'b', invocations: 1, errors: 0, ms: 10 },
  ])
  assert.deepEqual(counts.take(2), [{ ...line, hour: NOON + HOUR_MS, invocations: 1, errors: 0, ms: 5 }])
  assert.deepEqual(counts.take(2), [])
})

test('a deployment has a hundred names in an hour, also after they were taken, and others are counted together', () => {
  let now = NOON
  const counts = createFunctionCounts(1000, () => now)
  const addAll = () => {
    for (let at = 0; at < 103; at++) counts.add({ deploymentId: 'd1', name: `f${at}`, ms: 1, isError: false })
  }
  const last = () =>
    counts
      .take(1000)
      .map(({ name, invocations }) => `${name} ${invocations}`)
      .slice(99)
  addAll()
  counts.add({ deploymentId: 'd2', name: 'f200', ms: 1, isError: false })
  assert.deepEqual(last(), ['f99 1', ' 3', 'f200 1'])
  addAll()
  assert.deepEqual(last(), ['f99 1', ' 3'])
  now += HOUR_MS
  counts.add({ deploymentId: 'd1', name: 'f102', ms: 1, isError: false })
  assert.equal(counts.take(1)[0]!.name, 'f102', 'another hour')
})

test('so many lines are kept; those that are there are counted on, and what was taken makes room', () => {
  const counts = createFunctionCounts(2, () => NOON)
  const add = (name: string) => counts.add({ deploymentId: 'd1', name, ms: 1, isError: false })
  for (const name of ['a', 'b', 'c', 'a']) add(name)
  const taken = (max: number) => counts.take(max).map(({ name, invocations }) => [name, invocations])
  assert.deepEqual(taken(1), [['a', 2]])
  add('c')
  assert.deepEqual(taken(9), [
    ['b', 1],
    ['c', 1],
  ])
})
