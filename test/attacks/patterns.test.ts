/** Patterns against texts that make a careless one try everything. docs/spec/reliability.md T47. */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { root } from '../support/root.ts'
import { DOCUMENT } from './document.ts'
import { sayFigure } from './form.ts'

/** These read what the operator says. docs/threats.md: What the matrix does not count. */
const OF_THE_OPERATOR =
  /^src\/(config\.ts|platform\/settings\/|cli\/command\/|operations\/backup\/|projects\/links\/credentials)/
/** A pattern whose cost grows with the square of the text takes more than it may at this length already. */
const LONG = 16 * 1024
const MAX_MS = 20

/** Every pattern that is written as `/…/` in the source, and every one of the OpenAPI document. */
function patterns(): Map<string, RegExp> {
  const found = new Map<string, RegExp>()
  for (const file of globSync('src/**/*.ts', { cwd: root })) {
    if (OF_THE_OPERATOR.test(file)) continue
    const text = readFileSync(join(root, file), 'utf8').replaceAll(/^\s*(\*|\/\/|\/\*\*).*$/gm, '')
    for (const [, body, flags] of text.matchAll(
      /[=(,:?]\s*\/((?:[^/\\\n[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+)\/([dgimsuvy]*)(?=[.,;)\s])/g,
    )) {
      found.set(`${file} /${body}/${flags}`, new RegExp(body!, flags!.replace('g', '')))
    }
  }
  for (const [, pattern] of JSON.stringify(DOCUMENT).matchAll(/"pattern":("(?:[^"\\]|\\.)*")/g)) {
    found.set(`document ${pattern}`, new RegExp(JSON.parse(pattern!), 'u'))
  }
  return found
}

const UNITS = [
  'a',
  '0',
  ' ',
  '-',
  '.',
  '_',
  'a.',
  'a-',
  '0.',
  '/',
  '//',
  ':',
  '=',
  '"',
  "'",
  '\\',
  '@',
  'a@',
  '%2e',
  '\n',
  'A=',
  'é',
  '<',
  '(',
  '---',
  '{',
  '#',
]
/** `.` matches no U+2028: what ends so is tried from each beginning. */
const ENDS = ['', '!', '\n', '\0', '@', '\u2028']

test('the longest text that any pattern meets costs it less than 20 ms', () => {
  const all = patterns()
  assert.ok(all.size > 60, `only ${all.size} patterns were found`)
  let tries = 0
  const slow: string[] = []
  for (const [name, pattern] of all) {
    for (const unit of UNITS) {
      for (const end of ENDS) {
        const text = unit.repeat(LONG / unit.length) + end
        // The machine may be busy: the best of three counts.
        const took = () => {
          // A sticky pattern begins where it ended.
          pattern.lastIndex = 0
          const from = performance.now()
          pattern.test(text)
          return performance.now() - from
        }
        let best = took()
        for (let again = 0; again < 2 && best > MAX_MS; again++) best = Math.min(best, took())
        tries++
        if (best >= MAX_MS)
          slow.push(`${name} took ${Math.round(best)} ms for ${JSON.stringify(unit)} and ${JSON.stringify(end)}`)
      }
    }
  }
  sayFigure(
    `patterns: ${all.size} against ${UNITS.length * ENDS.length} texts of 16 KiB, ${tries} tries; each below ${MAX_MS} ms`,
  )
  assert.deepEqual(slow, [])
})
