/** How a query is split and read, and what a list says of a filter that it has not. src/platform/http/query.ts; docs/clients.md. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  readQuery,
  rejectUnknownFilters,
  rejectUnknownParameters,
  splitQuery,
} from '../../../src/platform/http/query.ts'
import { Refusal } from '../../../src/platform/refusals/refusal.ts'
import { Type } from '../../../src/platform/schema/builder.ts'

const Query = Type.Object({
  count: Type.Optional(Type.Integer()),
  ratio: Type.Optional(Type.Number()),
  on: Type.Optional(Type.Boolean()),
  names: Type.Optional(Type.Array(Type.String())),
  search: Type.Optional(Type.String()),
})
const read = (text: string) => readQuery(Query, splitQuery(`/path?${text}`))
const refused = (sentence: RegExp) => (error: unknown) =>
  error instanceof Refusal && error.key === 'bad_request' && sentence.test(error.message)

test('a query is split at "&", a plus is a space, and the first of a key that is repeated counts', () => {
  const { values, again, fault } = splitQuery('/path?a=1&&b=x+y%2Bz&a=2&flag&a=3')
  assert.deepEqual({ ...values }, { a: '1', b: 'x y+z', flag: '' })
  assert.deepEqual([...again], [['a', ['2', '3']]])
  assert.equal(fault, undefined)
  for (const bad of ['a=%', 'a=%ff', 'a=%00']) assert.match(splitQuery(`/path?${bad}`).fault!, /bad escape/)
})

test('numbers and booleans are read from their text, and a list is cut at its commas', () => {
  assert.deepEqual(read('count=-5&ratio=7&search=1'), { count: -5, ratio: 7, search: '1' })
  for (const text of ['true', '1']) assert.deepEqual(read(`on=${text}`), { on: true })
  for (const text of ['false', '0']) assert.deepEqual(read(`on=${text}`), { on: false })
  assert.deepEqual(read('names=a,b&names=c'), { names: ['a', 'b', 'c'] })
  // Above 16 digits a number would not be the one that was written.
  for (const bad of ['count=12345678901234567', 'count=1.5', 'on=yes', 'search=a&search=b'])
    assert.throws(() => read(bad), refused(/^Invalid request: /), bad)
})

test('an inherited property of an object is not a declared parameter', () => {
  assert.deepEqual(readQuery(undefined, splitQuery('/path?toString=1')), {})
  assert.throws(
    () => rejectUnknownFilters({ query: Query }, splitQuery('/path?toString=1')),
    refused(/`toString` is not/),
  )
})

test('an unknown filter is refused with the names that the list has', () => {
  const Meta = Type.Unsafe({
    type: 'object',
    properties: {},
    patternProperties: { '^meta-[a-z]+$': { type: 'string' } },
  })
  const ask = (query: typeof Query | typeof Meta | undefined, text: string) =>
    rejectUnknownFilters({ ...(query && { query }) }, splitQuery(`/path?${text}`))
  assert.throws(() => ask(Query, 'state=x'), refused(/; it has count, ratio, on, names, search\.$/))
  assert.throws(() => ask(Meta, 'meta-=x'), refused(/; it has meta-<field>\.$/))
  assert.throws(() => ask(undefined, 'state=x'), refused(/; it has none\.$/))
  ask(Meta, 'meta-branch=x')
  ask(Query, 'count=1&teamId=t&slug=s&source=x&limit=5')
  assert.throws(() => rejectUnknownParameters(undefined, splitQuery('/path?a=1')), refused(/Allowed: none\.$/))
  assert.throws(
    () => rejectUnknownParameters(Query, splitQuery('/path?a=1')),
    refused(/Allowed: count, ratio, on, names, search\.$/),
  )
})
