/** TABLE Screens of second factors. docs/sign-in-and-consent.md: Second factors. */

import { createChallengeKey } from '../../accounts/second-factor/challenges.ts'
import { arePasskeysPossible } from '../../accounts/second-factor/passkeys.ts'
import { regenerateRecoveryCodes } from '../../accounts/second-factor/second-factor.ts'
import { hasSecondFactor } from '../../platform/access/second-factor.ts'
import { type Screen, type UserPageCtx, userScreen, type View } from '../../platform/pages/screen.ts'
import { codeScreens } from './codes.ts'
import { showFactors } from './page.ts'
import { passkeyScreens } from './passkeys.ts'
import { FACTORS, recoveryPage } from './shown-codes.ts'

export const factorScreens: readonly Screen[] = [
  userScreen({ method: 'GET', path: FACTORS, name: 'showFactors', requiresReauthentication: true, run: openFactors }),
  ...codeScreens,
  ...passkeyScreens,
  userScreen({
    method: 'POST',
    path: `${FACTORS}/recovery`,
    name: 'renewRecoveryCodes',
    requiresReauthentication: true,
    run: renew,
  }),
]

async function openFactors(ctx: UserPageCtx): Promise<View> {
  if (arePasskeysPossible(ctx)) await createChallengeKey(ctx.deps)
  return showFactors(ctx)
}

async function renew(ctx: UserPageCtx): Promise<View> {
  const { userId } = ctx.user
  if (!(await hasSecondFactor(ctx.db, userId))) return { redirectTo: FACTORS }
  const codes = await regenerateRecoveryCodes(ctx, userId)
  return { ...(await recoveryPage(ctx, codes)), audit: { by: ctx, subjectId: userId } }
}
