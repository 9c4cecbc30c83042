/** TABLE the pages and forms of second factors. docs/sign-in-and-consent.md: Second factors. */

import { hasSecondFactor } from '../../access/second-factor.ts'
import { type PersonCtx, personScreen, type Screen, type View } from '../../pages/screen.ts'
import { makeChallengeKey } from '../../second-factor/challenges.ts'
import { arePasskeysPossible } from '../../second-factor/passkeys.ts'
import { renewRecoveryCodes } from '../../second-factor/second-factor.ts'
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
