/** Every reader takes the largest of its worst inputs, or refuses it. What that costs is measured by test/attacks/readers.test.ts. docs/limits.md: Readers. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { READERS, type ReaderName } from '../../src/readers.ts'
import { openWorld, type World } from '../support/world.ts'
import { WORST } from './worst-inputs.ts'

let world: World
before(async () => {
  world = await openWorld('sqlite')
})
after(() => world.close())

for (const name of Object.keys(READERS) as ReaderName[])
  test(`the reader "${name}" takes its worst inputs at its greatest size, or refuses them`, async () => {
    const inputs = Object.values(WORST[name])
    assert.ok(inputs.length > 0)
    for (const worst of inputs) await (await worst(READERS[name].bytes, world))()
  })
