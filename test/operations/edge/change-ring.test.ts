/** The newest changes of the index, for sites servers. docs/deploying-sites.md: Data of the sites server. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type Change, createChangeRing } from '../../../src/operations/edge/change-ring.ts'

const change = (key: string, stamp: number): Change => ({ key, stamp })

test('a reader gets each key that changed once, in the order of their last changes', () => {
  const ring = createChangeRing(0)
  const start = ring.place()
  ring.add([change('a', 1), change('b', 2), change('a', 3)])
  assert.deepEqual(ring.next(start, 10), { keys: ['b', 'a'], place: { sequence: 3, stamp: 3 } })
  assert.deepEqual(ring.next(ring.place(), 10)?.keys, [])
  const first = ring.next(start, 1)!
  assert.deepEqual(first, { keys: ['a'], place: { sequence: 1, stamp: 1 } })
  assert.deepEqual(ring.next(first.place, 10)?.keys, ['b', 'a'])
})

test('evicted changes are known to be missing, by number and by characters', () => {
  for (const bounds of [{ max: 10 }, { maxCharacters: 20 }]) {
    const ring = createChangeRing(0, bounds)
    const start = ring.place()
    for (let at = 1; at <= 11; at++) ring.add([change(`k${at % 10}`, at)])
    assert.equal(ring.next(start, 100), undefined)
    assert.equal(ring.placeOf(0), undefined)
    assert.deepEqual(ring.next(ring.placeOf(9)!, 100)?.keys, ['k0', 'k1'])
  }
})

test('a reader of another process continues from its stamp, or before it where changes become visible late', () => {
  const [prompt, late] = [createChangeRing(0), createChangeRing(50)]
  for (const ring of [prompt, late]) {
    ring.clear({ stamp: 0, floor: 0 })
    ring.add([change('a', 100), change('b', 160), change('late', 140), change('c', 200)])
  }
  assert.deepEqual(prompt.next(prompt.placeOf(200)!, 10)?.keys, [])
  assert.deepEqual(prompt.next(prompt.placeOf(160)!, 10)?.keys, ['c'])
  assert.deepEqual(late.next(late.placeOf(160)!, 10)?.keys, ['b', 'late', 'c'])
  assert.equal(late.placeOf(40), undefined, 'from before what is held')
  assert.equal(late.placeOf(201), undefined, 'from after what is known')
})

test('after all became unknown no reader continues, not even one that had everything', () => {
  const ring = createChangeRing(0)
  ring.add([change('a', 1)])
  const place = ring.place()
  ring.clear({ stamp: 5, floor: 5 })
  assert.equal(ring.next(place, 10), undefined)
  assert.equal(ring.placeOf(4), undefined)
  assert.deepEqual(ring.next(ring.placeOf(5)!, 10)?.keys, [])
})

test('for any changes and reads, each reader ends with the current values, or has to read all', () => {
  const step = fc.oneof(
    { weight: 3, arbitrary: fc.integer({ min: 0, max: 6 }).map((key) => ({ key: `k${key}` })) },
    {
      weight: 2,
      arbitrary: fc.record({ reader: fc.integer({ min: 0, max: 2 }), most: fc.integer({ min: 1, max: 4 }) }),
    },
  )
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
      const ring = createChangeRing(0, { max: 12 })
      const truth = new Map<string, number>()
      const readers = Array.from({ length: 3 }, () => ({ place: ring.place(), known: new Map<string, number>() }))
      const ask = (reader: (typeof readers)[0], most: number) => {
        const page = ring.next(reader.place, most)
        if (page === undefined) reader.known = new Map(truth)
        else for (const key of page.keys) reader.known.set(key, truth.get(key)!)
        reader.place = page?.place ?? ring.place()
      }
      let stamp = 0
      for (const one of steps) {
        if ('key' in one) {
          truth.set(one.key, ++stamp)
          ring.add([change(one.key, stamp)])
        } else ask(readers[one.reader]!, one.most)
      }
      for (const reader of readers) {
        for (let rounds = 0; rounds < 20; rounds++) ask(reader, 3)
        assert.deepEqual(new Map([...reader.known].sort()), new Map([...truth].sort()))
      }
    }),
  )
})
