/** Which files make room for another. docs/deploying-sites.md: File cache. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { planEviction } from '../../../src/sites/content/eviction.ts'

/** Entries as letters, the one that was used longest ago first: `A3` has 3 bytes, `B2*` is open. */
function entriesOf(line: string) {
  return line.split(' ').flatMap((text) => {
    const [, name, bytes, open] = /^(\w)(\d+)(\*?)$/.exec(text) ?? []
    return name === undefined ? [] : { name, bytes: Number(bytes), uses: open === '*' ? 1 : 0 }
  })
}

function planned(line: string, incoming: number, budget: number, files = 100): string {
  const entries = entriesOf(line)
  const used = { bytes: entries.reduce((sum, { bytes }) => sum + bytes, 0), files: entries.length }
  const plan = planEviction(entries, {
    used,
    incoming: { bytes: incoming, files: incoming > 0 ? 1 : 0 },
    budget: { bytes: budget, files },
  })
  return plan.outcome === 'granted' ? plan.evict.map(({ name }) => name).join('') : plan.outcome
}

/** TABLE entries, bytes of what comes, bytes and files of the budget, and what is evicted. */
const PLANS: readonly (readonly [
  entries: string,
  incoming: number,
  budget: number,
  expected: string,
  files?: number,
])[] = [
  ['', 5, 10, ''],
  ['', 10, 10, ''],
  ['', 11, 10, 'never_fits'],
  ['A5', 5, 10, ''],
  ['A5', 6, 10, 'A'],
  ['A5 B5', 1, 10, 'A'],
  ['A1 B5 C4', 6, 10, 'AB'],
  ['A5 B5', 10, 10, 'AB'],
  ['A5 B5', 11, 10, 'never_fits'],
  // What is open stays, whenever it was used.
  ['A5* B5', 5, 10, 'B'],
  ['A5* B2 C3*', 2, 10, 'B'],
  ['A5* B2 C3*', 3, 10, 'full'],
  ['A5* B5*', 1, 10, 'full'],
  // A budget that became smaller.
  ['A5 B5', 0, 10, ''],
  ['A5 B5', 0, 9, 'A'],
  ['A5 B5', 0, 4, 'AB'],
  // A number of files is a budget too.
  ['A1 B1 C1', 1, 100, 'A', 3],
  ['A1 B1* C1', 1, 100, 'AC', 2],
  ['A1*', 1, 100, 'full', 1],
  ['', 1, 100, 'never_fits', 0],
]

test('the files that were used longest ago make room, and none that is open', () => {
  for (const [entries, incoming, budget, expected, files] of PLANS)
    assert.equal(planned(entries, incoming, budget, files), expected, `${entries} + ${incoming} in ${budget}`)
})

test('a plan makes enough room and no more, or evicts nothing', () => {
  const entry = fc.record({ bytes: fc.integer({ min: 1, max: 20 }), uses: fc.nat(1) })
  const budget = { bytes: 100, files: 10 }
  fc.assert(
    fc.property(fc.array(entry, { maxLength: 15 }), fc.integer({ min: 1, max: 110 }), (entries, bytes) => {
      const used = { bytes: entries.reduce((sum, one) => sum + one.bytes, 0), files: entries.length }
      const plan = planEviction(entries, { used, incoming: { bytes, files: 1 }, budget })
      const left = (evicted: readonly { bytes: number }[]) =>
        evicted.reduce((sum, one) => sum - one.bytes, used.bytes + bytes) <= budget.bytes &&
        used.files + 1 - evicted.length <= budget.files
      const idle = entries.filter(({ uses }) => uses === 0)
      if (plan.outcome !== 'granted') assert.ok(!left(idle) || bytes > budget.bytes)
      else {
        assert.ok(left(plan.evict))
        assert.ok(plan.evict.length === 0 || !left(plan.evict.slice(0, -1)))
        assert.deepEqual(plan.evict, idle.slice(0, plan.evict.length))
      }
    }),
  )
})
