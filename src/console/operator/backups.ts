import type { Static } from 'typebox'
import type { BackupList, RecordedBackups } from '../../operations/backup/routes.ts'
import { note } from '../../platform/pages/face/notes.ts'
import type { Page } from '../../platform/pages/frame.ts'
import { type Html, html } from '../../platform/pages/html.ts'
import { type ConsoleCtx, consoleScreen, type Screen } from '../../platform/pages/screen.ts'
import { Type } from '../../platform/schema/builder.ts'
import { action, formErrorNotice } from '../action.ts'
import { button, heading } from '../controls.ts'
import { dataTable } from '../fields.ts'
import type { FormError } from '../form-error.ts'
import { relativeTime } from '../time.ts'
import { bytes, operatorPage, operatorPath } from './frame.ts'

const LIST = operatorPath('backups')
const LISTS = ['operatorListBackups', 'operatorListKnownBackups']
const Check = Type.Object({ place: Type.Optional(Type.String()), name: Type.Optional(Type.String()) })
type Known = Static<typeof RecordedBackups>

export const backupScreens: readonly Screen[] = [
  consoleScreen({
    method: 'GET',
    path: LIST,
    name: 'showBackups',
    calls: LISTS,
    run: (ctx) => showBackups(ctx),
  }),
  action({
    path: LIST,
    name: 'consoleMakeBackup',
    calls: 'operatorMakeBackup',
    renderCalls: LISTS,
    request: () => ({}),
    next: () => LIST,
    renderErrors: (ctx, _, error) => showBackups(ctx, error),
  }),
  action<typeof Check>({
    path: `${LIST}/verify`,
    name: 'consoleVerifyBackup',
    form: Check,
    calls: 'operatorVerifyBackup',
    renderCalls: LISTS,
    request: ({ form: { place, name } }) => ({ body: { place: place || undefined, name: name || undefined } }),
    next: () => LIST,
    renderErrors: (ctx, _, error) => showBackups(ctx, error),
  }),
]

async function showBackups(ctx: ConsoleCtx, error?: FormError): Promise<Page> {
  const { backups, runningSince, failed } = await ctx.callRoute<Static<typeof BackupList>>('operatorListBackups')
  const recorded = await ctx.callRoute<Known>('operatorListKnownBackups')
  return operatorPage(ctx, 'backups', {
    title: 'Backups',
    body: html`${heading('Backups', runningSince === null && button(ctx, LIST, 'Create backup', { look: 'primary' }))}
${formErrorNotice(error)}
${runningSince !== null && note('info', html`A backup started ${relativeTime(runningSince, ctx.now)} and is in progress. <a href="${LIST}">Refresh</a>`, { role: 'status' })}
${failed && note('bad', html`The backup that started ${relativeTime(failed.at, ctx.now)} failed: ${failed.message}`)}
${schedule(recorded.scheduled, ctx.now)}
${checks(ctx, recorded)}
<h2>In the data directory</h2>
<p>These files are in the <code>backups</code> directory of the data directory of this instance. Copy each file and its <code>.json</code> to another machine. They do not contain the keyring: store a copy of it elsewhere.</p>
${dataTable(
  'Backups',
  ['File', 'Started', 'Size', 'Rows', 'Version', 'SHA-256'],
  backups.map(
    (backup) =>
      html`<tr><td><code class="small">${backup.name}</code></td><td>${relativeTime(backup.begunAt, ctx.now)}</td><td>${bytes(backup.bytes)}</td><td>${backup.rows}</td><td>${backup.version}</td><td><code class="small">${backup.sha256}</code></td></tr>`,
  ),
  { none: 'No backups yet.' },
)}`,
  })
}

function schedule({ schedule, to, keep, nextAt, fault }: Known['scheduled'], now: number): Html {
  return html`<section class="card in stack"><h2>Schedule</h2>
${
  schedule === null
    ? html`<p>No automatic backups: <code>BERTH_BACKUP_SCHEDULE</code> is not set.</p>`
    : html`<dl class="facts"><dt>When</dt><dd><code>${schedule}</code> (UTC)</dd><dt>Next</dt><dd>${nextAt === null ? 'never' : relativeTime(nextAt, now)}</dd>
<dt>Destination</dt><dd><code>${to}</code></dd><dt>Retention</dt><dd><code>${keep}</code></dd></dl>`
}
${fault && note('bad', html`The last scheduled backup failed: ${fault}`)}
</section>`
}

/** Recorded backups, with a button to verify those that this instance can read. */
function checks(ctx: ConsoleCtx, { known, check: { running, failed } }: Known): Html {
  const verify = (fields: Record<string, string>, words: string, label: string) =>
    running === null && button(ctx, `${LIST}/verify`, words, { label, fields })
  const newest = known.find(({ isHere }) => isHere)
  return html`<div class="head"><h2>Recorded backups</h2>${newest && verify({}, 'Verify newest', 'Verify newest')}</div>
${running && note('info', html`${running.name} is being verified. The check started ${relativeTime(running.since, ctx.now)}. <a href="${LIST}">Refresh</a>`, { role: 'status' })}
${failed && note('bad', html`The check that started ${relativeTime(failed.at, ctx.now)} could not read its backup: ${failed.message}`)}
<p>Backups of all instances and of <code>berth backup</code>, in every place, with their last check.</p>
${dataTable(
  'Recorded backups',
  ['File', 'Place', 'Created by', 'Started', 'Size', 'Check', 'Actions'],
  known.map(
    (backup) =>
      html`<tr><td><code class="small">${backup.name}</code></td><td><code class="small">${backup.place}</code></td><td>${backup.madeBy}</td><td>${relativeTime(backup.begunAt, ctx.now)}</td><td>${bytes(backup.bytes)}</td><td>${checkOf(backup, ctx.now)}</td>
<td class="act">${backup.isHere && verify({ place: backup.place, name: backup.name }, 'Verify', `Verify ${backup.name}`)}</td></tr>`,
  ),
  { none: 'No backups found.' },
)}`
}

function checkOf({ fault, verifiedAt }: Known['known'][number], now: number): Html {
  if (fault !== null) return html`<strong>Damaged</strong>: ${fault}`
  return verifiedAt === null ? html`Not verified` : html`Intact, ${relativeTime(verifiedAt, now)}`
}
