import type { Static } from 'typebox'
import type { UserDetails } from '../../../accounts/users/schema.ts'
import { MAX_OF_USER } from '../../../accounts/users/show.ts'
import { type Html, html } from '../../../platform/pages/html.ts'
import type { ConsoleCtx } from '../../../platform/pages/screen.ts'
import { button } from '../../controls.ts'
import { dataTable } from '../../fields.ts'
import { placeCells } from '../../names/browsers.ts'
import { relativeTime } from '../../time.ts'
import { operatorPath } from '../frame.ts'

/** Renders the sessions of a user, with a button that ends all of them. `path`: of the user. */
export function sessionsOf(ctx: ConsoleCtx, path: string, { sessions }: Static<typeof UserDetails>): Html {
  const rows = sessions.map(
    ({ createdAt, usedAt, expiresAt, agent, address }) =>
      html`<tr>${placeCells(agent, address)}<td>${relativeTime(createdAt, ctx.now)}</td><td>${relativeTime(usedAt, ctx.now)}</td><td>${relativeTime(expiresAt, ctx.now)}</td></tr>`,
  )
  return html`${dataTable('Sessions', ['Browser', 'IP address', 'Signed in', 'Last used', 'Expires'], rows, { none: 'Not signed in anywhere.' })}
${sessions.length > 0 && button(ctx, `${path}/sessions/end`, 'Sign out everywhere', { look: '' })}`
}

/** Renders the number of tokens of a user with a link to them. The route lists the newest, so as many may be more. */
export function tokensOf({ username, tokens }: Static<typeof UserDetails>): Html {
  const count = tokens.length < MAX_OF_USER ? tokens.length : `${MAX_OF_USER} or more`
  return html`${count}${tokens.length > 0 && html` <a href="${operatorPath('tokens')}?search=${encodeURIComponent(username)}">Show tokens</a>`}`
}
