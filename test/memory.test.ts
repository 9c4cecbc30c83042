/** What is remembered: bounds, shares, and what ends it. src/memory.ts. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openChanges, type Subject } from '../src/db/changes.ts'
import { openMemory } from '../src/memory.ts'

const LIMIT = 100_000

function open() {
  const changes = openChanges()
  const memory = openMemory(changes, LIMIT)
  const keep = (key: string, owner = 'a', subjects: Subject[] = [`project ${key}`], bytes = 300) =>
    memory.keep(key, memory.stamp(), { value: key, owner, subjects, bytes })
  return { changes, memory, keep }
}

test('a raised stamp ends what is of the subject, and nothing else', () => {
  const { changes, memory, keep } = open()
  keep('one', 'a', ['project one', 'account a'])
  keep('two', 'a', ['project two', 'account a'])
  keep('three', 'b', ['project three', 'account b'])
  changes.raise(['project one'])
  assert.deepEqual([memory.find('one'), memory.find('two')], [undefined, 'two'])
  changes.raise(['account a'])
  assert.deepEqual([memory.find('two'), memory.find('three')], [undefined, 'three'])
  changes.raise('all')
  assert.equal(memory.find('three'), undefined)
  assert.equal(memory.bytes(), 0)
})

test('what was read before a change is not kept after it', () => {
  const { changes, memory } = open()
  const kept = { value: 1, owner: 'a', subjects: ['project one'] as Subject[], bytes: 1 }
  const since = memory.stamp()
  changes.raise(['project two'])
  memory.keep('key', since, kept)
  assert.equal(memory.find('key'), 1)
  changes.raise(['project one'])
  memory.keep('key', since, kept)
  assert.equal(memory.find('key'), undefined)
  memory.keep('key', memory.stamp(), kept)
  assert.equal(memory.find('key'), 1)
  changes.raise('all')
  memory.keep('key', since, kept)
  assert.equal(memory.find('key'), undefined)
})

test('more changes than are known by name end whatever is being read', () => {
  const { changes, memory } = open()
  const since = memory.stamp()
  changes.raise(['project one'])
  for (let n = 0; n < 20_001; n++) changes.raise([`project ${n}`])
  memory.keep('key', since, { value: 1, owner: 'a', subjects: ['project one'], bytes: 1 })
  assert.equal(memory.find('key'), undefined)
})

test('the bytes are bounded, and a quarter of them for one account', () => {
  const { memory, keep } = open()
  for (let n = 0; n < 10; n++) keep(`quiet ${n}`, 'quiet')
  for (let n = 0; n < 1000; n++) keep(`loud ${n}`, 'loud')
  assert.ok(memory.bytes() < LIMIT / 2, String(memory.bytes()))
  for (let n = 0; n < 10; n++)
    assert.notEqual(memory.find(`quiet ${n}`), undefined, 'another account is not pushed out')
  for (let n = 0; n < 1000; n++) keep(`of ${n}`, `account ${n}`)
  assert.ok(memory.bytes() <= LIMIT)
  assert.ok(memory.bytes() > LIMIT * 0.9)
  keep('too long', 'long', ['project long'], LIMIT / 4)
  assert.equal(memory.find('too long'), undefined)
})

test('what was used stays longer than what was not', () => {
  const { memory, keep } = open()
  keep('used')
  for (let n = 0; n < 200; n++) {
    assert.equal(memory.find('used'), 'used', String(n))
    keep(`once ${n}`)
  }
})

test('a key that is kept again takes the place of the former, in bytes too', () => {
  const { changes, memory, keep } = open()
  keep('key', 'a', ['project one'])
  const bytes = memory.bytes()
  keep('key', 'a', ['project two'])
  assert.equal(memory.bytes(), bytes)
  changes.raise(['project one'])
  assert.equal(memory.find('key'), 'key')
  changes.raise(['project two'])
  assert.equal(memory.bytes(), 0)
})
