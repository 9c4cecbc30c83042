/**
 * What hostile bodies, file lists, archives, outputs and logs cost: processor time that grows with their size and no faster, in pieces that others do not
 * wait for. docs/deploying-sites.md: File lists, Archives, Limits.
 */
import { join } from 'node:path'
import { test } from 'node:test'
import { WORST as ARCHIVES } from '../delivery/archive/worst-archives.ts'
import { WORST as LOGS } from '../delivery/builds/worst-logs.ts'
import { WORST as LISTS } from '../delivery/deploys/worst-lists.ts'
import { WORST as OUTPUTS } from '../delivery/outputs/worst-outputs.ts'
import { WORST as BODIES } from '../platform/http/worst-list-bodies.ts'
import { mustBeCheap } from './costs.ts'

/** How long others may wait for a piece, in ms. Of an output, parsing the file and writing the manifest are the longest pieces. */
const PIECE_MS = 5
/** One text of many MiB is one. */
const TEXT_PIECE_MS = 25
const OUTPUT_PIECES: Readonly<Record<string, number>> = {
  'overrides of every file': 250,
  'cron jobs on dates that never come': 25,
}

const tests = join(import.meta.dirname, '..')
const delivery = join(tests, 'delivery')

for (const name of Object.keys(BODIES))
  test(`the time for a body of ${name} grows with its size, and others do not wait for it`, () =>
    mustBeCheap(join(tests, 'platform', 'http', 'worst-list-bodies.ts'), name, TEXT_PIECE_MS))

for (const name of Object.keys(LISTS))
  test(`the time for a list of ${name} grows with their number, and others do not wait for it`, () =>
    mustBeCheap(join(delivery, 'deploys', 'worst-lists.ts'), name, PIECE_MS))

for (const name of Object.keys(ARCHIVES))
  test(`the time for ${name} grows with their number, and others do not wait for it`, () =>
    mustBeCheap(join(delivery, 'archive', 'worst-archives.ts'), name, PIECE_MS))

for (const name of Object.keys(LOGS))
  test(`the time for a log with ${name} grows with its size, and others do not wait for it`, () =>
    mustBeCheap(join(delivery, 'builds', 'worst-logs.ts'), name, TEXT_PIECE_MS))

for (const name of Object.keys(OUTPUTS)) {
  test(`the time for an output with ${name} grows with their number`, () =>
    mustBeCheap(join(delivery, 'outputs', 'worst-outputs.ts'), name, OUTPUT_PIECES[name]))
}
