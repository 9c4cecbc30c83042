/** Webhooks and log drains on hold, on the page `/integrations/installed`, each with a button for OWNERs. */

import { note } from '../../platform/pages/face/notes.ts'
import { day, type Html, html } from '../../platform/pages/html.ts'
import { accountContext, findOwnAccount, type OwnAccount } from '../../platform/pages/own-accounts.ts'
import {
  csrfFields,
  type Screen,
  type ScreenInput,
  type UserPageCtx,
  userScreen,
  type View,
} from '../../platform/pages/screen.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { ENDPOINT_KIND_NAME, listHeldEndpoints, transferEndpointOwnership } from './held.ts'

const PATH = '/endpoints/:accountId/:endpointId/take-over'

export const heldScreens: readonly Screen[] = [
  userScreen({ method: 'POST', path: PATH, name: 'takeOverEndpoint', run: takeOver, refuses: ['owner_only'] }),
]

/** Renders the section; undefined when nothing is on hold. */
export async function heldSection(ctx: UserPageCtx, account: OwnAccount): Promise<Html | undefined> {
  const endpoints = await listHeldEndpoints(ctx, account.id)
  if (endpoints.length === 0) return undefined
  return html`<h3>Webhooks and log drains without an owner</h3>
${note(
  'bad',
  html`The users who created these left the team, lost their access or are suspended. Nothing is sent to them. An OWNER of the team can become
their owner. Do so only for addresses that you know.`,
)}
<ul class="rows">${endpoints.map((endpoint) => {
    const goes = html`<p>The ${ENDPOINT_KIND_NAME[endpoint.table]} to <strong>${endpoint.host}</strong> (${endpoint.id}). ${
      endpoint.goesAt === undefined
        ? 'It is kept, and goes on when the suspension ends.'
        : `It is removed after ${day(endpoint.goesAt)}.`
    }</p>`
    const button =
      account.role === 'OWNER' &&
      html`<form method="post" action="/endpoints/${account.id}/${endpoint.id}/take-over">${csrfFields(ctx)}
<p class="line"><button class="btn primary">Become owner of ${endpoint.host}</button></p></form>`
    return html`<li id="${endpoint.id}">${goes}${button}</li>`
  })}</ul>`
}

async function takeOver(ctx: UserPageCtx, { params }: ScreenInput): Promise<View> {
  const account = await findOwnAccount(ctx, params.accountId!)
  if (account.role !== 'OWNER') refuse('owner_only')
  const endpoint = (await listHeldEndpoints(ctx, account.id)).find(({ id }) => id === params.endpointId)
  if (endpoint === undefined)
    refuse('not_found', 'No webhook or log drain with this id is on hold. It may have a new owner, or was removed.')
  const by = accountContext(ctx, account)
  await transferEndpointOwnership(by, endpoint.table, endpoint)
  return { redirectTo: '/integrations/installed', audit: { by, subjectId: endpoint.id } }
}
