/** Conditional requests as RFC 9110 13 has them. docs/deploying-sites.md: Static files. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkPreconditions, rangeApplies, type Validators } from '../../../src/sites/static/conditional.ts'

/** A file of Sun, 06 Nov 1994 08:49:37 GMT and a part of a second, whose encoded form is there. */
const MODIFIED = Date.UTC(1994, 10, 6, 8, 49, 37, 500)
const TAGS = ['W/"abc-br"', '"abc"']
const DATED: Validators = { tags: TAGS, lastModified: MODIFIED }
const UNDATED: Validators = { tags: TAGS }

const EXACT = 'Sun, 06 Nov 1994 08:49:37 GMT'
const BEFORE = 'Sun, 06 Nov 1994 08:49:36 GMT'
const AFTER = 'Mon, 07 Nov 1994 08:49:37 GMT'

type Row = readonly [headers: Record<string, string>, expected: string, undated?: string]

/** TABLE headers, what comes of them, and what comes of them where the file has no date, if that differs. */
const ROWS: readonly Row[] = [
  [{}, 'met'],
  // If-None-Match: the comparison is weak.
  [{ 'if-none-match': '"abc"' }, '"abc"'],
  [{ 'if-none-match': 'W/"abc"' }, '"abc"'],
  [{ 'if-none-match': '"abc-br"' }, 'W/"abc-br"'],
  [{ 'if-none-match': 'W/"abc-br"' }, 'W/"abc-br"'],
  [{ 'if-none-match': '"x", "abc"' }, '"abc"'],
  [{ 'if-none-match': '"x","y" , W/"abc"' }, '"abc"'],
  [{ 'if-none-match': '"abc", W/"abc-br"' }, 'W/"abc-br"'],
  [{ 'if-none-match': '"a,b", "abc"' }, '"abc"'],
  [{ 'if-none-match': '*' }, 'W/"abc-br"'],
  [{ 'if-none-match': ' * ' }, 'W/"abc-br"'],
  [{ 'if-none-match': '"x"' }, 'met'],
  [{ 'if-none-match': '"ABC"' }, 'met'],
  [{ 'if-none-match': '"x, abc"' }, 'met'],
  [{ 'if-none-match': 'abc' }, 'met'],
  [{ 'if-none-match': '"abc' }, 'met'],
  [{ 'if-none-match': '' }, 'met'],
  [{ 'if-none-match': '""' }, 'met'],
  [{ 'if-none-match': '"*"' }, 'met'],
  // If-Match: the comparison is strong.
  [{ 'if-match': '"abc"' }, 'met'],
  [{ 'if-match': '"x", "abc"' }, 'met'],
  [{ 'if-match': '*' }, 'met'],
  [{ 'if-match': 'W/"abc"' }, 'failed'],
  [{ 'if-match': 'W/"abc-br"' }, 'failed'],
  [{ 'if-match': '"abc-br"' }, 'failed'],
  [{ 'if-match': '"x"' }, 'failed'],
  [{ 'if-match': '' }, 'failed'],
  // If-Modified-Since, in the three forms of a date.
  [{ 'if-modified-since': EXACT }, 'W/"abc-br"', 'met'],
  [{ 'if-modified-since': AFTER }, 'W/"abc-br"', 'met'],
  [{ 'if-modified-since': BEFORE }, 'met'],
  [{ 'if-modified-since': 'Sunday, 06-Nov-94 08:49:37 GMT' }, 'W/"abc-br"', 'met'],
  [{ 'if-modified-since': 'Sun Nov  6 08:49:37 1994' }, 'W/"abc-br"', 'met'],
  [{ 'if-modified-since': 'Sun Nov  6 08:49:36 1994' }, 'met'],
  [{ 'if-modified-since': '1994-11-07' }, 'met'],
  [{ 'if-modified-since': 'Mon, 07 Nov 1994 08:49:37 +0100' }, 'met'],
  [{ 'if-modified-since': 'Mon, 99 Nov 1994 08:49:37 GMT' }, 'met'],
  [{ 'if-modified-since': '' }, 'met'],
  // If-Unmodified-Since.
  [{ 'if-unmodified-since': EXACT }, 'met'],
  [{ 'if-unmodified-since': AFTER }, 'met'],
  [{ 'if-unmodified-since': BEFORE }, 'failed', 'met'],
  [{ 'if-unmodified-since': 'yesterday' }, 'met'],
  // The tag counts, and not the date next to it.
  [{ 'if-none-match': '"x"', 'if-modified-since': EXACT }, 'met'],
  [{ 'if-none-match': '"abc"', 'if-modified-since': BEFORE }, '"abc"'],
  [{ 'if-match': '"abc"', 'if-unmodified-since': BEFORE }, 'met'],
  [{ 'if-match': '"x"', 'if-unmodified-since': EXACT }, 'failed'],
  // What must match comes before what must not.
  [{ 'if-match': '"x"', 'if-none-match': '"abc"' }, 'failed'],
  [{ 'if-match': '"abc"', 'if-none-match': '"abc"' }, '"abc"'],
  [{ 'if-unmodified-since': BEFORE, 'if-none-match': '"abc"' }, 'failed', '"abc"'],
]

function show(headers: Record<string, string>, validators: Validators): string {
  const result = checkPreconditions(new Map(Object.entries(headers)), validators)
  return result.outcome === 'not_modified' ? result.tag : result.outcome
}

test('preconditions hold, fail, or find what the visitor has, in the order of RFC 9110 13.2.2', () => {
  for (const [headers, expected, undated = expected] of ROWS) {
    assert.equal(show(headers, DATED), expected, JSON.stringify(headers))
    assert.equal(show(headers, UNDATED), undated, `without a date: ${JSON.stringify(headers)}`)
  }
})

test('a list in which nothing is a tag of the file is passed over, however long it is', () => {
  const lists = [
    '"'.repeat(16_000),
    'W/'.repeat(8000),
    `${' '.repeat(16_000)}"`,
    '"a",'.repeat(4000),
    '*'.repeat(16_000),
  ]
  for (const list of lists) assert.equal(show({ 'if-none-match': list }, DATED), 'met')
})

/** TABLE the If-Range header, the tag of what would be sent, and whether the range counts, with a date and without. */
const IF_RANGE: readonly (readonly [header: string | undefined, tag: string, dated: boolean, undated: boolean])[] = [
  [undefined, '"abc"', true, true],
  ['"abc"', '"abc"', true, true],
  [' "abc" ', '"abc"', true, true],
  ['"x"', '"abc"', false, false],
  ['W/"abc"', '"abc"', false, false],
  ['W/"abc"', 'W/"abc"', false, false],
  ['"x", "abc"', '"abc"', false, false],
  ['*', '"abc"', false, false],
  ['abc', '"abc"', false, false],
  [EXACT, '"abc"', true, false],
  [BEFORE, '"abc"', false, false],
  [AFTER, '"abc"', false, false],
]

test('a range counts where If-Range names exactly what would be sent', () => {
  for (const [header, tag, dated, undated] of IF_RANGE) {
    assert.equal(rangeApplies(header, tag, MODIFIED), dated, String(header))
    assert.equal(rangeApplies(header, tag), undated, `without a date: ${header}`)
  }
})
