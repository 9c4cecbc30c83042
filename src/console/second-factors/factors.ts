/** TABLE the pages and forms of second factors. docs/sign-in-and-consent.md: Second factors. */

import { makeChallengeKey } from '../../accounts/second-factor/challenges.ts'
import { arePasskeysPossible } from '../../accounts/second-factor/passkeys.ts'
import { renewRecoveryCodes } from '../../accounts/second-factor/second-factor.ts'
import { hasSecondFactor } from '../../platform/access/second-factor.ts'
import { type PersonCtx, personScreen, type Screen, type View } from '../../platform/pages/screen.ts'
import { codeScreens } from './codes.ts'
import { showFactors } from './page.ts'
import { passkeyScreens } from './passkeys.ts'
import { FACTORS, recoveryPage } from './shown-codes.ts'

export const factorScreens: readonly Screen[] = [
  personScreen({ method: 'GET', path: FACTORS, name: 'showFactors', fresh: true, run: openFactors }),
  ...codeScreens,
  ...passkeyScreens,
  personScreen({ method: 'POST', path: `${FACTORS}/recovery`, name: 'renewRecoveryCodes', fresh: true, run: renew }),
]

async function openFactors(ctx: PersonCtx): Promise<View> {
  if (arePasskeysPossible(ctx)) await makeChallengeKey(ctx.deps)
  return showFactors(ctx)
}

async function renew(ctx: PersonCtx): Promise<View> {
  const { userId } = ctx.visitor
  if (!(await hasSecondFactor(ctx.db, userId))) return { to: FACTORS }
  const codes = await renewRecoveryCodes(ctx, userId)
  return { ...(await recoveryPage(ctx, codes)), done: { by: ctx, subjectId: userId } }
}
