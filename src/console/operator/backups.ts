/** Backups in the data folder, and making one. */
import type { Static } from 'typebox'
import type { BackupList, KnownBackups } from '../../backup/routes.ts'
import type { Page } from '../../pages/frame.ts'
import { type Html, html } from '../../pages/html.ts'
import { type ConsoleCtx, consoleScreen, type Screen } from '../../pages/screen.ts'
import { action, faultOf, type Refused } from '../action.ts'
import { button, heading } from '../controls.ts'
import { sheet } from '../fields.ts'
import { ago } from '../time.ts'
import { bytes, operatorPage, operatorPath } from './frame.ts'

const LIST = operatorPath('backups')

export const backupScreens: readonly Screen[] = [
  consoleScreen({
    method: 'GET',
    path: LIST,
    name: 'showBackups',
    asks: ['operatorListBackups', 'operatorListKnownBackups'],
    fresh: true,
    run: (ctx) => showBackups(ctx),
  }),
  action({
    path: LIST,
    name: 'consoleMakeBackup',
    asks: 'operatorMakeBackup',
    shows: ['operatorListBackups', 'operatorListKnownBackups'],
    wish: () => ({}),
    to: () => LIST,
    again: (ctx, _, refused) => showBackups(ctx, refused),
    fresh: true,
  }),
]

async function showBackups(ctx: ConsoleCtx, refused?: Refused): Promise<Page> {
  const { backups, runningSince, failed } = await ctx.ask<Static<typeof BackupList>>('operatorListBackups')
  const { known, scheduled } = await ctx.ask<Static<typeof KnownBackups>>('operatorListKnownBackups')
  return operatorPage(ctx, 'backups', {
    title: 'Backups',
    body: html`${heading('Backups', runningSince === null && button(ctx, LIST, 'Make a backup', { look: '' }))}
${faultOf(refused)}
${runningSince !== null && html`<p class="notice" role="status">A backup is being made since ${ago(runningSince, ctx.now)}. <a href="${LIST}">Look again</a></p>`}
${failed && html`<p class="notice bad">The backup that was begun ${ago(failed.at, ctx.now)} could not be made: ${failed.message}</p>`}
<p>They lie in the folder <code>backups</code> of the data folder of this instance. Copy each file and its <code>.json</code> to another machine. The keyring is not in them: keep a copy of it elsewhere.</p>
${sheet(
  'Backups',
  ['File', 'Begun', 'Size', 'Rows', 'Version', 'SHA-256'],
  backups.map(
    (one) =>
      html`<tr><td><code class="small">${one.name}</code></td><td>${ago(one.begunAt, ctx.now)}</td><td>${bytes(one.bytes)}</td><td>${one.rows}</td><td>${one.version}</td><td><code class="small">${one.sha256}</code></td></tr>`,
  ),
  { none: 'No backup yet.' },
)}
<h2>Made and checked</h2>
${
  scheduled.schedule === null
    ? html`<p>None is made by itself: <code>BERTH_BACKUP_SCHEDULE</code> is not set.</p>`
    : html`<p>By <code>${scheduled.schedule}</code> (UTC) one is made, checked and kept in <code>${scheduled.to}</code>.</p>`
}
${scheduled.fault && html`<p class="notice bad">The last scheduled backup could not be made: ${scheduled.fault}</p>`}
<p>Backups of every instance and of <code>berth backup</code>, wherever they lie, and what the last check of each found.</p>
${sheet(
  'Made and checked',
  ['File', 'Place', 'Made by', 'Begun', 'Size', 'Check'],
  known.map(
    (one) =>
      html`<tr><td><code class="small">${one.name}</code></td><td><code class="small">${one.place}</code></td><td>${one.madeBy}</td><td>${ago(one.begunAt, ctx.now)}</td><td>${bytes(one.bytes)}</td><td>${checkOf(one, ctx.now)}</td></tr>`,
  ),
  { none: 'None is known.' },
)}`,
  })
}

function checkOf({ fault, verifiedAt }: Static<typeof KnownBackups>['known'][number], now: number): Html {
  if (fault !== null) return html`<strong>bad</strong>: ${fault}`
  return verifiedAt === null ? html`not checked` : html`whole, ${ago(verifiedAt, now)}`
}
