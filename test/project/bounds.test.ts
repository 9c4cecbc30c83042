/** No test but the attacks asserts how long something takes, or is given up soon: a busy machine would fail it. docs/testing.md. */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { root } from '../support/root.ts'

const files = globSync('test/**/*.test.ts', { cwd: root })
  .filter((path) => !/^test.(attacks|clients|faults)/.test(path))
  .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }))

const CLOCK = String.raw`(?:performance|Date)\.now\(\)`

/** Lines that assert something about a difference of two readings of a clock, or about what was made of one. */
function measured(text: string): string[] {
  const names = [...text.matchAll(new RegExp(`(?:const|let) (\\w+) = (?:Math\\.\\w+\\()?${CLOCK} - `, 'g'))].map(
    ([, name]) => name,
  )
  const told = names.map((name) => String.raw`\b${name}\b [<>]=? `)
  const asserts = new RegExp(
    `\\bassert\\.ok\\((?!Math\\.abs).*(?:${[`${CLOCK} - \\w+ [<>]=? (?!60_000)`, ...told].join('|')})`,
  )
  return text.split('\n').filter((line) => asserts.test(line))
}

test('no test asserts how long something takes', () => {
  assert.ok(files.length > 150)
  const found = files.flatMap(({ path, text }) => measured(text).map((line) => `${path}: ${line.trim()}`))
  assert.deepEqual(found, [], 'use `assertWithin` of test/support/time-limits.ts')
  assert.equal(
    measured('const took = performance.now() - began\nASSERT(took < 50)'.replace('ASSERT', 'assert.ok')).length,
    1,
  )
  assert.equal(measured('ASSERT(Date.now() - before < 1500)'.replace('ASSERT', 'assert.ok')).length, 1)
})

test('a test that measures processor time asserts it by `assertWithin`', () => {
  const measuring = files.filter(({ text }) => /\b(?:thread)?[cC]puUsage\(|\b(?:fairCostOf|mustBeCheap)\(/.test(text))
  assert.deepEqual(
    measuring.filter(({ text }) => !/\bassertWithin\(/.test(text)).map(({ path }) => path),
    [],
    'what measures alone belongs to test/attacks',
  )
})

/** Milliseconds after which a test is given up. */
const GIVEN_UP = /\btimeout: ([\d_]+)/g
const MIN_MS = 300_000

test('a test that hangs is stopped after five minutes at the earliest', () => {
  const soon = files.flatMap(({ path, text }) =>
    [...text.matchAll(GIVEN_UP)]
      .filter(([, ms]) => Number(ms!.replaceAll('_', '')) < MIN_MS)
      .map(([said]) => `${path}: ${said}`),
  )
  assert.deepEqual(soon, [])
})

const FIXED_WAIT = /^\s*(?:if \(.*\) )?await (?:sleep\(|new Promise\(\(\w+\) => setTimeout\()/

test('a test waits for a state: where it waits for a time, the line before gives the reason', () => {
  const waits = files.flatMap(({ path, text }) => {
    const lines = text.split('\n')
    return lines.flatMap((line, at) => (FIXED_WAIT.test(line) ? [{ path, line, before: lines[at - 1]!.trim() }] : []))
  })
  assert.ok(waits.length > 10)
  for (const { path, line, before } of waits)
    assert.match(before, /^\/\/ /, `${path}: ${line.trim()}: say \`becomes\` of test/support/eventually.ts, or why not`)
})

test('the name of a test with a bound on time has it, so that test:attacks finds the test', () => {
  for (const { path, text } of files.filter((file) => file.text.includes("support/time-limits.ts'"))) {
    for (const one of text.split(/^ *(?=(?:onBothEngines|processOnBothEngines|test)\()/m)) {
      if (/\bwithin\(/.test(one)) assert.match(one, /\(a bound on time\)/, path)
    }
  }
})
