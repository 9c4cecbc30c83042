/** The sandbox of builds in `berth doctor`. docs/sandbox.md: A sandbox that does not start. */
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Config } from '../../config.ts'
import { tryBuilds } from '../../runner/open-runner.ts'
import type { Trial } from '../../sandbox/trial.ts'
import { startsRunner } from './builds.ts'
import { type Finding, findingsAbout } from './finding.ts'

const { well, worry, wrong } = findingsAbout('sandbox')

/** Checks that a sandbox starts where this machine may build, and says what of the machine a build can use up. */
export async function checkSandbox(config: Config): Promise<Finding[]> {
  const { mode } = config.runner
  if (mode === 'trusted') {
    const found = 'builds run as plain processes of this user, and read what it can read'
    return [worry(found, 'set BERTH_BUILDS=sandboxed, unless you trust all code that is built')]
  }
  if (mode === 'off' || (mode === undefined && !startsRunner(config))) return []
  const trial = await tryHere(config.runner)
  if (!trial.works) {
    // Without BERTH_BUILDS a laptop works without builds, and with a token the runners may be on other machines.
    const failed = mode === 'sandboxed' && config.builds.runnerToken === undefined ? wrong : worry
    const advice = 'see docs/sandbox.md, A sandbox that does not start; vercel deploy --prebuilt works without builds'
    return [failed(`no sandbox starts on this machine: ${trial.sentence}`, advice)]
  }
  const found = 'a sandbox starts'
  if (trial.unlimited === undefined) return [well(found)]
  return [worry(`${found}, but ${trial.unlimited}`, 'see docs/sandbox.md, Limits')]
}

/** Before the first start there is no directory of runs, and the doctor leaves none, whose owner might be another user. */
async function tryHere(settings: Config['runner']): Promise<Trial> {
  if (existsSync(settings.folder)) return tryBuilds(settings)
  const directory = mkdtempSync(join(tmpdir(), 'berth-doctor-'))
  try {
    return await tryBuilds({ ...settings, folder: directory })
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}
