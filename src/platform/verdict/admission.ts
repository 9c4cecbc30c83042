/** Access checks with passwords and members. The rule is platform/verdict/protection.ts. docs/edge.md: Passwords at the edge. */

import type { Passwords } from '../adapters/passwords.ts'
import { fingerprint } from '../base/ids.ts'
import { networkOf } from '../base/network.ts'
import { Refusal } from '../refusals/refusal.ts'
import type { HostEntry, HostProtection } from './hosts.ts'
import { decideAccess } from './protection.ts'
import type { EdgeError, Visitor } from './verdict.ts'

const MAX_REMEMBERED = 10_000

type Refused = { status: 401 | 403 | 503; error: EdgeError; signIn?: boolean }
export type AdmitVisitor = (guard: HostProtection, visitor: Visitor, projectId: string) => Promise<Refused | undefined>
/** Whether a visitor's session on this host is of a member who can still see the project. */
export type IsMember = (visit: { secret: string; host: string; projectId: string }) => Promise<boolean>

/**
 * Creates the access check. Accepted passwords are cached by a hash with the stored hash, so a changed password invalidates them. Membership is
 * checked each time.
 */
export function createAdmission(passwords: Passwords, isMember: IsMember): AdmitVisitor {
  const right = new Set<string>()

  return async ({ protection, kind, through }, { host, ip, bypass, password, session }, projectId) => {
    const visit = { kind, through, ip, bypass }
    const without = decideAccess(protection, visit)
    if (without === 'admitted') return undefined
    const signIn = decideAccess(protection, { ...visit, signedIn: true }) === 'admitted'
    if (signIn && session !== undefined && (await isMember({ secret: session, host, projectId }))) return undefined
    if (without !== 'password') return { status: 403, error: 'NOT_ALLOWED', signIn }
    if (password === undefined || password === '') return { status: 401, error: 'PASSWORD_REQUIRED', signIn }
    const { hash } = protection.password!
    const key = fingerprint(`${hash} ${password}`)
    if (!right.has(key)) {
      const knowsPassword = await inTurn(
        passwords.matches(password, hash, { kind: 'site', owner: hash, address: networkOf(ip) }),
      )
      if (knowsPassword === undefined) return { status: 503, error: 'TOO_MANY_PASSWORDS' }
      if (!knowsPassword) return { status: 401, error: 'PASSWORD_REQUIRED', signIn }
      if (right.size >= MAX_REMEMBERED) right.clear()
      right.add(key)
    }
    const verdict = decideAccess(protection, { ...visit, knowsPassword: true })
    return verdict === 'admitted' ? undefined : { status: 403, error: 'NOT_ALLOWED' }
  }
}

/** The result of a check; undefined when the queue is full. */
async function inTurn(check: Promise<boolean>): Promise<boolean | undefined> {
  try {
    return await check
  } catch (error) {
    if (error instanceof Refusal) return undefined
    throw error
  }
}

/** Returns whether an unauthenticated visitor needs admission. */
export function requiresAdmission(guard: HostProtection | undefined): boolean {
  if (guard === undefined) return false
  const { protection, kind, through } = guard
  return decideAccess(protection, { kind, through, ip: '' }) !== 'admitted'
}

/** Returns the protection of a source map: of the deployment, else of source maps. */
export function guardOfSourceMap({
  guard,
  sourceMapGuard,
}: Pick<HostEntry, 'guard' | 'sourceMapGuard'>): HostProtection | undefined {
  return requiresAdmission(guard) ? guard : (sourceMapGuard ?? guard)
}
