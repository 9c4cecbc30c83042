/** What the data cache keeps, and what gives way. docs/data-cache.md: Budget. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createDataEntries, type DataBudget, type DataEntry, idOf } from '../../../src/sites/data-cache/entries.ts'
import { weightOf } from '../../../src/sites/prerender/pages.ts'

const BLOCK = 4096
const MOST = 1024 ** 2
let made = 0

function entryOf(account: string, space: string, key: string, blocks = 1, digest = String(++made)): DataEntry {
  const [projectId = '', environment = ''] = space.split(' ')
  return {
    ...{ id: idOf(space, key), space, account, projectId, environment, tags: [] },
    ...{ body: { digest, size: blocks * BLOCK, isOwned: true }, at: 0, number: 0, expiresAt: null },
  }
}

function open(given: Partial<DataBudget> = {}) {
  const ofAccount = { entries: 10, bytes: 10 * BLOCK, texts: MOST }
  const budget = { entries: 100, texts: MOST, ofAccount, ...given }
  const released: string[] = []
  const entries = createDataEntries(budget, (_, digest) => void released.push(digest))
  const keys = () => [...entries.all()].map(({ id }) => id.split(' ').at(-1))
  return { entries, released, keys }
}

test('an account has its budget, and the project and environment with most gives way', () => {
  const { entries, keys } = open()
  entries.keep(entryOf('a', 'p1 production', 'own'))
  for (let at = 0; at < 30; at++) entries.keep(entryOf('a', 'p1 preview', `many ${at}`.replace(' ', '-')))
  assert.deepEqual(entries.usedBy('a'), { entries: 10, bytes: 10 * BLOCK })
  assert.ok(keys().includes('own'), 'the entry of production stays')
  entries.keep(entryOf('a', 'p2 preview', 'large', 20))
  assert.ok(!keys().includes('large') && entries.usedBy('a').bytes <= 10 * BLOCK)
  assert.ok(keys().includes('own'))
  assert.deepEqual(entries.usedBy('b'), { entries: 0, bytes: 0 })
})

test('above the budget of all, the account that has most gives way', () => {
  const { entries, keys } = open({ entries: 5, ofAccount: { entries: 10, bytes: 100 * BLOCK, texts: MOST } })
  entries.keep(entryOf('b', 'p2 production', 'of-b'))
  for (let at = 0; at < 20; at++) entries.keep(entryOf('a', 'p1 production', `a${at}`))
  assert.equal(keys().length, 5)
  assert.ok(keys().includes('of-b'))
})

test('what was used longest ago goes first, and a body goes with its last entry', () => {
  const { entries, released, keys } = open({ ofAccount: { entries: 2, bytes: 100 * BLOCK, texts: MOST } })
  entries.keep(entryOf('a', 'p production', 'one', 1, 'same'))
  entries.keep(entryOf('a', 'p production', 'two', 1, 'same'))
  entries.use(idOf('p production', 'one'))
  entries.keep(entryOf('a', 'p production', 'three'))
  assert.deepEqual(keys(), ['one', 'three'])
  assert.deepEqual(released, [])
  entries.keep(entryOf('a', 'p production', 'one', 1, 'other'))
  assert.deepEqual(released, ['same'])
  entries.dropProjects(new Set(['p']))
  assert.deepEqual([keys(), entries.usedBy('a'), entries.used('p production')], [[], NONE, NONE])
})

/** An entry whose tags have this many characters. */
function taggedOf(account: string, space: string, key: string, characters: number): DataEntry {
  return { ...entryOf(account, space, key), tags: Array.from({ length: 8 }, () => 'x'.repeat(characters / 8)) }
}

test('keys and tags that stay in memory have a budget: the project and environment with most gives way', () => {
  const { entries, keys } = open({ ofAccount: { entries: 100, bytes: 100 * BLOCK, texts: 10_000 } })
  entries.keep(entryOf('a', 'p1 production', 'own', 8))
  for (let at = 0; at < 30; at++) entries.keep(taggedOf('a', 'p1 preview', `many-${at}`, 2000))
  assert.deepEqual(keys(), ['own', ...[26, 27, 28, 29].map((at) => `many-${at}`)])
  entries.keep(taggedOf('a', 'p1 preview', 'too-large', 16_000))
  assert.deepEqual(keys(), ['own'])
  for (let at = 0; at < 30; at++) entries.keep({ ...taggedOf('a', 'p1 preview', 'same', 2000), number: at })
  assert.deepEqual(keys(), ['own', 'same'], 'one that takes the place of another is counted once')
})

test('above the characters of all, the account that has most of them gives way', () => {
  const { entries, keys } = open({ texts: 10_000 })
  for (const key of ['b1', 'b2', 'b3']) entries.keep(entryOf('b', 'p2 production', key))
  for (let at = 0; at < 8; at++) entries.keep(taggedOf('a', 'p1 production', `a${at}`, 2000))
  assert.deepEqual(keys().sort(), ['a4', 'a5', 'a6', 'a7', 'b1', 'b2', 'b3'])
  entries.dropProjects(new Set(['p1']))
  for (let at = 0; at < 4; at++) entries.keep(taggedOf('c', 'p3 production', `c${at}`, 2000))
  assert.equal(keys().length, 7, 'what is dropped is not counted')
})

test('a budget may be used up, and only more than it gives way', () => {
  const [one, two] = [entryOf('a', 'p production', 'one'), entryOf('a', 'p production', 'two')]
  const { entries, keys } = open({ entries: 2, texts: weightOf([one.id, two.id]) })
  for (const entry of [one, two]) entries.keep(entry)
  assert.deepEqual(keys(), ['one', 'two'])
  entries.keep({ ...one, tags: ['a'] })
  assert.deepEqual(keys(), ['one'])
})

test('dropping an entry that another one replaced changes nothing', () => {
  const { entries, released, keys } = open()
  const before = entryOf('a', 'p production', 'one')
  entries.keep(before)
  entries.keep(entryOf('a', 'p production', 'one', 2))
  released.length = 0
  entries.drop(before)
  assert.deepEqual([keys(), entries.usedBy('a'), released], [['one'], { entries: 1, bytes: 2 * BLOCK }, []])
})

const NONE = { entries: 0, bytes: 0 }
