import { LOG_BUDGET } from '../../delivery/logs/store-lines.ts'
import { usedRoom } from '../../delivery/uploads/usage.ts'
import type { Queries } from '../../platform/db/db.ts'
import { type Html, html } from '../../platform/pages/html.ts'
import type { UserPageCtx } from '../../platform/pages/screen.ts'
import { DATA_BUDGET } from '../../sites/data-cache/entries.ts'
import { cardTitle } from '../controls.ts'
import { bytes } from '../operator/frame.ts'

/** Renders the storage that the files and logs of an account take, with the limits. docs/console.md: Project pages. */
export async function storageCard({ db, deps }: UserPageCtx, accountId: string): Promise<Html> {
  const [files, logs] = [await usedRoom(db, accountId), await logBytes(db, accountId)]
  return html`<section class="card in stack">${cardTitle('Storage', 'What this account uses on the disks of the service, and what it may use.')}
<dl class="facts"><dt>Deployment files</dt><dd>${bytes(files)} of ${bytes(deps.config.files.perAccount)}${about('Outputs, sources and uploads. Remove deployments to make room: files without one go within 9 days.')}</dd>
<dt>Function logs</dt><dd>${bytes(logs)} of ${bytes(LOG_BUDGET.bytes)}${about('Of 3 days. The oldest lines go first.')}</dd>
<dt>Data cache</dt><dd>At most ${bytes(DATA_BUDGET.ofAccount.bytes)}${about('On each sites server, for all projects. What was used longest ago goes first.')}</dd>
<dt>Build caches</dt><dd>At most a quarter of the cache of each runner${about('They do not count as deployment files. The oldest go first.')}</dd></dl></section>`
}

function about(text: string): Html {
  return html`<br><span class="soft small">${text}</span>`
}

async function logBytes(db: Queries, accountId: string): Promise<number> {
  const row = await db
    .selectFrom('runtime_log')
    .select(({ fn }) => fn.sum<string | number | null>('bytes').as('bytes'))
    .where('account_id', '=', accountId)
    .executeTakeFirst()
  return Number(row?.bytes ?? 0)
}
