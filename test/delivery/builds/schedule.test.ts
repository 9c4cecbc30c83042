/** The choice of the next build. docs/building.md: Queue. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type AccountLoad, chooseBuild, type WaitingBuild } from '../../../src/delivery/builds/schedule.ts'

const LIMITS = { perAccount: 2 }

function waiting(text: string): WaitingBuild[] {
  return text.split(' ').map((name, at) => ({
    deploymentId: name,
    accountId: name[0]!,
    isProduction: name.includes('!'),
    queuedAt: at,
  }))
}

/** Runs builds one after the other, each to its end before the next starts. */
function orderOf(builds: WaitingBuild[]): string {
  const loads = new Map<string, AccountLoad>()
  const order: string[] = []
  let left = builds
  for (let now = 1; left.length > 0; now++) {
    const next = chooseBuild(left, loads, LIMITS)!
    order.push(next.deploymentId)
    loads.set(next.accountId, { running: 0, lastStartedAt: now })
    left = left.filter((one) => one !== next)
  }
  return order.join(' ')
}

test('accounts take turns, however many builds one of them has', () => {
  assert.equal(orderOf(waiting('a1 a2 a3 a4 b1 b2 c1')), 'a1 b1 c1 a2 b2 a3 a4')
})

test('production comes first within an account, and before no other account', () => {
  assert.equal(orderOf(waiting('a1 a2 a3! b1')), 'a3! b1 a1 a2')
})

test('an account has at most its number of running builds, and fewer come first', () => {
  const loads = new Map([
    ['a', { running: 2, lastStartedAt: 1 }],
    ['b', { running: 1, lastStartedAt: 9 }],
  ])
  assert.equal(chooseBuild(waiting('a1 b1'), loads, LIMITS)?.deploymentId, 'b1')
  assert.equal(chooseBuild(waiting('a1 a2'), loads, LIMITS), undefined)
  assert.equal(chooseBuild(waiting('a1 b1 c1'), loads, LIMITS)?.deploymentId, 'c1')
  assert.equal(chooseBuild([], loads, LIMITS), undefined)
})
