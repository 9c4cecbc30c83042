/** The filter of log lines: what it finds, and what it refuses. docs/functions.md: Log. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readFilter } from '../../../src/delivery/logs/filter.ts'

const LINE = {
  level: 'error',
  message: 'It FAILED: no such user',
  requestPath: '/api/users/7',
  httpStatus: 503,
  deploymentId: 'dpl_1',
}
const KNOWN = new Set(Object.keys(LINE))

function holds(text: string): boolean {
  const filter = readFilter(text, KNOWN)
  if ('sentence' in filter) throw new Error(filter.sentence)
  return filter(LINE)
}

test('fields, alternatives, comparisons, stars, text and their combinations', () => {
  const yes = [
    ...['', 'level:error', 'level:(info OR error)', 'failed', '"no such"', 'message:user', 'requestPath:/api/*'],
    ...['requestPath:*users*', 'requestPath:/api/*/7', 'httpStatus >= 500', 'httpStatus:503', 'NOT level:info'],
    ...['httpStatus >= 500 AND httpStatus < 600', 'level:info OR httpStatus > 502', '(level:info OR failed) user'],
    '(deploymentId:"dpl_1") AND (level:error)',
  ]
  const no = [
    ...[
      'level:info',
      'level:(info OR warning)',
      'succeeded',
      'requestPath:/api',
      'requestPath:/api/*/8',
      'httpStatus < 503',
    ],
    ...[
      'NOT failed',
      'level:error AND httpStatus:200',
      'NOT (level:error OR level:info)',
      'level > 3',
      'requestPath:/api/users/7*7',
    ],
  ]
  for (const text of yes) assert.equal(holds(text), true, text)
  for (const text of no) assert.equal(holds(text), false, text)
})

test('an invalid filter is refused with a message', () => {
  const wrong: [string, RegExp][] = [
    ['level:', /ends too early/],
    ['(level:error', /ends too early/],
    ['level:error)', /"\)" is not expected/],
    ['"open', /quotation mark/],
    ['color:red', /"color" is not known/],
    ['httpStatus > many', /not a number/],
    ['AND', /"AND" is not expected/],
    [`${'('.repeat(30)}a${')'.repeat(30)}`, /too deep/],
    ['NOT '.repeat(30), /too deep/],
    ['a '.repeat(300), /more than 200 words/],
    ['a'.repeat(251), /more than 250 characters/],
    [`level:error OR (NOT message:"${'a'.repeat(251)}")`, /more than 250 characters/],
    [`requestPath:*${'a'.repeat(251)}*`, /more than 250 characters/],
    [`İ${'a'.repeat(249)}`, /more than 250 characters/],
  ]
  for (const [text, sentence] of wrong) {
    const filter = readFilter(text, KNOWN)
    assert.ok('sentence' in filter, text)
    assert.match(filter.sentence, sentence)
  }
})

test('a filter of the largest size is read and tried on a long line in time that is linear (a bound on steps, by its words)', () => {
  const filter = readFilter('requestPath:*a*a*a*a*a*a*a*a*b', KNOWN)
  assert.ok(!('sentence' in filter))
  assert.equal(filter({ requestPath: 'a'.repeat(100_000) }), false)
})
