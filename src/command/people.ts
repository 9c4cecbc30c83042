/** An answer of the service as lines for people: a list as a table, the rest as names and values. */

type Item = Record<string, unknown>

/** `data` is what JSON carries. A list inside an object stands as a table below its other values. */
export function showToPeople(data: unknown): string {
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

/** Moments are read, not counted: a name that ends in "At" is one. */
function cell(name: string, value: unknown): string {
  if (value === null || value === undefined) return '-'
  if (typeof value === 'number' && /At$/.test(name)) return new Date(value).toISOString()
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  if (Array.isArray(value))
    return value.map((one) => (isObject(one) ? String(one.id ?? JSON.stringify(one)) : String(one))).join(',') || '-'
  return isObject(value) ? JSON.stringify(value) : String(value)
}

function isTable(value: unknown): value is Item[] {
  return Array.isArray(value) && value.every(isObject)
}

function isObject(value: unknown): value is Item {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
