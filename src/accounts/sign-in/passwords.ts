/** Password rules. docs/sign-in-and-consent.md: Passwords and sessions. */

export const MIN_PASSWORD_LENGTH = 12
export const MAX_PASSWORD_LENGTH = 128
export const PASSWORD_RULE = `${MIN_PASSWORD_LENGTH} to ${MAX_PASSWORD_LENGTH} characters. Spaces are fine. A few random words make a good password.`

/** Normalizes a password, because keyboards compose characters differently (RFC 8265 uses NFC; NIST 800-63B NFKC). */
export function canonicalPassword(typed: string): string {
  return typed.normalize('NFKC')
}

/** Returns the error of a new password; undefined when valid. */
export function passwordError(typed: string): string | undefined {
  const length = [...canonicalPassword(typed)].length
  if (length < MIN_PASSWORD_LENGTH)
    return `The password has ${length} characters; it needs at least ${MIN_PASSWORD_LENGTH}.`
  if (length > MAX_PASSWORD_LENGTH)
    return `The password has ${length} characters; it may have at most ${MAX_PASSWORD_LENGTH}.`
  return undefined
}
