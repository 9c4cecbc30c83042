import type { Static } from 'typebox'
import type { KeyList } from '../../operations/operator/keys.ts'
import { state } from '../../platform/pages/face/states.ts'
import type { Page } from '../../platform/pages/frame.ts'
import { html } from '../../platform/pages/html.ts'
import { type ConsoleCtx, consoleScreen, type Screen } from '../../platform/pages/screen.ts'
import { action, formErrorNotice } from '../action.ts'
import { confirmedButton, heading } from '../controls.ts'
import { dataTable } from '../fields.ts'
import type { FormError } from '../form-error.ts'
import { operatorPage, operatorPath } from './frame.ts'

const LIST = operatorPath('keys')

export const keyScreens: readonly Screen[] = [
  consoleScreen({
    method: 'GET',
    path: LIST,
    name: 'showKeys',
    calls: ['operatorListKeys'],
    run: (ctx) => showKeys(ctx),
  }),
  action({
    path: `${LIST}/rotate`,
    name: 'consoleRotateKeys',
    calls: 'operatorRotateKeys',
    renderCalls: ['operatorListKeys'],
    request: () => ({}),
    next: () => LIST,
    renderErrors: (ctx, _, error) => showKeys(ctx, error),
  }),
  action({
    path: `${LIST}/:id/retire`,
    name: 'consoleRetireKey',
    calls: 'operatorRetireKey',
    renderCalls: ['operatorListKeys'],
    request: ({ params }) => ({ params: { id: params.id! } }),
    next: () => LIST,
    renderErrors: (ctx, _, error) => showKeys(ctx, error),
  }),
]

async function showKeys(ctx: ConsoleCtx, error?: FormError): Promise<Page> {
  const { keys } = await ctx.callRoute<Static<typeof KeyList>>('operatorListKeys')
  return operatorPage(ctx, 'keys', {
    title: 'Keys',
    body: html`${heading('Keys', confirmedButton(ctx, `${LIST}/rotate`, 'Rotate root key', { look: 'primary' }))}
${formErrorNotice(error)}
<p>Root keys encrypt the keys of projects, which encrypt their variables. Rotation creates a new root key and rewraps the project keys.
Back up the keyring afterwards: without it no value can be decrypted.</p>
${dataTable(
  'Root keys',
  ['Key', 'State', 'Wraps', 'Actions'],
  keys.map(
    (key) => html`<tr><td><code>${key.id}</code></td>
<td>${key.active ? state('good', 'Active') : state('idle', 'Older')}</td>
<td>${key.references === 0 ? 'Nothing' : `Keys of ${key.references} projects`}</td>
<td class="act">${!key.active && key.references === 0 && confirmedButton(ctx, `${operatorPath('keys', key.id)}/retire`, 'Retire', { label: `Retire: ${key.id}`, look: 'small', asks: 'It is deleted from the keyring. Backups from before the rotation need it, so keep a copy.' })}</td></tr>`,
  ),
  { none: 'No keys.' },
)}`,
  })
}
