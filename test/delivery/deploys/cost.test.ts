/** What hostile file lists cost: processor time that grows with their size and no faster, in pieces that others do not wait for. docs/deploying-sites.md: File lists. */
import { join } from 'node:path'
import { test } from 'node:test'
import { mustBeCheap } from '../cost.ts'
import { WORST } from './worst-lists.ts'

/** How long others may wait for a piece, in ms. */
const PIECE_MS = 5

for (const name of Object.keys(WORST))
  test(`the time for a list of ${name} grows with their number, and others do not wait for it`, () =>
    mustBeCheap(join(import.meta.dirname, 'worst-lists.ts'), name, PIECE_MS))
