/** What happens to processes next. docs/functions.md: Processes. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type Action,
  type Demand,
  isBackedOff,
  type ProcessFacts,
  type ProcessLimits,
  planProcesses,
  recentFailures,
} from '../../../src/sites/functions/plan.ts'
import { nextState, type ProcessState, TRANSITIONS } from '../../../src/sites/functions/process-states.ts'

const LIMITS: ProcessLimits = {
  ...{ processes: 3, ofAccount: 2 },
  ...{ startMs: 100, idleMs: 1000, pendingMs: 500, drainMs: 50 },
}
const NOW = 100_000

function one(id: number, given: Partial<ProcessFacts> = {}): ProcessFacts {
  const base = { id, key: `f${id}`, account: 'a', state: 'ready' as ProcessState, since: NOW, usedAt: NOW }
  return { ...base, inFlight: 0, pending: 0, ...given }
}

function wants(key: string, given: Partial<Demand> = {}): Demand {
  return { key, account: 'a', waiting: 1, failures: [], ...given }
}

/** TABLE processes, demands → actions. */
const CASES: readonly [name: string, ProcessFacts[], Demand[], Action[]][] = [
  ['nothing is wanted', [], [wants('f', { waiting: 0 })], []],
  ['a request waits', [], [wants('f')], [{ do: 'start', key: 'f' }]],
  ['one that is ready is used', [one(1, { key: 'f' })], [wants('f')], []],
  [
    'one that ended has no place',
    [one(1, { state: 'ended' }), one(2, { state: 'ended' })],
    [wants('f')],
    [{ do: 'start', key: 'f' }],
  ],
  ['one that starts is waited for', [one(1, { key: 'f', state: 'starting' })], [wants('f')], []],
  [
    'one that drains does not count',
    [one(1, { key: 'f', state: 'draining' })],
    [wants('f')],
    [{ do: 'start', key: 'f' }],
  ],
  ['a start takes too long', [one(1, { state: 'starting', since: NOW - 100 })], [], [{ do: 'kill', id: 1 }]],
  ['an idle one is drained', [one(1, { usedAt: NOW - 1000 })], [], [{ do: 'drain', id: 1 }]],
  ['one with a request is not', [one(1, { usedAt: NOW - 1000, inFlight: 1 })], [], []],
  ['waitUntil keeps it', [one(1, { usedAt: NOW - 499, pending: 1 })], [], []],
  ['not for ever', [one(1, { usedAt: NOW - 1000, pending: 1 })], [], [{ do: 'drain', id: 1 }]],
  [
    'a drained one is killed',
    [one(1, { state: 'draining', since: NOW - 50, usedAt: NOW - 50 })],
    [],
    [{ do: 'kill', id: 1 }],
  ],
  ['after its last request', [one(1, { state: 'draining', since: NOW - 900, usedAt: NOW - 900, inFlight: 1 })], [], []],
  [
    'a full server drains the account with the most, and of it the one that was used longest ago',
    [one(1, { usedAt: NOW - 1 }), one(2, { usedAt: NOW - 2 }), one(3, { account: 'b', usedAt: NOW - 9 })],
    [wants('f', { account: 'c' })],
    [{ do: 'drain', id: 2 }],
  ],
  [
    'an account with its share drains its own, also where another has as many that were used longer ago',
    [one(1), one(2, { usedAt: NOW - 1, account: 'b' }), one(3), one(4, { usedAt: NOW - 2, account: 'b' })],
    [wants('f')],
    [{ do: 'drain', id: 1 }],
  ],
  [
    'a place of another account does not help it',
    [one(1), one(2), one(3, { account: 'b', state: 'draining' })],
    [wants('f')],
    [{ do: 'drain', id: 1 }],
  ],
  [
    'a full server waits for a place of any account',
    [one(1, { account: 'b' }), one(2, { account: 'b', state: 'draining' }), one(3, { account: 'c' })],
    [wants('f')],
    [],
  ],
  [
    'one that starts is not drained',
    [one(1, { state: 'starting', usedAt: NOW - 9 }), one(2)],
    [wants('f')],
    [{ do: 'drain', id: 2 }],
  ],
  [
    'the place of what is drained or killed now is waited for',
    [
      one(1, { usedAt: NOW - 1000 }),
      one(2),
      one(3, { account: 'b', state: 'starting', since: NOW - 100 }),
      one(4, { account: 'b' }),
    ],
    [wants('f'), wants('g', { account: 'b' })],
    [
      { do: 'drain', id: 1 },
      { do: 'kill', id: 3 },
    ],
  ],
  [
    'two requests wait for one place',
    [one(1), one(2, { account: 'b' }), one(3, { account: 'b' })],
    [wants('f', { account: 'c' }), wants('g', { account: 'd' })],
    [{ do: 'drain', id: 2 }],
  ],
  [
    'two starts of an account fill its share',
    [one(1)],
    [wants('f'), wants('g')],
    [
      { do: 'start', key: 'f' },
      { do: 'drain', id: 1 },
    ],
  ],
  ['a place that is about to be free is waited for', [one(1), one(2, { state: 'draining' })], [wants('f')], []],
  [
    'a place whose process drains with requests or waitUntil is not waited for',
    [
      ...[one(1, { state: 'draining', inFlight: 1 }), one(2, { state: 'draining', pending: 1, usedAt: NOW - 499 })],
      one(3, { account: 'b' }),
    ],
    [wants('f', { account: 'c' })],
    [{ do: 'drain', id: 3 }],
  ],
  [
    'also for an account with its share',
    [one(1, { state: 'draining', inFlight: 1 }), one(2)],
    [wants('f')],
    [{ do: 'drain', id: 2 }],
  ],
  [
    'where waitUntil took too long it is',
    [one(1, { state: 'draining', pending: 1, usedAt: NOW - 500, since: NOW }), one(2)],
    [wants('f')],
    [],
  ],
  ['busy ones stay', [one(1, { inFlight: 1 }), one(2, { pending: 1 })], [wants('f')], []],
  [
    'two starts do not take one place',
    [one(1), one(2, { account: 'b' })],
    [wants('f', { account: 'c' }), wants('g', { account: 'd' })],
    [
      { do: 'start', key: 'f' },
      { do: 'drain', id: 1 },
    ],
  ],
  ['what keeps ending badly waits', [], [wants('f', { failures: [0, 1, 2, 3, 4].map((at) => NOW - 10 + at) })], []],
]

for (const [name, processes, demands, actions] of CASES)
  test(`plan: ${name}`, () => assert.deepEqual(planProcesses(processes, demands, LIMITS, NOW), actions))

test('an account with its share of places drains its own, and the others keep theirs', () => {
  const own = [one(1, { usedAt: NOW - 1 }), one(2, { usedAt: NOW - 2 })]
  const others = [one(3, { account: 'b', usedAt: NOW - 900 })]
  const places = { ...LIMITS, processes: 4 }
  assert.deepEqual(planProcesses([...own, ...others], [wants('f')], places, NOW), [{ do: 'drain', id: 2 }])
  assert.deepEqual(planProcesses([...own, ...others], [wants('f', { account: 'c' })], places, NOW), [
    { do: 'start', key: 'f' },
  ])
})

test('a function is started again half a minute after its fifth bad end within a minute', () => {
  const failures = [0, 1000, 2000, 3000, 4000]
  assert.equal(isBackedOff(failures, 4001), true)
  assert.equal(isBackedOff(failures, 33_999), true)
  assert.equal(isBackedOff(failures, 34_000), false)
  assert.equal(isBackedOff([], 0), false)
  assert.equal(isBackedOff(failures.slice(1), 4001), false)
  assert.equal(isBackedOff([0, 1000, 2000, 3000, 60_000], 60_001), false)
  assert.deepEqual(recentFailures(failures, 92_000), [3000, 4000])
  assert.deepEqual(recentFailures([-1000, ...failures], 4001), failures)
})

test('an ended process stays ended, and every other state ends', () => {
  assert.deepEqual(TRANSITIONS.ended, {})
  for (const state of ['starting', 'ready', 'draining'] as const) assert.equal(nextState(state, 'exit'), 'ended')
  assert.equal(nextState('draining', 'ready'), 'draining')
})
