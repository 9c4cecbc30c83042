/** The period of the audit log, and its export as a file. docs/operations.md: Audit log. */
import type { Static } from 'typebox'
import type { AuditExport } from '../../operations/operator/export-audit.ts'
import { type Html, html } from '../../platform/pages/html.ts'
import { type ConsoleCtx, consoleScreen, type Screen, type ScreenInput } from '../../platform/pages/screen.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { Type } from '../../platform/schema/builder.ts'
import { field } from '../action.ts'
import { operatorPath } from './frame.ts'

const PATH = `${operatorPath('audit')}/export`
/** Most pages of 1,000 entries in a file. The command has no limit. */
const FILE_PAGES = 20
const DAY_MS = 86_400_000
const Day = Type.Optional(Type.String({ maxLength: 10 }))
/** Days in UTC, the last one included. */
export const PERIOD_FIELDS = { from: Day, to: Day }
const Period = Type.Object(PERIOD_FIELDS)
type Period = Static<typeof Period>

export const auditExportScreens: readonly Screen[] = [
  consoleScreen({
    method: 'GET',
    path: PATH,
    name: 'consoleExportAudit',
    query: Period,
    calls: ['operatorExportAudit'],
    run: exportAudit,
  }),
]

/** Renders the fields of a period. */
export function periodFields({ from, to }: Period): Html {
  return html`<div class="day">${field('from', 'From (UTC)', { type: 'date', value: from })}</div>
<div class="day">${field('to', 'To (UTC)', { type: 'date', value: to })}</div>`
}

/** Returns the bounds of a period in ms, as query texts. Refuses: bad_request 400 for what is not a day. */
export function periodOf({ from, to }: Period): Record<'since' | 'until', string | undefined> {
  const last = dayIn('to', to)
  return { since: dayIn('from', from)?.toString(), until: last === undefined ? undefined : String(last + DAY_MS) }
}

function dayIn(name: string, text: string | undefined): number | undefined {
  if (!text) return undefined
  const moment = /^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(moment) || moment < 0)
    refuse('bad_request', `Invalid request: \`${name}\` should be a day such as 2026-11-28.`)
  return moment
}

/** Returns the path of the file with the entries of a period. */
export function exportPath({ from, to }: Period): string {
  const pairs = Object.entries({ from, to }).filter((pair): pair is [string, string] => Boolean(pair[1]))
  return pairs.length === 0 ? PATH : `${PATH}?${new URLSearchParams(pairs)}`
}

/** The lines of `berth audit export`. A file has all entries of its period, or is refused. */
async function exportAudit(ctx: ConsoleCtx, { query }: ScreenInput<Period>) {
  const bounds = periodOf(query)
  const lines: string[] = []
  let after: string | undefined
  for (let pages = 0; pages === 0 || after !== undefined; pages++) {
    if (pages === FILE_PAGES) refuse('bad_request', TOO_LONG)
    const page = await ctx.callRoute<Static<typeof AuditExport>>('operatorExportAudit', { query: { ...bounds, after } })
    if (pages === 0) lines.push(JSON.stringify({ format: 'berth-audit-export', version: 1, previous: page.previous }))
    lines.push(...page.entries.map((entry) => JSON.stringify(entry)))
    after = page.next?.toString()
  }
  const fileName = ['audit', query.from, query.to].filter(Boolean).join('-')
  const text = `${lines.join('\n')}\n`
  return { download: { fileName: `${fileName}.jsonl`, contentType: 'application/jsonl; charset=utf-8', text } }
}

const TOO_LONG =
  'The period has more than 20,000 entries, which is too many for a page: choose a shorter one, or use berth audit export.'
