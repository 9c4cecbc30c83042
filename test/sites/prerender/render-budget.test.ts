/** Bytes in memory that accounts share. docs/prerendering.md: Rendering. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRenderBudget } from '../../../src/sites/prerender/render-budget.ts'

const MIB = 1024 ** 2

test('accounts that take all that they may leave room for others', () => {
  const budget = createRenderBudget(128 * MIB, 32 * MIB)
  const most = (account: string) => {
    let taken = 0
    while (taken < 200 && budget.take(account, MIB)) taken++
    return taken
  }
  assert.deepEqual(['a', 'b', 'c', 'd', 'e'].map(most), [32, 32, 32, 16, 8])
  assert.ok(budget.take('f', MIB))
  budget.giveBack('a', 32 * MIB)
  assert.equal(most('g'), 19)
})

test('an account that refunds a part may take that part again, and one that has nothing refunds nothing', () => {
  const budget = createRenderBudget(128 * MIB, 32 * MIB)
  assert.ok(budget.take('a', 32 * MIB))
  budget.giveBack('a', 10 * MIB)
  budget.giveBack('b', 0)
  const taken = [budget.take('a', 10 * MIB + 1), budget.take('a', 10 * MIB), budget.take('a', 1)]
  assert.deepEqual(taken, [false, true, false])
  assert.ok(budget.take('b', 32 * MIB))
})
