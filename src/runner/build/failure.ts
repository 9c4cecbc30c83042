/** Why a build failed, in its own words. docs/runner.md: Errors. */
import type { BuildError } from '../../delivery/protocol/runner-protocol.ts'
import type { Exit } from '../../sandbox/sandbox.ts'

/** A build that fails with a code. The message is for users. */
export class BuildFailure extends Error {
  readonly code: BuildError
  constructor(code: BuildError, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

const MAX_MESSAGE = 2000
const MAX_LINES = 5
const COLORS = /\x1b\[[\d;:]*m/g
/** TABLE how a line of the log that names the reason looks: the first pattern that occurs counts. */
const REASONS: readonly RegExp[] = [
  /^\s*Error: /,
  /^\s*(?:\w*Error|error)\b[ :]/,
  /^npm (?:ERR!|error) /,
  /^\s*ERR_PNPM_/,
  /\berror\b/i,
]
/** What the builder says of a command that failed. The reason is in what that command said before. */
const COMMAND = /^\s*Error: (?:\[\w+\] )?Command ".*" exited with /
/** Empty lines, and one that names a file that goes with the build. */
const NOISE_OF_NPM = /^npm (?:ERR!|error)(?: A complete log|$)/
/** TABLE signs of missing memory. */
const MEMORY = /heap out of memory|\bENOMEM\b|Cannot allocate memory/
/** SIGKILL, which is what the kernel sends then. A build can send it to its own processes too. */
const KILLED_COMMAND = /exited with SIGKILL/
const KILLED = 137

/** Returns the code and the message of a builder that ended with `exit`. `lines`: the end of its log, oldest first. Pure. */
export function explainExit({ code, signal }: Exit, lines: readonly string[]): { code: BuildError; message: string } {
  const plain = lines
    .map((line) => line.replace(COLORS, '').trimEnd())
    .filter((line) => line.trim() !== '' && !NOISE_OF_NPM.test(line))
  const how = signal === null ? `with exit code ${code}` : `by ${signal}`
  const outOfMemory = (said: string) => ({
    code: 'BUILD_OUT_OF_MEMORY' as const,
    message: cut([`${said} (${how}).`, ...reasons(plain)]),
  })
  if (plain.some((line) => MEMORY.test(line))) return outOfMemory('The build ran out of memory')
  if (code === KILLED || plain.some((line) => KILLED_COMMAND.test(line)))
    return outOfMemory('The build was killed, probably because memory ran out')
  return { code: 'BUILD_FAILED', message: cut([...reasons(plain), `The build ended ${how}.`]) }
}

/** The lines that name the reason, else the last ones. */
function reasons(lines: readonly string[]): string[] {
  const failed = lines.findLast((line) => COMMAND.test(line))
  if (failed === undefined) return namedReasons(lines) ?? lines.slice(-MAX_LINES)
  return [failed, ...(namedReasons(lines.filter((line) => !COMMAND.test(line))) ?? [])]
}

/** From the first of the last lines in a row that have the pattern. */
function namedReasons(lines: readonly string[]): string[] | undefined {
  for (const pattern of REASONS) {
    let at = lines.findLastIndex((line) => pattern.test(line))
    if (at < 0) continue
    while (at > 0 && pattern.test(lines[at - 1]!)) at--
    return lines.slice(at, at + MAX_LINES)
  }
  return undefined
}

function cut(lines: readonly string[]): string {
  return lines.join('\n').toWellFormed().slice(0, MAX_MESSAGE)
}
