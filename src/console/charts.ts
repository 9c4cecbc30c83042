/** Charts as server-rendered SVG, each with a table of its values. docs/console.md: Charts. */
import { type Html, html } from '../platform/pages/html.ts'
import { dataTable } from './fields.ts'

/** `counts`: one per series. */
export type Column = { name: string; title: string; counts: readonly number[] }
/** `look`: the CSS class of its color. */
export type ChartSeries = { words: string; look: 'good' | 'bad' | 'main' | 'soft' }

const [WIDTH, HEIGHT, GAP] = [960, 160, 3]
/** This many columns fill the chart. Fewer are aligned right, where the latest is. */
const WIDEST = 12

/** Fewer columns are rendered as sentences. */
const FEWEST = 3

/** Renders stacked columns, or sentences if there are few columns. `tell` formats a number. */
export function columnChart(
  title: string,
  kinds: readonly ChartSeries[],
  columns: readonly Column[],
  tell: (count: number) => string = String,
): Html {
  if (columns.length === 0) return html`<p class="soft">No data yet.</p>`
  if (columns.length < FEWEST) return html`${columns.map((column) => sayColumn(column, kinds, tell))}`
  const sumOf = ({ counts }: Column) => counts.reduce((sum, count) => sum + count, 0)
  const highest = Math.max(1, ...columns.map(sumOf))
  const width = WIDTH / Math.max(columns.length, WIDEST)
  const begin = WIDTH - columns.length * width
  const bars = columns.flatMap((column, at) => {
    let top = HEIGHT
    return column.counts.map((count, kind) => {
      const height = (count / highest) * HEIGHT
      top -= height
      return html`<rect class="${kinds[kind]!.look}" x="${round(begin + at * width)}" y="${round(top)}" width="${round(width - GAP)}" height="${round(height)}"/>`
    })
  })
  return html`<figure class="drawing">
<div class="plot"><p class="scale"><span>${tell(highest)}</span><span>${tell(0)}</span></p>
<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${title}, at most ${tell(highest)}" preserveAspectRatio="none">${bars}</svg>
<p class="ends">${endsOf(columns).map((name) => html`<span>${name}</span>`)}</p></div>
<figcaption>${kinds.map(({ words, look }) => html`<span class="key ${look}">${words}</span> `)}</figcaption>
<details><summary>${title} as a table</summary>
${dataTable(
  title,
  ['When', ...kinds.map(({ words }) => words)],
  columns.map(
    ({ name, title: about, counts }) =>
      html`<tr><th scope="row"><span title="${about}">${name}</span></th>${counts.map((count) => html`<td class="num">${tell(count)}</td>`)}</tr>`,
  ),
  { numbers: kinds.map(({ words }) => words) },
)}</details>
</figure>`
}

/** `23:00 UTC: 2 failed, 1 waiting.` */
function sayColumn(
  { name, title, counts }: Column,
  kinds: readonly ChartSeries[],
  tell: (count: number) => string,
): Html {
  const listed = kinds.flatMap(({ words }, at) => (counts[at]! > 0 ? [`${tell(counts[at]!)} ${words}`] : []))
  return html`<p><span title="${title}">${name}</span>: ${listed.join(', ') || 'nothing'}.</p>`
}

/** Axis labels: first, middle and last column. */
function endsOf(columns: readonly Column[]): string[] {
  const last = columns.at(-1)!.name
  if (columns.length < WIDEST) return ['', last]
  return [columns[0]!.name, columns[Math.floor(columns.length / 2)]!.name, last]
}

const [SPARK_WIDTH, SPARK_HEIGHT] = [120, 28]

/** Renders a line without axes next to a number; undefined for values too few to draw. `words`: what it says, with its range. */
export function sparkline(words: string, values: readonly number[]): Html | undefined {
  if (values.filter((value) => value > 0).length < FEWEST) return undefined
  const highest = Math.max(...values)
  const points = values.map((value, at) => {
    const [x, y] = [(at / (values.length - 1)) * SPARK_WIDTH, (1 - value / highest) * (SPARK_HEIGHT - 2) + 1]
    return `${round(x)} ${round(y)}`
  })
  const line = points.join('L')
  return html`<svg class="chart spark" viewBox="0 0 ${SPARK_WIDTH} ${SPARK_HEIGHT}" preserveAspectRatio="none" role="img" aria-label="${words}"><path class="area" d="M0 ${SPARK_HEIGHT}L${line}L${SPARK_WIDTH} ${SPARK_HEIGHT}z"/><path class="stroke" d="M${line}"/></svg>`
}

type ChartBar = { name: string; count: number; told?: string }

/** Renders horizontal bars in a table. `none`: the text for an empty table. */
export function barChart(title: string, what: string, bars: readonly ChartBar[], none: string): Html {
  const longest = Math.max(1, ...bars.map(({ count }) => count))
  return dataTable(
    title,
    [what, 'Share', 'Count'],
    bars.map(
      ({ name, count, told }) => html`<tr><td>${name}</td>
<td class="share"><span class="bar"><svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true"><rect class="main" width="${round((count / longest) * 100)}" height="8"/></svg></span></td><td class="num">${told ?? count}</td></tr>`,
    ),
    { none, numbers: ['Count'] },
  )
}

function round(value: number): number {
  return Math.round(value * 10) / 10
}
