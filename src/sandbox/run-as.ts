/** As whom sandboxed commands run. */
import { readFileSync } from 'node:fs'

/** The user outside as whom commands run; undefined: the user of this process, who must not be root. */
export type RunAs = { uid: number; gid: number } | undefined

const DEFAULT_USER = 'nobody'

/**
 * Returns the ids of `user`, else of `nobody`, where this process is root, and undefined where it is not. Throws for a user that `/etc/passwd` does
 * not have, or that is root.
 */
export function runAsOf(
  user: string | undefined,
  isRoot = process.getuid?.() === 0,
  users = () => readFileSync('/etc/passwd', 'utf8'),
): RunAs {
  if (!isRoot) return undefined
  const name = user ?? DEFAULT_USER
  const fields = users()
    .split('\n')
    .map((line) => line.split(':'))
    .find(([first]) => first === name)
  const [uid, gid] = [Number(fields?.[2]), Number(fields?.[3])]
  if (!Number.isInteger(uid) || !Number.isInteger(gid)) throw new Error(`there is no user ${name} in /etc/passwd`)
  if (uid === 0) throw new Error(`the user ${name} is root, and a sandbox never runs as root`)
  return { uid, gid }
}
