/** Which version of the snapshot is newer. docs/deploying-sites.md: Data of the sites server. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compareGeneration } from '../../../src/sites/snapshot/generation.ts'

const [STORE, ONE, TWO] = ['aaaaaaaa', 'instance', 'another1']

test('a version is applied when it is newer, or of another store; an equal one is the same, and an older one is refused', () => {
  const version = (stamp: number, instance: string, sequence: number, store = STORE) =>
    `${store}.${stamp}.${instance}.${sequence}`
  const current = version(100, ONE, 7)
  const cases: [next: string, verdict: string][] = [
    [current, 'same'],
    [version(100, ONE, 8), 'apply'],
    [version(101, ONE, 8), 'apply'],
    [version(100, ONE, 6), 'older'],
    [version(101, TWO, 1), 'apply'],
    // Equal stamps of two instances may hold different changes, and lines are what is true.
    [version(100, TWO, 1), 'apply'],
    [version(99, TWO, 900), 'older'],
    [version(1, TWO, 1, 'bbbbbbbb'), 'apply'],
  ]
  for (const [next, verdict] of cases) assert.equal(compareGeneration(current, next), verdict, next)
  assert.equal(compareGeneration(undefined, version(1, ONE, 1)), 'apply')
  for (const wrong of ['', 'x', `${STORE}.1.${ONE}`, version(1, ONE, 1).repeat(40)])
    assert.throws(() => compareGeneration(current, wrong), /not a version/)
})
