import type { Static } from 'typebox'
import { PasskeyAnswer } from '../../accounts/second-factor/passkey-form.ts'
import {
  addPasskey,
  checkRegistration,
  MAX_PASSKEYS,
  type PasskeyRegistration,
  removePasskey,
  renamePasskey,
} from '../../accounts/second-factor/passkeys.ts'
import { notifyFactorRemoved } from '../../accounts/second-factor/second-factor.ts'
import { hasPassword } from '../../accounts/sign-in/sign-in.ts'
import { type Screen, type ScreenInput, type UserPageCtx, userScreen, type View } from '../../platform/pages/screen.ts'
import { type Refusal, refuse } from '../../platform/refusals/refusal.ts'
import { Type } from '../../platform/schema/builder.ts'
import { formErrorOf } from '../action.ts'
import { showFactors } from './page.ts'
import { afterFactorAdded, FACTORS } from './shown-codes.ts'

const PATH = `${FACTORS}/passkeys`
const Name = Type.String({ minLength: 1, maxLength: 100 })
/** Credential ids have up to 1,023 bytes. */
const Id = Type.String({ maxLength: 1400 })
const NewPasskey = Type.Object({ answer: PasskeyAnswer, name: Name })
const Renamed = Type.Object({ id: Id, name: Name })
const Removed = Type.Object({ id: Id })
type NewInput = ScreenInput<unknown, Static<typeof NewPasskey>>

export const passkeyScreens: readonly Screen[] = [
  userScreen({
    method: 'POST',
    path: PATH,
    name: 'addPasskey',
    requiresReauthentication: true,
    form: NewPasskey,
    prepare: (ctx, { form }) => checkRegistration(ctx, form.answer),
    run: add,
    renderErrors: showAgain,
    savesForm: true,
  }),
  userScreen({
    method: 'POST',
    path: `${PATH}/name`,
    name: 'renamePasskey',
    requiresReauthentication: true,
    form: Renamed,
    run: rename,
    renderErrors: showAgain,
    savesForm: true,
  }),
  userScreen({
    method: 'POST',
    path: `${PATH}/remove`,
    name: 'removePasskey',
    requiresReauthentication: true,
    form: Removed,
    run: remove,
    renderErrors: (ctx, _, refusal) => showFactors(ctx, formErrorOf(refusal, {})),
    refuses: ['last_way_in'],
  }),
]

async function add(ctx: UserPageCtx, { form }: NewInput, registered: PasskeyRegistration | undefined): Promise<View> {
  const added = registered !== undefined && (await addPasskey(ctx, ctx.user.userId, form.name, registered))
  if (added) return afterFactorAdded(ctx, `The passkey “${form.name}” was`)
  const message = `The passkey was not added: it took longer than five minutes, it exists already, or you have ${MAX_PASSKEYS} passkeys. Try again.`
  return {
    ...(await showFactors(ctx, { message, field: undefined, typed: { name: form.name }, extra: {} })),
    status: 422,
  }
}

function showAgain(ctx: UserPageCtx, { form }: ScreenInput, refusal: Refusal) {
  return showFactors(ctx, formErrorOf(refusal, form))
}

async function rename(ctx: UserPageCtx, { form }: ScreenInput<unknown, Static<typeof Renamed>>): Promise<View> {
  const { userId } = ctx.user
  if (!(await renamePasskey(ctx.db, userId, form.id, form.name))) return { redirectTo: FACTORS }
  return { redirectTo: FACTORS, audit: { by: ctx, subjectId: userId } }
}

/** Keeps the last passkey of a user without a password, who otherwise could not sign in. */
async function remove(ctx: UserPageCtx, { form }: ScreenInput<unknown, Static<typeof Removed>>): Promise<View> {
  const { userId } = ctx.user
  const name = await removePasskey(ctx.db, userId, form.id)
  if (name === undefined) return { redirectTo: FACTORS }
  const left = await ctx.db.selectFrom('passkey').select('id').where('user_id', '=', userId).limit(1).execute()
  if (left.length === 0 && !(await hasPassword(ctx.db, userId))) refuse('last_way_in')
  await notifyFactorRemoved(ctx, userId, `The passkey “${name}” was`)
  return { redirectTo: FACTORS, audit: { by: ctx, subjectId: userId } }
}
