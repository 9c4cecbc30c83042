/** What a password may be. docs/sign-in-and-consent.md: Passwords and sessions. */

export const SHORTEST = 12
export const LONGEST = 128
/** The rule as people read it. */
export const PASSWORD_RULE = `${SHORTEST} to ${LONGEST} characters. Any characters, spaces too; several words are a good password.`

/** One spelling of a password, however a keyboard composes its characters (RFC 8265 takes NFC; NIST 800-63B NFKC). */
export function canonicalPassword(typed: string): string {
  return typed.normalize('NFKC')
}

/** What is wrong with a new password; undefined when nothing is. */
export function passwordFault(typed: string): string | undefined {
  const length = [...canonicalPassword(typed)].length
  if (length < SHORTEST) return `The password has ${length} characters; it needs at least ${SHORTEST}.`
  if (length > LONGEST) return `The password has ${length} characters; it may have at most ${LONGEST}.`
  return undefined
}
