/** Password hashing with a queue. docs/limits.md: Password hashing. */
import { Refusal } from '../refusals/refusal.ts'
import { DUMMY_HASH, hashPassword, passwordMatches } from './argon2.ts'
import { createHashTurns, type HashOwner } from './hash-turns.ts'

export type Passwords = {
  /** Returns the PHC string of a password. Refuses: rate_limited 429 (full queue). */
  hash(password: string, owner: HashOwner): Promise<string>
  /** Returns whether a password matches a PHC string, in constant time also without one. Refuses: rate_limited 429 (full queue). */
  matches(password: string, phc: string | null | undefined, owner: HashOwner): Promise<boolean>
}

/** Creates the hash queue of the process. */
export function openPasswords(): Passwords {
  const inTurn = createHashTurns()
  const run = async <T>(owner: HashOwner, work: () => Promise<T>): Promise<T> => {
    const result = await inTurn(owner, async () => ({ value: await work() }))
    if (result === undefined) throw tooMany()
    return result.value
  }
  return {
    hash: (password, owner) => run(owner, () => hashPassword(password)),
    matches: (password, phc, owner) =>
      run(owner, async () => (await passwordMatches(password, phc ?? DUMMY_HASH)) && typeof phc === 'string'),
  }
}

function tooMany(): Refusal {
  const message = 'Too many passwords wait to be checked. Try again in 1 second.'
  return new Refusal('rate_limited', message, { name: 'passwords' }, { 'retry-after': '1' })
}
