/** The kept pages in memory, as pure functions of their calls. docs/prerendering.md. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createPages, largest, type Page, type PageBudget } from '../../../src/sites/prerender/pages.ts'
import { pageOf as orderedPage, type PageOrder } from '../../../src/sites/prerender/renderings.ts'

const MOST = 1024 ** 2
const BUDGET = { pages: 6, texts: MOST, ofAccount: { pages: 4, bytes: 10 * 4096, texts: MOST } }

function pageOf(key: string, change: Partial<Page> = {}): Page {
  return {
    ...{ key, group: undefined, account: 'team_1', deploymentId: 'd1', status: 200, headers: [], tags: [] },
    ...{ contentType: 'text/html', body: { digest: key, size: 10, isOwned: true } },
    ...{ at: 100, number: 0, freshUntil: 200, staleUntil: 300, isFirst: false },
    ...change,
  }
}

function open(budget: PageBudget = BUDGET) {
  const released: string[] = []
  return { released, pages: createPages(budget, (account, digest) => void released.push(`${account}/${digest}`)) }
}

test('a page is fresh, then stale, then gone', () => {
  const { pages } = open()
  pages.keep(pageOf('a'))
  const page = pages.use('a')!
  assert.deepEqual(
    [199, 200, 299, 300].map((now) => pages.freshness(page, now)),
    ['fresh', 'stale', 'stale', 'gone'],
  )
  assert.equal(pages.freshness(pageOf('b', { freshUntil: null, staleUntil: null }), 1e15), 'fresh')
})

test('a page that was renewed makes older ones of its group stale, and only those', () => {
  const { pages } = open()
  const [html, data, other] = [
    pageOf('html', { group: 'g', freshUntil: null }),
    pageOf('data', { group: 'g', freshUntil: null }),
    pageOf('other', { group: 'h', freshUntil: null }),
  ]
  for (const page of [html, data, other]) pages.keep(page)
  const renewed = { ...html, at: 150 }
  pages.keep(renewed)
  pages.renewGroup('g', 150)
  assert.deepEqual(
    [renewed, data, other].map((page) => pages.freshness(page, 160)),
    ['fresh', 'group', 'fresh'],
  )
  pages.keep({ ...data, at: 155 })
  assert.equal(pages.freshness(pages.use('data')!, 160), 'fresh')
  assert.equal(
    pages.freshness(pages.use('html')!, 160),
    'fresh',
    'two pages of a group do not renew each other for ever',
  )
})

test('an account loses the pages that it used longest ago, by number and by bytes', () => {
  const { pages, released } = open()
  for (const key of ['a', 'b', 'c', 'd']) pages.keep(pageOf(key))
  pages.use('a')
  pages.keep(pageOf('e'))
  assert.equal(pages.use('b'), undefined)
  assert.ok(pages.use('a'))
  assert.deepEqual(released, ['team_1/b'])
  pages.keep(pageOf('large', { body: { digest: 'large', size: 9 * 4096, isOwned: true } }))
  assert.deepEqual(pages.used('team_1'), { pages: 2, bytes: 10 * 4096 })
  pages.keep(pageOf('too large', { body: { digest: 'x', size: 11 * 4096, isOwned: true } }))
  assert.deepEqual([pages.use('too large'), pages.used('team_1')], [undefined, { pages: 0, bytes: 0 }])
})

test('above the budget of all, the account that has most gives way', () => {
  const { pages } = open()
  for (const key of ['a', 'b', 'c', 'd']) pages.keep(pageOf(key))
  for (const key of ['x', 'y', 'z']) pages.keep(pageOf(key, { account: 'team_2' }))
  assert.equal(pages.use('a'), undefined)
  assert.deepEqual([pages.used('team_1').pages, pages.used('team_2').pages], [3, 3])
})

test('a body is released with the last page that has it, and one of the output never', () => {
  const { pages, released } = open()
  const body = { digest: 'same', size: 1, isOwned: true }
  pages.keep(pageOf('a', { body }))
  pages.keep(pageOf('b', { body, deploymentId: 'd2' }))
  pages.keep(pageOf('a', { body }))
  pages.keep(pageOf('file', { body: { digest: 'file', size: 1, isOwned: false } }))
  assert.deepEqual([released, pages.ownsBody('team_1', 'same'), pages.ownsBody('team_1', 'file')], [[], true, false])
  pages.dropDeployments(new Set(['d1']))
  assert.deepEqual([released, [...pages.all()].map(({ key }) => key)], [[], ['b']])
  pages.drop(pages.use('b')!)
  assert.deepEqual([released, pages.used('team_1')], [['team_1/same'], { pages: 0, bytes: 0 }])
})

/** A page whose headers have this many characters, without a body of its own. */
function headedOf(key: string, account: string, characters: number): Page {
  const headers = [{ name: 'x-a', value: 'x'.repeat(characters) }]
  return pageOf(key, { account, headers, body: { digest: key, size: 10, isOwned: false } })
}

test('headers and tags that stay in memory have a budget, of an account and of all', () => {
  const { pages } = open({ pages: 100, texts: 10_000, ofAccount: { pages: 50, bytes: MOST, texts: 7000 } })
  const kept = () => [...pages.all()].map(({ key }) => key).sort()
  for (const key of ['b1', 'b2', 'b3']) pages.keep(pageOf(key, { account: 'team_2', tags: ['x'.repeat(900)] }))
  for (let at = 0; at < 10; at++) pages.keep(headedOf(`a${at}`, 'team_1', 1000))
  assert.deepEqual(kept(), ['a4', 'a5', 'a6', 'a7', 'a8', 'a9', 'b1', 'b2', 'b3'])
  pages.keep(headedOf('c', 'team_3', 3000))
  assert.deepEqual(kept(), ['a7', 'a8', 'a9', 'b1', 'b2', 'b3', 'c'], 'the account that has most gives way')
  pages.keep(headedOf('a', 'team_1', 8000))
  assert.deepEqual(kept(), ['b1', 'b2', 'b3', 'c'], 'one that is too large is not kept')
  for (let at = 0; at < 30; at++) pages.keep(headedOf('same', 'team_1', 1000))
  for (const page of [...pages.all()]) pages.drop(page)
  for (let at = 0; at < 6; at++) pages.keep(headedOf(`d${at}`, 'team_1', 1000))
  assert.equal(kept().length, 6, 'what is dropped or replaced is not counted')
})

test('of those that have most, the first one gives way', () => {
  const sizes = [{ of: 1 }, { of: 3 }, { of: 3 }, { of: 2 }]
  assert.equal(
    largest(sizes, (one) => one.of),
    sizes[1],
  )
})

test('a page without a type is bytes', () => {
  const order = { spec: { account: 'team_1', deploymentId: 'd1' }, asked: { key: 'a', group: undefined } } as PageOrder
  const typeOf = (headers: Record<string, string>) => orderedPage(order, 200, headers).contentType
  assert.deepEqual([typeOf({}), typeOf({ 'content-type': 'text/css' })], ['application/octet-stream', 'text/css'])
})
