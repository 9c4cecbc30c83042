/** Charts and relative times. docs/console.md: Charts, Page layout. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { barChart, type ChartSeries, columnChart, sparkline } from '../../src/console/charts.ts'
import { lastUsedLabel, relativeTime } from '../../src/console/time.ts'

const KINDS: readonly ChartSeries[] = [
  { words: 'delivered', look: 'good' },
  { words: 'failed', look: 'bad' },
]
const columnsOf = (...all: number[][]) => all.map((counts, at) => ({ name: `${at}:00`, title: `hour ${at}`, counts }))

test('three columns are stacked, with their table; fewer are shown as text', () => {
  const drawn = columnChart('Deliveries', KINDS, columnsOf([1, 3], [0, 2], [0, 0])).markup
  const heights = [...drawn.matchAll(/<rect class="(\w+)"[^>]* y="([\d.]+)"[^>]*height="([\d.]+)"/g)].map(
    ([, ...one]) => one,
  )
  assert.deepEqual(heights.slice(0, 4), [
    ['good', '120', '40'],
    ['bad', '0', '120'],
    ['good', '160', '0'],
    ['bad', '80', '80'],
  ])
  assert.match(drawn, /Deliveries as a table[\s\S]*<th scope="col" class="num">failed<\/th>/)
  assert.match(drawn, /<td data-label="failed" class="num">3<\/td>/)
  const two = columnChart('Deliveries', KINDS, columnsOf([1, 3], [0, 0])).markup
  assert.equal(
    two,
    '<p><span title="hour 0">0:00</span>: 1 delivered, 3 failed.</p><p><span title="hour 1">1:00</span>: nothing.</p>',
  )
  assert.match(columnChart('Deliveries', KINDS, []).markup, /No data yet/)
})

test('a bar is an element of its own in its cell, which stays a cell, and its number stands at the right', () => {
  const { markup } = barChart(
    'Kept',
    'Of what',
    [
      { name: 'Events', count: 5 },
      { name: 'Lines', count: 20 },
    ],
    'None',
  )
  assert.match(markup, /<td data-label="Share" class="share"><span class="bar"><svg[^>]*><rect class="main" width="25"/)
  assert.match(markup, /<th scope="col" class="num">Count<\/th>/)
  assert.match(markup, /<td data-label="Count" class="num">20<\/td>/)
})

test('a last use is rounded to the hour, and never earlier than the creation', () => {
  const at = Date.UTC(2026, 0, 1, 10)
  const minute = 60_000
  const timeOf = (last: number | null, made: number, now: number) =>
    /^<time datetime="([^"]*)" title="([^"]*)">(.*)<\/time>$/.exec(lastUsedLabel(last, made, now).markup)?.slice(1)
  const exact = (moment: number) => new Date(moment).toISOString()
  assert.equal(lastUsedLabel(null, at, at).markup, 'never')
  // Made and used at 10:40: the store knows the hour that began at 10:00.
  const made = at + 40 * minute
  assert.deepEqual(timeOf(at, made, made), [exact(made), `${exact(made)} (to the hour)`, 'within the last hour'])
  assert.equal(timeOf(at, made, made + 59 * minute)![2], 'within the last hour')
  assert.equal(timeOf(at, made, made + 60 * minute)![2], '1 hour ago')
  assert.equal(
    timeOf(at, made, made + 180 * minute)![2],
    relativeTime(made, made + 180 * minute).markup.match(/>(.*)</)![1],
  )
  assert.deepEqual(timeOf(at, at - minute, at + 121 * minute), [exact(at), `${exact(at)} (to the hour)`, '2 hours ago'])
  assert.equal(
    relativeTime(at, at + minute).markup,
    `<time datetime="${exact(at)}" title="${exact(at)}">1 minute ago</time>`,
  )
  const said = (time: number, now: number) => />(.*)</.exec(relativeTime(time, now).markup)![1]
  const hour = 60 * minute
  // A Monday at 03:00, said on the Wednesday at 02:00: the day before yesterday.
  assert.equal(said(at, at + 47 * hour), '1 day ago')
  assert.equal(said(at + 34 * hour, at), 'in 1 day')
  assert.equal(said(at, at + 40 * 24 * hour), '1 month ago')
})

test('a line is drawn of three values, says what it is, and reaches its height at the highest', () => {
  assert.equal(sparkline('Sizes', [0, 1, 2, 0]), undefined, 'two values are too few')
  const { markup } = sparkline('Sizes & more', [1, 4, 2])!
  assert.match(markup, /role="img" aria-label="Sizes &amp; more">/)
  assert.match(markup, /<path class="stroke" d="M0 20\.5L60 1L120 14"\/>/)
})
