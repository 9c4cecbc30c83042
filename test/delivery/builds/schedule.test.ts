/** The choice of the next build. docs/building.md: Queue. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Head, orderHeads } from '../../../src/delivery/builds/schedule.ts'

const LIMITS = { perAccount: 2 }
const IDLE = { running: 0, lastStartedAt: 0 }

/** `a1`: the first build of the account `a` that waits, `!` of production. The owner is the letter, unless `owners` says another. */
function headsOf(text: string, loads: Record<string, Partial<Pick<Head, 'account' | 'owner'>>> = {}): Head[] {
  return text.split(' ').map((name, at) => ({
    deploymentId: name,
    accountId: name[0]!,
    isProduction: name.includes('!'),
    queuedAt: at,
    account: IDLE,
    owner: IDLE,
    ...loads[name[0]!],
  }))
}

const orderOf = (heads: Head[]) =>
  orderHeads(heads, LIMITS)
    .map(({ deploymentId }) => deploymentId)
    .join(' ')

test('the owner with the fewest running builds is next, and of those the one that waits longest for its turn', () => {
  const loads = {
    a: { owner: { running: 1, lastStartedAt: 1 } },
    b: { owner: { running: 0, lastStartedAt: 9 } },
    c: { owner: { running: 0, lastStartedAt: 5 } },
  }
  assert.equal(orderOf(headsOf('a1! b1 c1', loads)), 'c1 b1 a1!')
})

test('within an owner the same holds for accounts, then production comes first, then the oldest', () => {
  const owner = { running: 3, lastStartedAt: 7 }
  const loads = {
    a: { owner, account: { running: 1, lastStartedAt: 1 } },
    b: { owner, account: { running: 0, lastStartedAt: 2 } },
    c: { owner },
    d: { owner },
    e: { owner },
  }
  assert.equal(orderOf(headsOf('a1 b1 c1 d1! e1', loads)), 'd1! c1 e1 b1 a1')
})

test('an account at its number of running builds has no turn', () => {
  const loads = { a: { account: { running: 2, lastStartedAt: 0 } } }
  assert.equal(orderOf(headsOf('a1 b1', loads)), 'b1')
  assert.equal(orderOf(headsOf('a1', loads)), '')
})
