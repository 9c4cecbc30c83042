/** What hostile outputs cost: processor time that grows with their size and no faster, in pieces that others do not wait for. docs/deploying-sites.md: Limits. */
import { join } from 'node:path'
import { test } from 'node:test'
import { mustBeCheap } from '../cost.ts'
import { WORST } from './worst-outputs.ts'

const MODULE = join(import.meta.dirname, 'worst-outputs.ts')

for (const name of Object.keys(WORST)) {
  test(`the time for ${name} grows with their number`, () => mustBeCheap(MODULE, name))
}

test('a large output lets others work: no piece of it takes long', () =>
  // Parsing the file and writing the manifest are the longest pieces.
  mustBeCheap(MODULE, 'overrides of every file', 250))
