/** One process a store: an exclusive lock on a side file, which the kernel frees however the process ends. */
import { readFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { DatabaseSync } from 'node:sqlite'
import { writeFileAtomically } from '../../adapters/atomic-file.ts'
import { BUSY, LOCKED, primaryResultCode } from './result-codes.ts'

/**
 * Locks `<store>-lock`, waiting `patienceMs` for who has it, and writes into `<store>-pid` whose it is. `advice`: what somebody does who
 * cannot have it. Throws, with the pid of who has it, when another process has it; and what the system says when it cannot be locked.
 */
export function lockStore(store: string, advice: string, patienceMs = 0): DatabaseSync {
  const file = `${store}-lock`
  const lock = new DatabaseSync(file, { timeout: patienceMs })
  try {
    lock.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; COMMIT')
  } catch (error) {
    lock.close()
    if (![BUSY, LOCKED].includes(primaryResultCode(error))) throw error
    throw new Error(`another process${holderOf(store)} has ${file}: ${advice}`)
  }
  // A file of its own: who opens and closes a file with a lock on it loses the lock (POSIX), also where it only looks.
  try {
    writeFileAtomically(`${store}-pid`, `${process.pid} ${hostname()}\n`)
  } catch {
    // It only tells others whom to ask: the lock is had.
  }
  return lock
}

/** ` (pid 123)`; with the machine, where that is another one. Nothing where the file does not say it. */
function holderOf(store: string): string {
  try {
    const [, pid, machine] = /^(\d+) (\S+)\n$/.exec(readFileSync(`${store}-pid`, 'utf8')) ?? []
    if (pid === undefined) return ''
    return machine === hostname() ? ` (pid ${pid})` : ` (pid ${pid} on ${machine})`
  } catch {
    return ''
  }
}
