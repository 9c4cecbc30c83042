/**
 * kill -9 between the two creates of a deploy, and a collection before the service is there again: a file that was uploaded a day ago, and that the first create
 * did not ask for, must still be there for the second, since clients make one round. docs/deploying-sites.md: Files, Collection.
 */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { KEPT } from '../../src/delivery/uploads/plan.ts'
import { credentialsOf, newHome } from '../support/process.ts'
import { root } from '../support/root.ts'
import { collectAt } from './collecting.ts'
import { mustBeDeployed } from './deployed.ts'
import { askerAt, createOf, type End, endOf, hashOf, missingOf, type Shown, siteOf, uploadAll } from './deploying.ts'
import { type Fault, type Found, type Run, repeat } from './fault.ts'
import { startAndCount } from './kill.ts'
import { withStore } from './store.ts'

const PROJECT = 'site'
const FILES = 5
const TAKEN = 'files that the first create did not ask for were taken away'

export const collected: Fault = {
  name: 'collection within a deploy',
  engines: ['sqlite', 'postgres'],
  run: (run) => deployAgainAndAgain(run, run.short ? 2 : 20),
}

export const collectedUntouched: Fault = {
  name: 'collection within a deploy, control',
  engines: ['sqlite', 'postgres'],
  async run(run) {
    const found: Found = { ...run.found, broken: [], notes: [] }
    await deployAgainAndAgain({ ...run, found }, run.short ? 1 : 3, join(root, 'test/faults/untouched.ts'))
    const lost = found.broken.filter((line) => line.endsWith(TAKEN)).length
    Object.assign(run.found, { cycles: found.cycles, acknowledged: found.acknowledged })
    run.found.notes.push(`without the touch: ${lost} of ${found.cycles} deploys lost their files, as they must`)
    if (lost < found.cycles) run.found.broken.push('without the touch nothing was lost: the check does not bite')
    for (const line of found.broken) if (!line.endsWith(TAKEN)) run.found.broken.push(line)
  },
}

/** `script`: starts the service in another way. */
async function deployAgainAndAgain(run: Run, cycles: number, script?: string): Promise<void> {
  const home = await newHome(run, run.engine)
  const words = script === undefined ? undefined : [process.execPath, script]
  const shown: Shown[] = []
  let running = await startAndCount(run, home, {}, words)
  const ask = () => askerAt(running.address, credentialsOf(home).token)
  await ask()('/v10/projects', JSON.stringify({ name: PROJECT }), { 'content-type': 'application/json' })
  await repeat(run, cycles, async (at) => {
    const known = newContents()
    const contents = siteOf([...known, ...newContents()])
    mustBeTaken(await uploadAll(ask(), contents, new Set(known.map((bytes) => hashOf('sha1', bytes)))))
    const uploaded = await between()
    const create = createOf(PROJECT, contents)
    const missing = missingOf(await create(ask()))
    if (missing === undefined || known.some((bytes) => missing.has(hashOf('sha1', bytes))))
      throw new Error(`the first create asks for ${missing?.size} files`)
    await running.kill('SIGKILL')
    // What was uploaded is older than that by a millisecond, and what was asked for since then is younger.
    await collectAt(run.engine, home, join(home.folder, 'files'), [uploaded + KEPT.unusedMs])
    running = await startAndCount(run, home, {}, words)
    mustBeTaken(await uploadAll(ask(), contents, missing))
    const { end, deployment } = endOf(await create(ask()), contents)
    if (deployment !== undefined) shown.push(deployment)
    else run.found.broken.push(`deploy ${at + 1}: ${end}: ${TAKEN}`)
    await withStore(home, (rows) =>
      mustBeDeployed(rows, run.found, { files: join(home.folder, 'files'), shown, when: `deploy ${at + 1}` }),
    )
  })
  run.found.acknowledged += shown.length
  await running.kill('SIGTERM')
}

function newContents(): Buffer[] {
  return Array.from({ length: FILES }, () => randomBytes(500))
}

function mustBeTaken(end: End | undefined): void {
  if (end !== undefined) throw new Error(`an upload ended with ${end.end}`)
}

/** A time after all that happened and before all that follows, to the millisecond. */
async function between(): Promise<number> {
  await sleep(5)
  const moment = Date.now()
  await sleep(5)
  return moment
}
