/** One process per database: an exclusive lock on a side file, which the kernel releases when the process ends. */
import { readFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { DatabaseSync } from 'node:sqlite'
import { writeFileAtomically } from '../../adapters/atomic-file.ts'
import { BUSY, LOCKED, primaryResultCode } from './result-codes.ts'

/**
 * Locks `<store>-lock`, waiting up to `timeoutMs`, and writes its process into `<store>-pid`. `advice`: what to do when it is locked. Throws when
 * another process has the lock, with its pid, or when locking fails.
 */
export function lockStore(store: string, advice: string, timeoutMs = 0): DatabaseSync {
  const file = `${store}-lock`
  const lock = new DatabaseSync(file, { timeout: timeoutMs })
  try {
    lock.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; COMMIT')
  } catch (error) {
    lock.close()
    if (![BUSY, LOCKED].includes(primaryResultCode(error))) throw error
    throw new Error(`another process${holderOf(store)} has ${file}: ${advice}`)
  }
  // A separate file: a process that opens and closes a locked file loses its lock (POSIX).
  try {
    writeFileAtomically(`${store}-pid`, `${process.pid} ${hostname()}\n`)
  } catch {
    // The pid is only a hint for others: this process has the lock.
  }
  return lock
}

/** ` (pid 123)`, with the host name of another machine. Empty where the file has no pid. */
function holderOf(store: string): string {
  try {
    const [, pid, machine] = /^(\d+) (\S+)\n$/.exec(readFileSync(`${store}-pid`, 'utf8')) ?? []
    if (pid === undefined) return ''
    return machine === hostname() ? ` (pid ${pid})` : ` (pid ${pid} on ${machine})`
  } catch {
    return ''
  }
}
