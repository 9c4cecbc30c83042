/** Shutting a person out, and removing a person or a team for good once its name was typed. docs/operations.md: People. */

import { type Html, html } from '../../platform/pages/html.ts'
import { type ConsoleCtx, csrfFields, type Screen } from '../../platform/pages/screen.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { Type } from '../../platform/schema/builder.ts'
import { action, field, type RenderForm } from '../action.ts'
import { button, confirmedButton, dangerCard } from '../controls.ts'
import { checkboxField } from '../fields.ts'
import type { Refused } from '../refused.ts'

const Removal = Type.Object({
  typed: Type.String({ maxLength: 254 }),
  /** What the page calls it. */
  called: Type.String({ minLength: 1, maxLength: 254 }),
  force: Type.Optional(Type.String({ maxLength: 2 })),
})

type Spec = {
  /** The list, which follows. The form goes below the page of one. */
  list: string
  name: string
  /** The route that removes, what its path calls the id, and the route of the page. */
  asks: string
  param: string
  shows: string
  again: RenderForm
}

/** The form that removes. Refuses: bad_request 400 (another name was typed), and what the route does. */
export function removalScreen({ list, name, asks, param, shows, again }: Spec): Screen {
  return action<typeof Removal>({
    path: `${list}/:id/remove`,
    name,
    form: Removal,
    asks,
    shows: [shows],
    wish: ({ params, form: { typed, called, force } }) => {
      if (typed !== called) refuse('bad_request', `Nothing was removed: \`typed\` should be the name, "${called}".`)
      return { params: { [param]: params.id! }, query: { force: force === undefined ? undefined : 'true' } }
    },
    to: () => list,
    again,
    fresh: true,
  })
}

/** `called`: the name that is to be typed; `goes`: what goes with it; `forced`: what else goes where the box is ticked. */
export function removalForm(
  ctx: ConsoleCtx,
  path: string,
  { called, goes, forced, refused }: { called: string; goes: string; forced: string; refused: Refused | undefined },
): Html {
  const mine = refused !== undefined && 'called' in refused.typed ? refused : undefined
  return dangerCard(
    'Remove for good',
    `${goes} There is no way back.`,
    html`<form method="post" action="${path}/remove">${csrfFields(ctx)}<input type="hidden" name="called" value="${called}">
${checkboxField('force', forced, false, mine)}
${field('typed', `Type ${called} to confirm`, { refused: mine, attributes: html` autocomplete="off" autocapitalize="none" spellcheck="false" maxlength="254"` })}
<p class="actions"><button class="danger">Remove ${called}</button></p>
</form>`,
  )
}

/** The card that suspends a person, or reinstates one who is suspended. `path`: of the page of the person. */
export function suspension(ctx: ConsoleCtx, path: string, isSuspended: boolean): Html {
  if (isSuspended)
    return html`<section class="stack card"><h2>Reinstate</h2>
<p>Their tokens work again, and what they set up goes on. They sign in anew.</p>
${button(ctx, `${path}/suspended`, 'Reinstate', { look: '' })}</section>`
  return dangerCard(
    'Suspend',
    'Their sessions and tokens end at once, and what they set up is held. Nothing is lost.',
    confirmedButton(ctx, `${path}/suspended`, 'Suspend', { fields: { suspended: 'true' } }),
  )
}
