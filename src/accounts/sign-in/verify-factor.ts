/** A second factor of a sign-in, or of a confirmation: checked before the transaction, believed in it. docs/sign-in-and-consent.md: Second factors. */
import { rejectIfExceeded } from '../../platform/limiter/limiter.ts'
import type { PageCtx } from '../../platform/pages/screen.ts'
import type { PasskeyPurpose } from '../second-factor/challenges.ts'
import { consumeAssertion, type PasskeyAssertion, verifyAssertion } from '../second-factor/passkeys.ts'
import { checkCode, consumeCode, type ValidCode } from '../second-factor/second-factor.ts'
import { clearFailures, countWrongCode, isLocked, isSuspended } from './sign-in.ts'

/** What was given: a right code of a person, what a passkey proves, or nothing that is right. */
export type FactorResult = { code: ValidCode } | { proof: PasskeyAssertion } | undefined

/** What a form sends: a code, or the answer of a passkey as JSON. */
export type FactorInput = { code?: string | undefined; answer?: string | undefined }

type TryCtx = Pick<PageCtx, 'db' | 'deps' | 'now' | 'address' | 'csrfToken'>

/**
 * Checks a factor. As with passwords, a failure of the address is counted before it is known to be one. `userId`: whose code it may be;
 * a passkey says by itself whose it is. Refuses: rate_limited 429, before the factor is looked at.
 */
export async function checkFactorLimited(
  ctx: TryCtx,
  purpose: PasskeyPurpose,
  userId: string | undefined,
  { code, answer }: FactorInput,
): Promise<FactorResult> {
  const { limits } = ctx.deps
  rejectIfExceeded(await limits.consume('sign-in-failures', ctx.address, ctx.now), ctx.now, 'wrong codes')
  const checked =
    answer === undefined ? await checkTyped(ctx, userId, code ?? '') : await checkAnswer(ctx, purpose, answer)
  if (checked !== undefined) await limits.refund('sign-in-failures', ctx.address, ctx.now)
  return checked
}

async function checkTyped(ctx: TryCtx, userId: string | undefined, typed: string): Promise<FactorResult> {
  const code = userId === undefined ? undefined : await checkCode(ctx, userId, typed)
  return code && { code }
}

async function checkAnswer(ctx: TryCtx, purpose: PasskeyPurpose, answer: string): Promise<FactorResult> {
  const proof = await verifyAssertion(ctx, purpose, answer)
  return proof && { proof }
}

/**
 * Believes a factor of this person, and uses it up. Wrong codes are counted as wrong passwords are, and while a person is locked no code is
 * right. A passkey cannot be guessed, so no lock holds for it.
 */
export async function acceptFactor(ctx: PageCtx, userId: string, checked: FactorResult): Promise<boolean> {
  if (checked !== undefined && 'proof' in checked) return (await acceptPasskey(ctx, checked)) === userId
  const mayTry = checked !== undefined && !(await isLocked(ctx, userId)) && !(await isSuspended(ctx, userId))
  if (mayTry && (await consumeCode(ctx, userId, checked.code))) {
    await clearFailures(ctx, userId)
    return true
  }
  await countWrongCode(ctx, userId)
  return false
}

/** Whose passkey it is, who may come in; undefined: nobody's. */
export async function acceptPasskey(ctx: PageCtx, checked: FactorResult): Promise<string | undefined> {
  if (checked === undefined || !('proof' in checked)) return undefined
  const userId = await consumeAssertion(ctx, checked.proof)
  if (userId === undefined || (await isSuspended(ctx, userId))) return undefined
  await clearFailures(ctx, userId)
  return userId
}
