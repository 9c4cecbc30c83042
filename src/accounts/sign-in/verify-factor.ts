/** The second factor of a sign-in or reauthentication, checked before the transaction that accepts it. docs/sign-in-and-consent.md: Second factors. */
import { rejectIfExceeded } from '../../platform/limiter/limiter.ts'
import type { PageCtx } from '../../platform/pages/screen.ts'
import type { PasskeyPurpose } from '../second-factor/challenges.ts'
import { consumeAssertion, type PasskeyAssertion, verifyAssertion } from '../second-factor/passkeys.ts'
import { checkCode, consumeCode, type ValidCode } from '../second-factor/second-factor.ts'
import { clearFailures, countWrongCode, isLocked, isSuspended } from './sign-in.ts'

/** A valid code or assertion; undefined when invalid. */
export type FactorResult = { code: ValidCode } | { proof: PasskeyAssertion } | undefined

/** A code, or a passkey response as JSON. */
export type FactorInput = { code?: string | undefined; answer?: string | undefined }

type TryCtx = Pick<PageCtx, 'db' | 'deps' | 'now' | 'address' | 'csrfToken'>

/**
 * Checks a factor. Consumes the address's limit first, as for passwords. `userId`: the user of a code; a passkey names its own user. Refuses:
 * rate_limited 429, before the check.
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
 * Accepts and consumes a factor of the user. Wrong codes count as failed attempts and no code works during a lockout. Passkeys cannot be guessed, so
 * a lockout does not apply.
 */
export async function acceptFactor(ctx: PageCtx, userId: string, checked: FactorResult): Promise<boolean> {
  if (checked !== undefined && 'proof' in checked) return (await acceptPasskey(ctx, checked)) === userId
  const canTry = checked !== undefined && !(await isLocked(ctx, userId)) && !(await isSuspended(ctx, userId))
  if (canTry && (await consumeCode(ctx, userId, checked.code))) {
    await clearFailures(ctx, userId)
    return true
  }
  await countWrongCode(ctx, userId)
  return false
}

/** Accepts an assertion and returns its user; undefined when invalid or suspended. */
export async function acceptPasskey(ctx: PageCtx, checked: FactorResult): Promise<string | undefined> {
  if (checked === undefined || !('proof' in checked)) return undefined
  const userId = await consumeAssertion(ctx, checked.proof)
  if (userId === undefined || (await isSuspended(ctx, userId))) return undefined
  await clearFailures(ctx, userId)
  return userId
}
