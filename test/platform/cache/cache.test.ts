/** The cache: bounds, shares and invalidation. src/platform/cache/cache.ts. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createCache } from '../../../src/platform/cache/cache.ts'
import { createChangeFeed, type Topic } from '../../../src/platform/db/change-feed.ts'

const LIMIT = 100_000

function open() {
  const changes = createChangeFeed()
  const cache = createCache(changes, LIMIT)
  const keep = (key: string, owner = 'a', subjects: Topic[] = [`project ${key}`], bytes = 300) =>
    cache.set(key, cache.version(), { value: key, owner, topics: subjects, bytes })
  return { changes, memory: cache, keep }
}

test('a raised version invalidates the items of its topic, and no others', () => {
  const { changes, memory: cache, keep } = open()
  keep('one', 'a', ['project one', 'account a'])
  keep('two', 'a', ['project two', 'account a'])
  keep('three', 'b', ['project three', 'account b'])
  changes.invalidate(['project one'])
  assert.deepEqual([cache.get('one'), cache.get('two')], [undefined, 'two'])
  changes.invalidate(['account a'])
  assert.deepEqual([cache.get('two'), cache.get('three')], [undefined, 'three'])
  changes.invalidate('all')
  assert.equal(cache.get('three'), undefined)
  assert.equal(cache.bytes(), 0)
})

test('what was read before a change is not kept after it', () => {
  const { changes, memory: cache } = open()
  const kept = { value: 1, owner: 'a', topics: ['project one'] as Topic[], bytes: 1 }
  const since = cache.version()
  changes.invalidate(['project two'])
  cache.set('key', since, kept)
  assert.equal(cache.get('key'), 1)
  changes.invalidate(['project one'])
  cache.set('key', since, kept)
  assert.equal(cache.get('key'), undefined)
  cache.set('key', cache.version(), kept)
  assert.equal(cache.get('key'), 1)
  changes.invalidate('all')
  cache.set('key', since, kept)
  assert.equal(cache.get('key'), undefined)
})

test('more changes than are known by name end whatever is being read', () => {
  const { changes, memory: cache } = open()
  const since = cache.version()
  changes.invalidate(['project one'])
  for (let n = 0; n < 20_001; n++) changes.invalidate([`project ${n}`])
  cache.set('key', since, { value: 1, owner: 'a', topics: ['project one'], bytes: 1 })
  assert.equal(cache.get('key'), undefined)
})

test('the bytes are bounded, and a quarter of them for one account', () => {
  const { memory: cache, keep } = open()
  for (let n = 0; n < 10; n++) keep(`quiet ${n}`, 'quiet')
  for (let n = 0; n < 1000; n++) keep(`loud ${n}`, 'loud')
  assert.ok(cache.bytes() < LIMIT / 2, String(cache.bytes()))
  for (let n = 0; n < 10; n++) assert.notEqual(cache.get(`quiet ${n}`), undefined, 'another account is not pushed out')
  for (let n = 0; n < 1000; n++) keep(`of ${n}`, `account ${n}`)
  assert.ok(cache.bytes() <= LIMIT)
  assert.ok(cache.bytes() > LIMIT * 0.9)
  keep('too long', 'long', ['project long'], LIMIT / 4)
  assert.equal(cache.get('too long'), undefined)
})

test('what was used stays longer than what was not', () => {
  const { memory: cache, keep } = open()
  keep('used')
  for (let n = 0; n < 200; n++) {
    assert.equal(cache.get('used'), 'used', String(n))
    keep(`once ${n}`)
  }
})

test('a key that is kept again takes the place of the former, in bytes too', () => {
  const { changes, memory: cache, keep } = open()
  keep('key', 'a', ['project one'])
  const bytes = cache.bytes()
  keep('key', 'a', ['project two'])
  assert.equal(cache.bytes(), bytes)
  changes.invalidate(['project one'])
  assert.equal(cache.get('key'), 'key')
  changes.invalidate(['project two'])
  assert.equal(cache.bytes(), 0)
})

test('what can be packed is packed before it goes, is found in it, and is whole again where there is room', () => {
  const { changes, memory: cache, keep } = open()
  let unpacked = 0
  const keepLarge = (n: number, owner = `account ${n}`) => {
    const subjects: Topic[] = [`project large ${n}`]
    const pack = (value: unknown) => ({
      bytes: 100,
      decompress: () => {
        unpacked++
        return value
      },
    })
    const since = cache.version()
    cache.set(`large ${n}`, since, { value: `large ${n}`, owner, topics: subjects, bytes: 20_000, compress: pack })
  }
  const found = (from: number, to: number) => {
    let count = 0
    for (let n = from; n < to; n++) if (cache.get(`large ${n}`) === `large ${n}`) count++
    return count
  }
  for (let n = 0; n < 20; n++) keepLarge(n)
  assert.ok(cache.bytes() <= LIMIT)
  assert.equal(found(0, 20), 20)
  assert.ok(unpacked >= 16 && unpacked < 20, `some are there as they are, and ${unpacked} are packed`)
  for (let n = 0; n < 20; n++) if (n !== 3) changes.invalidate([`project large ${n}`])
  unpacked = 0
  assert.equal(found(3, 4) + found(3, 4) + found(3, 4), 3)
  assert.equal(unpacked, 1, 'it was unpacked once, and then there was room')
  assert.ok(cache.bytes() > 20_000, 'which it takes again')
  changes.invalidate(['project large 3'])
  assert.deepEqual([found(0, 20), cache.bytes()], [0, 0])

  for (let n = 0; n < 500; n++) keepLarge(n)
  assert.ok(cache.bytes() <= LIMIT)
  assert.equal(found(0, 400), 0, 'what is packed goes too, the oldest first')
  assert.ok(found(450, 500) > 45)
  for (let n = 0; n < 300; n++) keep(`small ${n}`, `owner ${n}`)
  assert.ok(cache.bytes() <= LIMIT)
  assert.ok(found(450, 500) > 0, 'and so do small ones')
  changes.invalidate('all')
  for (let n = 0; n < 100; n++) keepLarge(n, 'one')
  assert.ok(cache.bytes() <= LIMIT / 4, 'an account has no more than its share')
  assert.ok(found(0, 100) >= 10 && found(99, 100) === 1, 'which holds more when it is packed')
})
