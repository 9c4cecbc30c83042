/** `berth audit export`: the audit log as lines of JSON. docs/operations.md: Audit log. */
import { resolve } from 'node:path'
import type { Static } from 'typebox'
import type { Config } from '../../config.ts'
import type { AuditExport } from '../../operations/operator/export-audit.ts'
import { writeStreamAtomically } from '../../platform/adapters/atomic-file.ts'
import { pluralize } from '../../platform/base/text.ts'
import { BadUsage, type CommandResult, type Invocation } from '../command-line/command.ts'
import { callService, queryText } from './service-client.ts'

type Page = Static<typeof AuditExport>

/** Writes the entries to a file atomically, page by page. The first line has the link before them. */
export async function exportAuditCommand({ settings, value, progress }: Invocation): Promise<CommandResult> {
  const file = resolve(value('file')!)
  const bounds = { since: momentIn('since', value('since')), until: momentIn('until', value('until')) }
  let entries = 0
  let head: Pick<Page['entries'][number], 'position' | 'hash'> | undefined
  const heard = (page: Page) => {
    entries += page.entries.length
    head = page.entries.at(-1) ?? head
    progress.show('writing', entries, Math.max(entries, page.next ?? entries))
  }
  await writeStreamAtomically(file, linesOf(settings(), bounds, heard))
  const data = { file, entries, head: head === undefined ? null : `${head.position}.${head.hash}` }
  return {
    data,
    text: `${file}: ${pluralize(entries, 'line')}${head === undefined ? '' : `, up to the head ${data.head}`}`,
  }
}

async function* linesOf(config: Config, bounds: Record<string, number | undefined>, heard: (page: Page) => void) {
  for (let after: number | undefined; ; ) {
    const path = `/operator/v1/audit/export${queryText({ ...bounds, after })}`
    const page = (await callService(config, { method: 'GET', path, as: 'operator' })) as Page
    const first = { format: 'berth-audit-export', version: 1, previous: page.previous }
    const lines = [...(after === undefined ? [first] : []), ...page.entries]
    heard(page)
    yield Buffer.from(lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
    if (page.next === null) return
    after = page.next
  }
}

function momentIn(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const moment = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(moment)) throw new BadUsage(`--${name} must be a time such as 2026-11-01T00:00:00Z, not "${text}"`)
  return moment
}
