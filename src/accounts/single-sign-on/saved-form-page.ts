/** Restores a form that was saved across a sign-in with the provider. Its script fills it in and submits it. docs/console.md: Sessions. */
import type { Static } from 'typebox'
import { SAVED_FORM_SCRIPT } from '../../platform/pages/assets/assets.ts'
import { html } from '../../platform/pages/html.ts'
import { SavedFormField, savedFormPage } from '../../platform/pages/saved-form.ts'
import { consoleScreen, csrfFields, type Screen } from '../../platform/pages/screen.ts'
import { Type } from '../../platform/schema/builder.ts'
import { SAVED_FORM_PATH } from '../sign-in/provider-button.ts'

const HOME = '/console'
const BroughtBack = Type.Object({ kept: SavedFormField })

export const savedFormScreens: readonly Screen[] = [
  consoleScreen({
    method: 'GET',
    path: SAVED_FORM_PATH,
    name: 'bringBack',
    calls: [],
    run: (ctx) => ({
      title: 'You are signed in',
      scripts: [SAVED_FORM_SCRIPT],
      body: html`<h1>You are signed in</h1>
<p>If you had typed something in the previous page, this tab restores it. If nothing happens, nothing was saved.</p>
<form method="post" action="${SAVED_FORM_PATH}" data-brings-back>${csrfFields(ctx)}<input type="hidden" name="kept"></form>
<p class="line"><a class="btn primary" href="${HOME}">Go to the console</a></p>`,
    }),
  }),
  consoleScreen({
    method: 'POST',
    path: SAVED_FORM_PATH,
    name: 'showBroughtBack',
    form: BroughtBack,
    calls: [],
    run: (ctx, { form }: { form: Static<typeof BroughtBack> }) =>
      savedFormPage(form.kept, ctx.csrfToken) ?? { redirectTo: HOME },
  }),
]
