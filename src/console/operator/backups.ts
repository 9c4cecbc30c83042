/** Backups in the data folder, and making one. */
import type { Static } from 'typebox'
import type { BackupList, RecordedBackups } from '../../operations/backup/routes.ts'
import type { Page } from '../../platform/pages/frame.ts'
import { type Html, html } from '../../platform/pages/html.ts'
import { type ConsoleCtx, consoleScreen, type Screen } from '../../platform/pages/screen.ts'
import { Type } from '../../platform/schema/builder.ts'
import { action, formErrorNotice } from '../action.ts'
import { button, heading } from '../controls.ts'
import { dataTable } from '../fields.ts'
import type { Refused } from '../refused.ts'
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
    requiresReauthentication: true,
    run: (ctx) => showBackups(ctx),
  }),
  action({
    path: LIST,
    name: 'consoleMakeBackup',
    asks: 'operatorMakeBackup',
    shows: LISTS,
    wish: () => ({}),
    to: () => LIST,
    again: (ctx, _, refused) => showBackups(ctx, refused),
    fresh: true,
  }),
  action<typeof Check>({
    path: `${LIST}/verify`,
    name: 'consoleVerifyBackup',
    form: Check,
    asks: 'operatorVerifyBackup',
    shows: LISTS,
    wish: ({ form: { place, name } }) => ({ body: { place: place || undefined, name: name || undefined } }),
    to: () => LIST,
    again: (ctx, _, refused) => showBackups(ctx, refused),
    fresh: true,
  }),
]

async function showBackups(ctx: ConsoleCtx, refused?: Refused): Promise<Page> {
  const { backups, runningSince, failed } = await ctx.ask<Static<typeof BackupList>>('operatorListBackups')
  const told = await ctx.ask<Known>('operatorListKnownBackups')
  return operatorPage(ctx, 'backups', {
    title: 'Backups',
    body: html`${heading('Backups', runningSince === null && button(ctx, LIST, 'Make a backup', { look: '' }))}
${formErrorNotice(refused)}
${runningSince !== null && html`<p class="notice" role="status">A backup was begun ${relativeTime(runningSince, ctx.now)} and is not done yet. <a href="${LIST}">Look again</a></p>`}
${failed && html`<p class="notice bad">The backup that was begun ${relativeTime(failed.at, ctx.now)} could not be made: ${failed.message}</p>`}
${schedule(told.scheduled, ctx.now)}
${checks(ctx, told)}
<h2>In the data folder</h2>
<p>They lie in the folder <code>backups</code> of the data folder of this instance. Copy each file and its <code>.json</code> to another machine. The keyring is not in them: keep a copy of it elsewhere.</p>
${dataTable(
  'Backups',
  ['File', 'Begun', 'Size', 'Rows', 'Version', 'SHA-256'],
  backups.map(
    (one) =>
      html`<tr><td><code class="small">${one.name}</code></td><td>${relativeTime(one.begunAt, ctx.now)}</td><td>${bytes(one.bytes)}</td><td>${one.rows}</td><td>${one.version}</td><td><code class="small">${one.sha256}</code></td></tr>`,
  ),
  { none: 'No backup yet.' },
)}`,
  })
}

function schedule({ schedule, to, keep, nextAt, fault }: Known['scheduled'], now: number): Html {
  return html`<section class="card"><h2>Schedule</h2>
${
  schedule === null
    ? html`<p>None is made by itself: <code>BERTH_BACKUP_SCHEDULE</code> is not set.</p>`
    : html`<dl class="facts"><dt>When</dt><dd><code>${schedule}</code> (UTC)</dd><dt>Next</dt><dd>${nextAt === null ? 'never' : relativeTime(nextAt, now)}</dd>
<dt>Where to</dt><dd><code>${to}</code></dd><dt>What is kept</dt><dd><code>${keep}</code></dd></dl>`
}
${fault && html`<p class="notice bad">The last scheduled backup could not be made: ${fault}</p>`}
</section>`
}

/** What is known of each backup, with a button to check those that this instance can read. */
function checks(ctx: ConsoleCtx, { known, check: { running, failed } }: Known): Html {
  const verify = (fields: Record<string, string>, words: string, label: string) =>
    running === null && button(ctx, `${LIST}/verify`, words, { label, fields })
  const newest = known.find(({ isHere }) => isHere)
  return html`<div class="top"><h2>Made and checked</h2>${newest && verify({}, 'Verify the newest', 'Verify the newest')}</div>
${running && html`<p class="notice" role="status">${running.name} is being checked. The check was begun ${relativeTime(running.since, ctx.now)}. <a href="${LIST}">Look again</a></p>`}
${failed && html`<p class="notice bad">The check that was begun ${relativeTime(failed.at, ctx.now)} could not look at its backup: ${failed.message}</p>`}
<p>Backups of every instance and of <code>berth backup</code>, wherever they lie, and what the last check of each found.</p>
${dataTable(
  'Made and checked',
  ['File', 'Place', 'Made by', 'Begun', 'Size', 'Check', 'Actions'],
  known.map(
    (one) =>
      html`<tr><td><code class="small">${one.name}</code></td><td><code class="small">${one.place}</code></td><td>${one.madeBy}</td><td>${relativeTime(one.begunAt, ctx.now)}</td><td>${bytes(one.bytes)}</td><td>${checkOf(one, ctx.now)}</td>
<td class="act">${one.isHere && verify({ place: one.place, name: one.name }, 'Verify', `Verify ${one.name}`)}</td></tr>`,
  ),
  { none: 'None is known.' },
)}`
}

function checkOf({ fault, verifiedAt }: Known['known'][number], now: number): Html {
  if (fault !== null) return html`<strong>bad</strong>: ${fault}`
  return verifiedAt === null ? html`not checked` : html`whole, ${relativeTime(verifiedAt, now)}`
}
