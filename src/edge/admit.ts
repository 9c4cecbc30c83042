/** Whom the protection of a project lets in. The rule is serving/protection.ts; here passwords are checked, few at a time. docs/edge.md: Passwords at the edge. */

import { passwordMatches } from '../adapters/adapters.ts'
import { networkOf } from '../http/failure-limits.ts'
import { fingerprint } from '../ids.ts'
import { admits } from '../serving/protection.ts'
import type { Guard } from './hosts.ts'
import { openPasswordLine } from './password-line.ts'
import type { EdgeError, Visitor } from './verdict.ts'

const MOST_REMEMBERED = 10_000

type Refused = { status: 401 | 403 | 503; error: EdgeError }
export type Admit = (guard: Guard, visitor: Visitor) => Promise<Refused | undefined>

/**
 * Makes the one who asks for passwords. A right one is remembered by a hash of it together with the stored hash, so the
 * next request costs nothing, and none passes once the password is another.
 */
export function openAdmission(): Admit {
  const right = new Set<string>()
  const line = openPasswordLine()

  return async ({ protection, kind, throughDomain }, { ip, bypass, password }) => {
    const visit = { kind, throughDomain, ip, bypass }
    const without = admits(protection, visit)
    if (without === 'admitted') return undefined
    if (without !== 'password') return { status: 403, error: 'NOT_ALLOWED' }
    if (password === undefined || password === '') return { status: 401, error: 'PASSWORD_REQUIRED' }
    const { hash } = protection.password!
    const key = fingerprint(`${hash} ${password}`)
    if (!right.has(key)) {
      const check = line(hash, networkOf(ip), () => passwordMatches(password, hash))
      const knowsPassword = await check
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
