/**
 * The drawing of the data model as SVG: a panel for each group of tables, a box for each table with its key and its references. An arrow
 * points to the table of the same panel that a column refers to; a reference to another panel is next to its column.
 */
import type { Column, Group, Table } from './model.ts'

const BOX = { width: 296, head: 26, row: 19, foot: 6, gap: 14 }
const BETWEEN = 48
const PANEL = { pad: 16, title: 34, gap: 20 }
const PANELS_ACROSS = 2
/** Least number of columns of boxes in a panel: tables that have no arrow stand where there is room. */
const COLUMNS = 3
const COLOURS = ['#2563a8', '#8a4b08', '#187a4d', '#7a3fa0', '#a8324e', '#00707a', '#5b5f0a', '#555b66']

type Placed = { table: Table; shown: Column[]; more: number; column: number; x: number; y: number; height: number }
type Panel = { group: Group; colour: string; boxes: Placed[]; width: number; height: number }

/** The drawing, the same text for the same model. */
export function draw(groups: readonly Group[]): string {
  const homes = new Map(groups.flatMap(({ tables }, at) => tables.map(({ name }) => [name, at] as const)))
  const panels = groups.map((group, at) => panelOf(group, COLOURS[at % COLOURS.length]!))
  const columns = pack(panels)
  const width = columns.reduce((sum, { width: one }) => sum + one + PANEL.gap, PANEL.gap)
  const height = Math.max(...columns.map(({ height: one }) => one)) + PANEL.gap
  const drawn = columns.flatMap(({ x, panels: all }) =>
    all.map(({ panel, y, width: wide }) =>
      drawPanel(panel, x, y, wide, (name) => COLOURS[homes.get(name)! % COLOURS.length]!),
    ),
  )
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="system-ui, sans-serif" font-size="13">
<title>The tables of Berth</title>
<defs><marker id="to" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto"><path d="M0 0 8 4 0 8Z" fill="#444"/></marker></defs>
<rect width="${width}" height="${height}" fill="#fff"/>
${drawn.join('\n')}
</svg>
`
}

/** Puts each panel into the column of panels that is shortest so far. */
function pack(panels: readonly Panel[]) {
  const columns = Array.from({ length: PANELS_ACROSS }, () => ({
    x: 0,
    width: 0,
    height: PANEL.gap,
    panels: [] as { panel: Panel; y: number; width: number }[],
  }))
  for (const panel of panels) {
    const column = columns.reduce((least, one) => (one.height < least.height ? one : least))
    column.panels.push({ panel, y: column.height, width: 0 })
    column.height += panel.height + PANEL.gap
    column.width = Math.max(column.width, panel.width)
  }
  let x = PANEL.gap
  for (const column of columns) {
    column.x = x
    x += column.width + PANEL.gap
    for (const one of column.panels) one.width = column.width
  }
  return columns
}

/** Each table stands right of those of its panel that it refers to. One without any such tie stands in the shortest column. */
function panelOf(group: Group, colour: string): Panel {
  const boxes: Placed[] = []
  const heights = Array<number>(COLUMNS).fill(0)
  const place = (table: Table, column: number) => {
    const shown = table.columns.filter(({ isKey, isUnique, refersTo }) => isKey || isUnique || refersTo !== undefined)
    const more = table.columns.length - shown.length
    const height = BOX.head + (shown.length + Number(more > 0)) * BOX.row + BOX.foot
    const y = PANEL.title + (heights[column] ?? 0)
    boxes.push({ table, shown, more, column, x: PANEL.pad + column * (BOX.width + BETWEEN), y, height })
    heights[column] = (heights[column] ?? 0) + height + BOX.gap
  }
  const alone = group.tables.filter((table) => !group.tables.some((other) => isTied(table, other)))
  for (const table of group.tables) if (!alone.includes(table)) place(table, depthOf(table, group.tables))
  for (const table of alone) place(table, heights.indexOf(Math.min(...heights)))
  const columns = heights.length
  return {
    group,
    colour,
    boxes,
    width: 2 * PANEL.pad + columns * BOX.width + (columns - 1) * BETWEEN,
    height: PANEL.title + Math.max(...heights) - BOX.gap + PANEL.pad,
  }
}

function refersTo(one: Table, other: Table): boolean {
  return one.name !== other.name && one.columns.some((column) => column.refersTo === other.name)
}

function isTied(one: Table, other: Table): boolean {
  return refersTo(one, other) || refersTo(other, one)
}

function depthOf(table: Table, tables: readonly Table[], seen: readonly Table[] = []): number {
  const parents = tables.filter((other) => refersTo(table, other) && !seen.includes(other))
  return Math.max(-1, ...parents.map((parent) => depthOf(parent, tables, [...seen, table]))) + 1
}

function drawPanel(
  { group, colour, boxes, height }: Panel,
  x: number,
  y: number,
  width: number,
  colourOf: (table: string) => string,
): string {
  const arrows = boxes.flatMap((box) => arrowsOf(box, boxes))
  const drawn = boxes.map((box) => drawBox(box, boxes, colour, colourOf))
  return `<g transform="translate(${x} ${y})">
<rect width="${width}" height="${height}" rx="8" fill="${colour}" fill-opacity="0.06" stroke="${colour}" stroke-opacity="0.4"/>
<text x="${PANEL.pad}" y="23" font-size="16" font-weight="600" fill="${colour}">${group.title}</text>
${[...arrows, ...drawn].join('\n')}
</g>`
}

/** The box of the column to the left that a column refers to; an arrow that went further would pass behind other boxes. */
function neighbourOf({ refersTo: name }: Column, { column }: Placed, boxes: readonly Placed[]): Placed | undefined {
  return boxes.find((box) => box.table.name === name && box.column === column - 1)
}

/** From the left side of the row to the right side of the table that it refers to. */
function arrowsOf(box: Placed, boxes: readonly Placed[]): string[] {
  return box.shown.flatMap((column, at) => {
    const target = neighbourOf(column, box, boxes)
    if (target === undefined) return []
    const [fromX, fromY] = [box.x, box.y + BOX.head + (at + 0.5) * BOX.row]
    const [toX, toY] = [target.x + BOX.width, target.y + BOX.head / 2]
    return [
      `<path d="M${fromX} ${fromY}C${fromX - BETWEEN} ${fromY} ${toX + BETWEEN} ${toY} ${toX} ${toY}" fill="none" stroke="#444" marker-end="url(#to)"/>`,
    ]
  })
}

function drawBox(box: Placed, boxes: readonly Placed[], colour: string, colourOf: (table: string) => string): string {
  const { table, shown, more, x, y, height } = box
  const rows = shown.map((column, at) => {
    const { name, isKey, isRequired, refersTo: target } = column
    const rowY = BOX.head + (at + 0.72) * BOX.row
    const words = `<text x="10" y="${rowY}"${isKey ? ' font-weight="700"' : ''}>${name}${isRequired ? '' : '?'}</text>`
    if (target === undefined || neighbourOf(column, box, boxes) !== undefined) return words
    return `${words}<text x="${BOX.width - 8}" y="${rowY}" text-anchor="end" fill="${colourOf(target)}">→ ${target}</text>`
  })
  if (more > 0)
    rows.push(`<text x="10" y="${BOX.head + (shown.length + 0.72) * BOX.row}" fill="#666">and ${more} more</text>`)
  return `<g transform="translate(${x} ${y})"><rect width="${BOX.width}" height="${height}" rx="5" fill="#fff" stroke="${colour}"/>
<path d="M0 ${BOX.head}h${BOX.width}" stroke="${colour}"/><text x="10" y="18" font-weight="600" font-size="14" fill="${colour}">${table.name}</text>
${rows.join('\n')}</g>`
}
