/** The page that brings back a form that was kept over a sign-in by the provider. Its script fills it in and sends it. docs/console.md: Sessions. */
import type { Static } from 'typebox'
import { KEEP } from '../../platform/pages/assets/assets.ts'
import { html } from '../../platform/pages/html.ts'
import { Kept, keptPage } from '../../platform/pages/saved-form.ts'
import { consoleScreen, type Screen, tokenField } from '../../platform/pages/screen.ts'
import { Type } from '../../platform/schema/builder.ts'
import { KEPT_PATH } from '../sign-in/provider-button.ts'

const HOME = '/console'
const BroughtBack = Type.Object({ kept: Kept })

export const keptScreens: readonly Screen[] = [
  consoleScreen({
    method: 'GET',
    path: KEPT_PATH,
    name: 'bringBack',
    asks: [],
    run: (ctx) => ({
      title: 'You are signed in',
      scripts: [KEEP],
      body: html`<h1>You are signed in</h1>
<p>When the page that you left had something typed in it, this tab brings it back. When nothing happens, nothing was kept.</p>
<form method="post" action="${KEPT_PATH}" data-brings-back>${tokenField(ctx)}<input type="hidden" name="kept"></form>
<p class="actions"><a class="button" href="${HOME}">Go to the console</a></p>`,
    }),
  }),
  consoleScreen({
    method: 'POST',
    path: KEPT_PATH,
    name: 'showBroughtBack',
    form: BroughtBack,
    asks: [],
    run: (ctx, { form }: { form: Static<typeof BroughtBack> }) => keptPage(form.kept, ctx.formToken) ?? { to: HOME },
  }),
]
