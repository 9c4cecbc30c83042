/** Whom the protection of a project lets in. The rule is projects/protection.ts; here passwords are checked, few at a time. docs/decisions/0076. */

import { fingerprint } from '../ids.ts'
import { passwordMatches } from '../outside/outside.ts'
import { admits } from '../projects/protection.ts'
import type { Guard } from './hosts.ts'
import type { EdgeError, Visitor } from './verdict.ts'

/** A check costs 19 MiB and some 30 ms of a core. Those that wait behind them are asked to come again. */
const MOST_AT_ONCE = 2
const MOST_WAITING = 32
const MOST_REMEMBERED = 10_000

type Refused = { status: 401 | 403 | 503; error: EdgeError }
export type Admit = (guard: Guard, visitor: Visitor) => Promise<Refused | undefined>

/**
 * Makes the one who asks for passwords. A right one is remembered by a hash of it together with the stored hash, so the
 * next request costs nothing, and none passes once the password is another.
 */
export function openAdmission(): Admit {
  const right = new Set<string>()
  const line = openLine()

  return async ({ protection, kind, throughDomain }, { ip, bypass, password }) => {
    const visit = { kind, throughDomain, ip, bypass }
    const without = admits(protection, visit)
    if (without === 'admitted') return undefined
    if (without !== 'password') return { status: 403, error: 'NOT_ALLOWED' }
    if (password === undefined || password === '') return { status: 401, error: 'PASSWORD_REQUIRED' }
    const { hash } = protection.password!
    const key = fingerprint(`${hash} ${password}`)
    if (!right.has(key)) {
      const knowsPassword = await line(() => passwordMatches(password, hash))
      if (knowsPassword === undefined) return { status: 503, error: 'TOO_MANY_PASSWORDS' }
      if (!knowsPassword) return { status: 401, error: 'PASSWORD_REQUIRED' }
      if (right.size >= MOST_REMEMBERED) right.clear()
      right.add(key)
    }
    const verdict = admits(protection, { ...visit, knowsPassword: true })
    return verdict === 'admitted' ? undefined : { status: 403, error: 'NOT_ALLOWED' }
  }
}

/** Whether somebody nobody knows has to stay outside. */
export function keepsOut(guard: Guard | undefined): boolean {
  if (guard === undefined) return false
  const { protection, kind, throughDomain } = guard
  return admits(protection, { kind, throughDomain, ip: '' }) !== 'admitted'
}

/** Runs few at once, lets some wait, and gives undefined to all others. */
function openLine() {
  const waiting: (() => void)[] = []
  let running = 0
  return async <T>(run: () => Promise<T>): Promise<T | undefined> => {
    if (running >= MOST_AT_ONCE) {
      if (waiting.length >= MOST_WAITING) return undefined
      await new Promise<void>((resolve) => waiting.push(resolve))
    } else running++
    try {
      return await run()
    } finally {
      const next = waiting.shift()
      if (next === undefined) running--
      else next()
    }
  }
}
