/** Passwords: hashed and checked, each in its turn. docs/limits.md: Passwords in turn. */
import { Refusal } from '../refusals/refusal.ts'
import { DUMMY_HASH, hashPassword, passwordMatches } from './argon2.ts'
import { type HashOwner, openHashTurns } from './hash-turns.ts'

export type Passwords = {
  /** Gives the PHC string of a password. Refuses: rate_limited 429, when too many wait. */
  hash(password: string, owner: HashOwner): Promise<string>
  /** Says whether the password made this PHC string. Takes as long where there is none. Refuses: rate_limited 429, when too many wait. */
  matches(password: string, phc: string | null | undefined, owner: HashOwner): Promise<boolean>
}

/** Opens the turns that all hashing of the process shares. */
export function openPasswords(): Passwords {
  const inTurn = openHashTurns()
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
