/**
 * Reading what unauthenticated clients send costs the one thread little, whatever its form. docs/limits.md: Readers. It is measured here, where one file
 * runs at a time: next to others, and under coverage, the compiler is what takes the time. test/readers reads the same inputs once.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { READERS, type Reader, type ReaderName } from '../../src/readers.ts'
import { WORST, type Worst } from '../readers/worst-inputs.ts'
import { openWorld, type World } from '../support/world.ts'
import { costOf, once, slowness } from './processor-time.ts'

/** TABLE whose input -> the most processor time that one reading takes, in ms. A command has a process of its own; of what is read in pieces test/delivery measures each. */
const MAX_MS: Record<Reader['from'], number> = {
  anyone: 5,
  caller: 25,
  pieces: Number.POSITIVE_INFINITY,
  server: 25,
  command: Number.POSITIVE_INFINITY,
}
const SIZES = Array.from({ length: 10 }, (_, at) => (at + 1) / 10)
/** The part of an input that all of it is compared with. */
const SMALL = 0.01
/** How many times as much a byte of all of it may cost: the compiler makes the same code ten times as slow for a while, caches are left, and memory is collected. The square of the size would make it 100 times as much. */
const MAX_GROWTH = 15
/** What a reading costs that is never too long, whatever its growth looks like. */
const NOTHING_MS = 1
/** How often one input is measured until it is well. What is too slow, or grows too fast, is so each time. */
const TIMES = 4

let world: World
before(async () => {
  world = await openWorld('sqlite')
})
after(() => world.close())

for (const name of Object.keys(READERS) as ReaderName[])
  test(`the worst inputs of the reader "${name}" take processor time in proportion to their size, and never too much of it`, async () => {
    const { bytes, from } = READERS[name]
    for (const [what, worst] of Object.entries(WORST[name])) {
      assert.equal(await untilWell(() => growth(bytes, worst)), undefined, what)
      assert.equal(await untilWell(() => greatest(bytes, from, worst)), undefined, what)
    }
  })

/** What is wrong each time. */
async function untilWell(measure: () => Promise<string | undefined>): Promise<string | undefined> {
  let fault: string | undefined
  for (let time = 0; time < TIMES; time++) {
    fault = await measure()
    if (fault === undefined) return undefined
  }
  return fault
}

/** Says if the greatest inputs take more than they may. */
async function greatest(bytes: number, from: Reader['from'], worst: Worst): Promise<string | undefined> {
  if (MAX_MS[from] === Number.POSITIVE_INFINITY) return undefined
  for (const size of SIZES) {
    const read = await worst(Math.floor(bytes * size), world)
    const cost = await costOf(read, MAX_MS[from])
    // A slow machine is measured together with what was slow.
    const most = cost <= MAX_MS[from] ? cost : MAX_MS[from] * (await slowness())
    if (cost > most)
      return `${Math.floor(bytes * size)} bytes take ${cost.toFixed(2)} ms, and ${most.toFixed(1)} ms are allowed`
  }
  return undefined
}

/** Says if the time grows faster than the input, from a small part of it to all of it. */
async function growth(bytes: number, worst: Worst): Promise<string | undefined> {
  const small = await worst(Math.floor(bytes * SMALL), world)
  const part = Math.max(await once(small, 4), await once(small, 8))
  const most = Math.max(NOTHING_MS, (part / SMALL) * MAX_GROWTH)
  const cost = await costOf(await worst(bytes, world), most)
  if (cost > most)
    return `${bytes} bytes take ${cost.toFixed(2)} ms, and the hundredth of it takes ${part.toFixed(4)} ms`
  return undefined
}

test('a form of an unauthenticated client costs the same few ms whatever its content', async () => {
  const headers = { 'content-type': 'application/x-www-form-urlencoded', 'sec-fetch-site': 'same-origin' }
  for (const [to, bytes] of [
    ['new', 256 * 1024],
    ['import', 700_000],
    ['import', 3 * 1024 * 1024],
  ] as const) {
    const url = `/console/t/x/projects/y/variables/${to}`
    const payload = 'target&'.repeat(bytes / 7)
    const send = () => world.app.inject({ method: 'POST', url, payload, headers })
    // The request around the reader is part of it.
    const cost = await costOf(send, MAX_MS.caller)
    assert.ok(cost < MAX_MS.caller * (await slowness()), `${to} of ${bytes} bytes took ${cost} ms`)
  }
})
