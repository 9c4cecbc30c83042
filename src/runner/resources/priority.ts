/** Builds yield to the rest of the machine. docs/runner.md: Limits of a build. */
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs'

const SCORE_FILE = '/proc/self/oom_score_adj'
/** The kernel kills a build process before others that use up to half of the memory more. */
const BUILD_SCORE = 500

/**
 * Runs `start` with the score of a build, which its child processes inherit. Where this process is root, a build cannot
 * choose a lower score.
 */
export function withBuildScore(start: () => void): void {
  const own = readScore()
  const isRaised = own !== undefined && own < BUILD_SCORE
  if (isRaised) writeScore(BUILD_SCORE)
  try {
    start()
  } finally {
    if (isRaised) writeScore(own)
  }
}

function readScore(): number | undefined {
  try {
    return Number.parseInt(readFileSync(SCORE_FILE, 'latin1'), 10)
  } catch {
    // Another system than Linux.
    return undefined
  }
}

function writeScore(score: number): void {
  const descriptor = openSync(SCORE_FILE, 'r+')
  try {
    writeSync(descriptor, String(score))
  } finally {
    closeSync(descriptor)
  }
}

/** Where the kernel groups processes by session, only the priority of the session counts. */
const YIELDING = `{ echo 10 > /proc/self/autogroup; } 2>/dev/null
exec nice -n 10 "$@"`

/** Returns the command with a lower CPU priority, which a process cannot raise. Pure. */
export function yielding(command: readonly [string, ...string[]]): [string, ...string[]] {
  return ['/bin/sh', '-c', YIELDING, 'build', ...command]
}
