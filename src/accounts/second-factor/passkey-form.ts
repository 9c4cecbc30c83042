/** The form that sends a passkey assertion or registration. It takes its place at once, so that nothing moves, and its script shows it. */
import { type Html, html } from '../../platform/pages/html.ts'
import { csrfFields, type PageCtx } from '../../platform/pages/screen.ts'
import { Type } from '../../platform/schema/builder.ts'
import { READERS } from '../../readers.ts'

/** Registrations contain at most one certificate. */
export const PasskeyAnswer = Type.String({ maxLength: READERS['answer of a passkey'].bytes })

type Options = {
  action: string
  /** Options for the browser, as JSON: passkeys.ts. */
  options: string
  /** `create` registers a passkey, `get` requests an assertion. */
  kind: 'create' | 'get'
  button: string
  fields?: Html | undefined
}

/** Renders the form. The page must list PASSKEY_SCRIPT among its scripts. */
export function passkeyForm(
  ctx: Pick<PageCtx, 'csrfToken' | 'submissionId'>,
  { action, options, kind, button, fields }: Options,
): Html {
  const failed =
    kind === 'create'
      ? 'The browser created no passkey. Try again.'
      : 'The browser returned no passkey. Try again, or use another method.'
  return html`<form method="post" action="${action}" data-turbo="false" data-passkey="${kind}" data-options="${options}" data-failed="${failed}" inert>
${csrfFields(ctx)}
<input type="hidden" name="answer">
${fields}
<p class="line"><button class="btn">${button}</button></p>
<p class="note bad" role="alert" hidden></p>
</form>`
}
