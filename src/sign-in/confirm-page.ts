/** The page by which a person who is signed in proves again that it is them, before secrets are shown or the service is changed. */
import type { Static } from 'typebox'
import { html } from '../pages/html.ts'
import { Kept, keptField, keptPage } from '../pages/kept-form.ts'
import { localPath } from '../pages/local-path.ts'
import { type PersonCtx, personScreen, type Screen, type ScreenInput, tokenField, type View } from '../pages/screen.ts'
import { Type } from '../schema/builder.ts'
import { TypedPassword } from './new-password.ts'
import { confirmSession } from './sessions.ts'
import { admitUser, type Checked, tryPassword } from './sign-in.ts'

const HOME = '/console'
const Query = Type.Object({ return: Type.Optional(Type.String()) })
const Confirm = Type.Object({ password: TypedPassword, kept: Kept })
type Input = ScreenInput<Static<typeof Query>, Static<typeof Confirm>>

export const confirmScreens: readonly Screen[] = [
  personScreen({ method: 'GET', path: '/confirm', name: 'showConfirm', query: Query, run: showConfirm }),
  personScreen({
    method: 'POST',
    path: '/confirm',
    name: 'confirmPassword',
    query: Query,
    form: Confirm,
    prepare: (ctx, { form }) => tryPassword(ctx, ctx.visitor.username, form.password),
    run: confirm,
    refuses: ['rate_limited'],
  }),
]

function showConfirm(ctx: PersonCtx, { url, kept }: Pick<Input, 'url' | 'kept'>, failed = false): View {
  return {
    title: 'Confirm that it is you',
    body: html`<h1>Confirm that it is you</h1>
${failed && html`<p class="notice bad" role="alert" id="fault"><a href="#password">The password is wrong.</a></p>`}
<p>What comes next shows secrets or changes the service. It asks for your password when you gave it longer than an hour ago.</p>
<form method="post" action="${url}" data-turbo="false">
${tokenField(ctx)}
${keptField(kept)}
<input type="text" name="username" value="${ctx.visitor.username}" autocomplete="username" hidden>
<label for="password">Password of ${ctx.visitor.username}</label>
<input type="password" id="password" name="password" autocomplete="current-password" required maxlength="1024"${failed && html` aria-invalid="true" aria-describedby="fault"`}>
<p class="actions"><button>Go on</button></p>
</form>`,
  }
}

async function confirm(ctx: PersonCtx, input: Input, checked: Checked): Promise<View> {
  const userId = await admitUser(ctx, checked)
  if (userId !== ctx.visitor.userId)
    return { ...showConfirm(ctx, { ...input, kept: input.form.kept }, true), status: 403 }
  await confirmSession(ctx, ctx.visitor.sessionHash)
  const next = keptPage(input.form.kept, ctx.formToken) ?? { to: localPath(input.query.return, HOME) }
  return { ...next, done: { by: ctx, subjectId: userId } }
}
