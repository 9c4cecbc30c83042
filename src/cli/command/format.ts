/** Formats responses for a terminal: a list as a table, other data as names and values. */

import type { Report, AttentionItem as ReportItem, Section } from '../../operations/report/schema.ts'
import { LAST_DATE_MS } from '../../platform/base/clock.ts'
import { oneLine } from '../command-line/print.ts'

type Item = Record<string, unknown>

/** Formats JSON data. A list inside an object is a table below its other values. */
export function formatForTerminal(data: unknown): string {
  if (!isObject(data)) return String(data ?? '')
  const [values, lists] = [new Map<string, string>(), new Map<string, Item[]>()]
  for (const [name, value] of Object.entries(data)) {
    if (isTable(value)) lists.set(name, value)
    else values.set(name, cell(name, value))
  }
  const width = Math.max(0, ...[...values.keys()].map((name) => name.length))
  const lines = [...values].map(([name, value]) => `${name.padEnd(width)}  ${value}`.trimEnd())
  for (const [name, rows] of lists) lines.push(...(rows.length === 0 ? [`no ${name}`] : tableOf(rows)))
  return lines.join('\n')
}

function tableOf(rows: Item[]): string[] {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))]
  const cells = [names, ...rows.map((row) => names.map((name) => cell(name, row[name])))]
  const widths = names.map((_, at) => Math.max(...cells.map((line) => line[at]!.length)))
  return cells.map((line) =>
    line
      .map((text, at) => text.padEnd(widths[at]!))
      .join('  ')
      .trimEnd(),
  )
}

function cell(name: string, value: unknown): string {
  return oneLine(valueText(name, value))
}

/** Formats times: names that end in "At". */
function valueText(name: string, value: unknown): string {
  if (value === null || value === undefined) return '-'
  if (typeof value === 'number' && /At$/.test(name)) return new Date(Math.min(value, LAST_DATE_MS)).toISOString()
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (Array.isArray(value))
    return (
      value.map((item) => (isObject(item) ? String(item.id ?? JSON.stringify(item)) : String(item))).join(',') || '-'
    )
  return isObject(value) ? JSON.stringify(value) : String(value)
}

function isTable(value: unknown): value is Item[] {
  return Array.isArray(value) && value.every(isObject)
}

function isObject(value: unknown): value is Item {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Formats the attention report, one line per item. docs/operations.md: Attention report. */
export function showReport({ sections }: Report): string {
  return sections.length === 0 ? 'nothing needs attention' : sections.map(showSection).join('\n\n')
}

function showSection({ title, count, partial, items }: Section): string {
  const note = items.length < count ? `, these ${items.length} for the longest` : ''
  const more = partial ? ' or details: not all was looked through' : ''
  return [`${title}: ${count}${more}${note}`, ...items.map(showItem)].join('\n')
}

function showItem({ what, where, since, advice }: ReportItem): string {
  const parts = [what, where && `of ${where}`, since !== null && `since ${new Date(since).toISOString().slice(0, 10)}`]
  const line = `  ${parts.filter(Boolean).join(', ')}: ${advice}`
  // Users chose the names, so line ends are removed.
  return oneLine(line)
}
