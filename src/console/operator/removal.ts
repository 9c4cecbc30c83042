import type { Static } from 'typebox'
import type { UserDetails } from '../../accounts/users/schema.ts'
import { type Html, html } from '../../platform/pages/html.ts'
import { type ConsoleCtx, csrfFields, type Screen } from '../../platform/pages/screen.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { Type } from '../../platform/schema/builder.ts'
import { action, field, PLAIN_TEXT, type RenderForm } from '../action.ts'
import { button, cardTitle, confirmedButton, countOf, dangerCard } from '../controls.ts'
import { checkboxField } from '../fields.ts'
import type { FormError } from '../form-error.ts'
import { operatorPath } from './frame.ts'

const Removal = Type.Object({
  typed: Type.String({ maxLength: 254 }),
  /** Name shown on the page. */
  called: Type.String({ minLength: 1, maxLength: 254 }),
  force: Type.Optional(Type.String({ maxLength: 2 })),
})

type Spec = {
  /** Path of the list, which is the next page. */
  list: string
  name: string
  /** Route that removes, its path parameter, and the route of the page. */
  calls: string
  param: string
  renderCalls: string
  renderErrors: RenderForm
}

/** Returns the screen that removes a user or team. docs/operations.md: User administration. Refuses: bad_request 400 (wrong name typed), and what the route refuses. */
export function removalScreen({ list, name, calls, param, renderCalls, renderErrors }: Spec): Screen {
  return action<typeof Removal>({
    path: `${list}/:id/remove`,
    name,
    form: Removal,
    calls,
    renderCalls: [renderCalls],
    request: ({ params, form: { typed, called, force } }) => {
      if (typed !== called) refuse('bad_request', `Nothing was removed: \`typed\` must be the name, "${called}".`)
      return { params: { [param]: params.id! }, query: { force: force === undefined ? undefined : 'true' } }
    },
    next: () => list,
    renderErrors,
  })
}

/** Renders the removal form. `called`: the name to type; `goes`: the consequence; `forced`: what the checkbox removes in addition. */
export function removalForm(
  ctx: ConsoleCtx,
  path: string,
  { called, goes, forced, error }: { called: string; goes: string; forced: string; error: FormError | undefined },
): Html {
  const mine = error !== undefined && 'called' in error.typed ? error : undefined
  return dangerCard(
    'Remove permanently',
    `${goes} You cannot undo this.`,
    html`<form method="post" action="${path}/remove">${csrfFields(ctx)}<input type="hidden" name="called" value="${called}">
${checkboxField('force', forced, false, mine)}
${field('typed', `Type ${called} to confirm`, { error: mine, attributes: html`${PLAIN_TEXT} maxlength="254"` })}
<p class="line"><button class="btn danger">Remove ${called}</button></p>
</form>`,
  )
}

/** Renders the card that suspends or reinstates a user. `path`: of the user. */
export function suspension(ctx: ConsoleCtx, path: string, isSuspended: boolean): Html {
  if (isSuspended)
    return html`<section class="card in stack form">${cardTitle('Reinstate', 'Their tokens work again, and what they set up is resumed. They must sign in again.')}
${button(ctx, `${path}/suspended`, 'Reinstate', { look: 'primary' })}</section>`
  return dangerCard(
    'Suspend',
    'Their sessions and tokens stop working at once, and what they set up is put on hold. Nothing is deleted.',
    confirmedButton(ctx, `${path}/suspended`, 'Suspend', { fields: { suspended: 'true' } }),
  )
}

/** Second factors of the user, with a button for a user who lost them. */
export function secondFactors(
  ctx: ConsoleCtx,
  { id, username, email, secondFactors }: Static<typeof UserDetails>,
): Html {
  const { oneTimeCodes, passkeys } = secondFactors
  if (!oneTimeCodes && passkeys === 0)
    return html`<section class="card in stack">${cardTitle('Second factors')}<p>None. Password only.</p></section>`
  const words = [oneTimeCodes && 'one-time codes', passkeys > 0 && countOf(passkeys, 'passkey')].filter(Boolean)
  return html`<section class="card in stack">${cardTitle('Second factors')}<p>Set up: ${words.join(' and ')}.</p></section>
${dangerCard(
  'Remove second factors',
  html`For a user who lost them. Check that the request comes from <strong>${username}</strong>: their password is then enough to sign in. Their sessions end, and an email goes to <strong>${email}</strong>.`,
  confirmedButton(ctx, `${operatorPath('people', id)}/second-factors`, 'Remove second factors'),
)}`
}
