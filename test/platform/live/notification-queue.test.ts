/** Which pages are notified next, and which are closed. docs/console.md: Live updates. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Topic } from '../../../src/platform/db/change-feed.ts'
import { createNotificationQueue } from '../../../src/platform/live/notification-queue.ts'
import { createSubscriptions } from '../../../src/platform/live/subscriptions.ts'

type Page = { owner: string; userId: string; topics: readonly Topic[] }
const page = (owner = 'one', userId = `of ${owner}`): Page => ({ owner, userId, topics: [`account ${owner}`] })
const pagesOf = (count: number, owner?: string) => Array.from({ length: count }, () => page(owner))

test('a page is notified at once, and then every 0.8 s', () => {
  const turns = createNotificationQueue<Page>()
  const only = page()
  const timesBetween = (fromMs: number, toMs: number) => {
    let times = 0
    for (let at = fromMs; at < toMs; at += 50) {
      turns.add(only)
      times += turns.takeDue(at).length
    }
    return times
  }
  assert.equal(timesBetween(0, 50), 1)
  assert.equal(timesBetween(50, 800), 0)
  assert.equal(timesBetween(800, 850), 1)
})

test('of the pages of an account twenty are notified within half a second and then two a second, each in its turn', () => {
  const turns = createNotificationQueue<Page>()
  const pages = pagesOf(50)
  const told = new Map<Page, number>()
  for (let at = 0; at < 60_000; at += 50) {
    for (const one of pages) turns.add(one)
    for (const one of turns.takeDue(at)) told.set(one, (told.get(one) ?? 0) + 1)
    if (at === 500) assert.ok(told.size >= 20 && told.size <= 21, `${told.size}`)
  }
  const sum = [...told.values()].reduce((all, times) => all + times, 0)
  assert.ok(sum >= 135 && sum <= 140, `${sum}`)
  assert.equal(told.size, 50)
  assert.ok(Math.max(...told.values()) <= 4, 'none is notified much more often than others')
})

test('an account that rests gets no more than its twenty at once', () => {
  const turns = createNotificationQueue<Page>()
  let told = 0
  for (let at = 0; at < 10_000; at += 50) {
    // Other pages each time, so that none waits.
    for (const one of at % 1000 === 0 ? pagesOf(20) : []) turns.add(one)
    told += turns.takeDue(at).length
  }
  assert.ok(told <= 41, `${told}`)
})

test('all pages together get fifty notifications a second, few at once, and accounts take turns', () => {
  const turns = createNotificationQueue<Page>()
  for (const one of pagesOf(500, 'loud')) turns.add(one)
  for (let n = 0; n < 300; n++) turns.add(page(`account ${n}`))
  const first = turns.takeDue(0)
  assert.equal(first.length, 3)
  assert.equal(first.filter(({ owner }) => owner === 'loud').length, 1)
  let later = 0
  for (let at = 50; at <= 1000; at += 50) later += turns.takeDue(at).length
  assert.equal(later, 50)
})

test('a page that is closed while it waits is not notified', () => {
  const turns = createNotificationQueue<Page>()
  const [one, other] = [page(), page()]
  turns.add(one)
  turns.add(other)
  turns.remove(one)
  assert.deepEqual(turns.takeDue(0), [other])
  assert.ok(turns.isEmpty())
})

const LIMITS = { ofAll: 6, ofAccount: 4, ofPerson: 100 }

test('pages of one account and of all are bounded, and the account with most loses its oldest', () => {
  const pages = createSubscriptions<Page>(LIMITS)
  const first = page('large')
  const inTheWay = (owner: string) => pages.evictionFor(page(owner))?.page
  for (const one of [first, ...pagesOf(3, 'large')]) pages.add(one)
  assert.equal(inTheWay('large'), first)
  assert.equal(inTheWay('small'), undefined)
  for (const one of pagesOf(2, 'small')) pages.add(one)
  assert.equal(inTheWay('small'), first)
  assert.equal(inTheWay('new'), first)
  assert.equal([...pages.of('account large')].length, 4)
  assert.equal(pages.remove(first), true)
  assert.equal(pages.remove(first), false)
  assert.equal([...pages.of('account large')].length, 3)
  assert.equal(inTheWay('new'), undefined)
  for (const one of [...pages.all]) pages.remove(one)
  assert.equal(pages.has('account large'), false)
})

test('the pages of a user in all accounts are limited, and their own oldest one is closed', () => {
  const pages = createSubscriptions<Page>({ ofAll: 100, ofAccount: 100, ofPerson: 3 })
  const mine = ['one', 'other', 'one'].map((owner) => page(owner, 'me'))
  const theirs = page('one', 'mate')
  for (const one of [theirs, ...mine]) pages.add(one)
  const inTheWay = (userId: string) => pages.evictionFor({ owner: 'one', userId })
  assert.equal(inTheWay('me')?.page, mine[0])
  assert.match(inTheWay('me')!.why, /^You have 100 pages with live updates open/)
  assert.equal(inTheWay('mate'), undefined)
  pages.remove(mine[1]!)
  assert.equal(inTheWay('me'), undefined)
})

test('in a full account the user with most pages loses one, and never to a user who has more', () => {
  const pages = createSubscriptions<Page>(LIMITS)
  const few = page('one', 'few')
  const many = [1, 2, 3].map(() => page('one', 'many'))
  for (const one of [few, ...many]) pages.add(one)
  for (const userId of ['few', 'many', 'new']) {
    const full = pages.evictionFor({ owner: 'one', userId })!
    assert.equal(full.page, many[0], userId)
    assert.match(full.why, /^The account has 1000 pages with live updates open/)
  }
  // Above the limit of all pages, it is the user with most pages in the account with most pages.
  for (const one of pagesOf(2, 'small')) pages.add(one)
  const full = pages.evictionFor(page('new'))!
  assert.equal(full.page, many[0])
  assert.match(full.why, /^The service has 4000 pages with live updates open/)
})
