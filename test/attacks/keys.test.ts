/** Names of variables, as an environment takes them. docs/spec/reliability.md T31. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import fc from 'fast-check'
import { Refusal } from '../../src/platform/refusals/refusal.ts'
import { validateVariable } from '../../src/projects/env/rules.ts'
import { SEED, sayFigure } from './form.ts'

const COUNT = 5000
const RESERVED = ['__proto__', 'LD_PRELOAD', 'LD_AUDIT', 'DYLD_INSERT_LIBRARIES', 'VERCEL', 'VERCEL_URL', 'VERCEL_ENV']
const TRICKS = [
  'A=B',
  'A\nB',
  'A\0',
  '',
  '1A',
  'A B',
  'A-B',
  'Ä',
  'A.B',
  'constructor',
  '$(id)',
  '`id`',
  'A;id',
  'export A',
  'BASH_FUNC_x%%',
  '\u0410',
  ...RESERVED,
]

const keys = fc.oneof(
  { weight: 3, arbitrary: fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_]{0,40}$/) },
  {
    weight: 2,
    arbitrary: fc
      .tuple(fc.stringMatching(/^[A-Z]{1,6}$/), fc.string({ unit: 'grapheme', maxLength: 4 }))
      .map((parts) => parts.join('')),
  },
  { weight: 1, arbitrary: fc.constantFrom(...TRICKS) },
  { weight: 1, arbitrary: fc.integer({ min: 250, max: 260 }).map((length) => 'K'.repeat(length)) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary' }) },
)

function isTaken(key: string): boolean {
  try {
    validateVariable({ key, value: 'v', type: 'plain', targets: ['preview'], gitBranch: '' })
    return true
  } catch (error) {
    assert.ok(error instanceof Refusal, String(error))
    return false
  }
}

test(`of ${COUNT} keys those are taken that a process can have in its environment, and it reads them back as they are`, () => {
  const said = fc.sample(keys, { numRuns: COUNT, seed: SEED })
  const values = fc.sample(fc.string({ unit: 'binary', maxLength: 30 }), { numRuns: COUNT, seed: SEED })
  const taken = new Map<string, string>()
  for (const [at, key] of said.entries()) {
    const good = /^[A-Za-z_][A-Za-z0-9_]{0,255}$/.test(key) && !key.endsWith('\n') && !RESERVED.includes(key)
    // Every name of the platform is its own.
    if (!/^VERCEL/.test(key)) assert.equal(isTaken(key), good, JSON.stringify(key))
    if (isTaken(key)) taken.set(key, values[at]!.replaceAll('\0', '').toWellFormed())
  }
  assert.ok(taken.size > COUNT / 5)
  for (const slice of chunks([...taken], 500)) {
    const { stdout } = spawnSync('env', ['-0'], { env: Object.fromEntries(slice), encoding: 'utf8', maxBuffer: 1e8 })
    const read = new Map(
      stdout
        .split('\0')
        .filter(Boolean)
        .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
    )
    assert.deepEqual([...read].sort(), [...slice].sort())
  }
  sayFigure(`keys: ${COUNT} asked, ${taken.size} different ones taken and read back by a process of its own`)
})

function chunks<T>(all: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(all.length / size) }, (_, at) => all.slice(at * size, (at + 1) * size))
}
