/** What a password may be. docs/sign-in-and-consent.md: Passwords and sessions. */

export const MIN_PASSWORD_LENGTH = 12
export const MAX_PASSWORD_LENGTH = 128
/** The rule as people read it. */
export const PASSWORD_RULE = `${MIN_PASSWORD_LENGTH} to ${MAX_PASSWORD_LENGTH} characters. Any characters, spaces too; several words are a good password.`

/** One spelling of a password, however a keyboard composes its characters (RFC 8265 takes NFC; NIST 800-63B NFKC). */
export function canonicalPassword(typed: string): string {
  return typed.normalize('NFKC')
}

/** What is wrong with a new password; undefined when nothing is. */
export function passwordError(typed: string): string | undefined {
  const length = [...canonicalPassword(typed)].length
  if (length < MIN_PASSWORD_LENGTH)
    return `The password has ${length} characters; it needs at least ${MIN_PASSWORD_LENGTH}.`
  if (length > MAX_PASSWORD_LENGTH)
    return `The password has ${length} characters; it may have at most ${MAX_PASSWORD_LENGTH}.`
  return undefined
}
