/** Builds yield to the rest of the machine. docs/runner.md: Limits of a build. */
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs'

const SCORE_FILE = '/proc/self/oom_score_adj'
/** The kernel ends a process of a build before others that are half of the memory larger. */
const BUILD_SCORE = 500

/**
 * Runs `start` while this process has the score of a build, which what it starts inherits. Where this process is root, the kernel keeps the score as the
 * least that a build can choose.
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

/** The priority of the session counts instead of that of a process where the kernel groups processes by session. */
const YIELDING = `{ echo 10 > /proc/self/autogroup; } 2>/dev/null
exec nice -n 10 "$@"`

/** Returns the command with less processor time than what else runs. A process cannot undo that. Pure. */
export function yielding(command: readonly [string, ...string[]]): [string, ...string[]] {
  return ['/bin/sh', '-c', YIELDING, 'build', ...command]
}
