/** The form by which a browser answers for a passkey. Its script asks the browser and sends the form; without script it stays hidden. */
import { type Html, html } from '../../platform/pages/html.ts'
import { csrfFields, type PageCtx } from '../../platform/pages/screen.ts'
import { Type } from '../../platform/schema/builder.ts'
import { READERS } from '../../readers.ts'

/** An answer as JSON. Those of registrations carry a certificate at most. */
export const PasskeyAnswer = Type.String({ maxLength: READERS['answer of a passkey'].bytes })

type Options = {
  /** Where the form goes. */
  action: string
  /** What the browser is asked, as JSON: passkeys.ts. */
  options: string
  /** `create`: makes a passkey; `get`: proves with one. */
  kind: 'create' | 'get'
  button: string
  /** Further fields. */
  fields?: Html | undefined
}

/** A page that shows it names PASSKEY_SCRIPT among its scripts. */
export function passkeyForm(
  ctx: Pick<PageCtx, 'csrfToken' | 'submissionId'>,
  { action, options, kind, button, fields }: Options,
): Html {
  const failed =
    kind === 'create'
      ? 'The browser made no passkey. Try again.'
      : 'The browser gave no passkey. Try again, or use another way.'
  return html`<form method="post" action="${action}" data-turbo="false" data-passkey="${kind}" data-options="${options}" data-failed="${failed}" hidden>
${csrfFields(ctx)}
<input type="hidden" name="answer">
${fields}
<p class="actions"><button class="quiet">${button}</button></p>
<p class="notice bad" role="alert" hidden></p>
</form>`
}
