/** What the failover drill prints in the end. */
import type { Found } from '../faults/fault.ts'
import type { Figures } from './drill.ts'

export type Row = { fault: string; found: Found; figures: Figures[] }

const HEAD = [
  'fault',
  'way',
  'cycles',
  'acknowledged',
  'lost',
  'half done',
  'twice',
  'leads s',
  'writes s',
  'refusals s',
]
const LEFT_COLUMNS = 2

/** A line for each fault and way. Seconds are the median of the cycles, and the longest. */
export function showRows(rows: Row[], seconds: number): string {
  const lines = rows.flatMap(({ fault, found, figures }) =>
    figures.map((one) => [
      fault,
      one.way,
      ...[found.cycles, one.acknowledged, one.lost, one.halfDone, one.twice].map(String),
      ...[one.leads, one.writes, one.refusals].map(spanOf),
    ]),
  )
  const widths = HEAD.map((_, at) => Math.max(...[HEAD, ...lines].map((line) => line[at]!.length)))
  const padded = (cell: string, at: number) =>
    at < LEFT_COLUMNS ? cell.padEnd(widths[at]!) : cell.padStart(widths[at]!)
  const table = [HEAD, ...lines].map((line) => line.map(padded).join('  ').trimEnd())
  const notes = rows.flatMap(({ fault, found }) =>
    [...found.notes, ...found.broken.slice(0, 10).map((line) => `BROKEN: ${line.slice(0, 1000)}`)].map(
      (note) => `${fault}: ${note}`,
    ),
  )
  const broken = rows.reduce((sum, { found }) => sum + found.broken.length, 0)
  return `${[...table, '', ...notes, `${broken} promises broken, in ${Math.round(seconds)} s`].join('\n')}\n`
}

function spanOf(values: number[]): string {
  if (values.length === 0) return '-'
  const sorted = values.toSorted((a, b) => a - b)
  return [sorted[Math.floor((sorted.length - 1) / 2)]!, sorted.at(-1)!].map((value) => value.toFixed(1)).join(' / ')
}
