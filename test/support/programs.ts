/** Programs that some tests need and a machine may lack. docs/testing.md. */
import { spawnSync } from 'node:child_process'

/** As the programs of system administrators are found by whoever is not root, too. */
export const WITH_SBIN = `${process.env.PATH}:/usr/sbin:/usr/local/sbin`

/** Whether a program can be started by these words. */
export function canRun(program: string, ...words: string[]): boolean {
  return spawnSync(program, words, { stdio: 'ignore', env: { ...process.env, PATH: WITH_SBIN } }).status === 0
}

/**
 * Says in a line what is left out, and gives the reason for `skip`. Throws in `npm run verify`, which sets BERTH_TEST_PROGRAMS=all and
 * insists on every program: nobody reads what a green run left out.
 */
export function skipReason(program: string, packageName: string, tests: string): string {
  const said = `${program} is not installed (apt-get install ${packageName}), so nothing is known of ${tests}`
  if (process.env.BERTH_TEST_PROGRAMS === 'all') throw new Error(said)
  console.error(`SKIPPED: ${said}`)
  return said
}
