/** Programs that some tests need and a machine may not have. docs/testing.md. */
import { spawnSync } from 'node:child_process'

/** A path that also has the programs of system administrators, for users other than root. */
export const WITH_SBIN = `${process.env.PATH}:/usr/sbin:/usr/local/sbin`

/** Returns whether a program can be started with these arguments. */
export function canRun(program: string, ...words: string[]): boolean {
  return spawnSync(program, words, { stdio: 'ignore', env: { ...process.env, PATH: WITH_SBIN } }).status === 0
}

/**
 * Prints a notice of what is skipped, and returns the reason for `skip`. Throws in `npm run verify`, which sets BERTH_TEST_PROGRAMS=all and
 * insists on every program: a green run hides what it skipped.
 */
export function skipReason(program: string, packageName: string, tests: string): string {
  const said = `${program} is not installed (apt-get install ${packageName}), so nothing is known of ${tests}`
  if (process.env.BERTH_TEST_PROGRAMS === 'all') throw new Error(said)
  console.error(`SKIPPED: ${said}`)
  return said
}
