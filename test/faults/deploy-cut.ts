/**
 * The power goes under deploys. The real program runs under strace; what it did to its store and to the files of deployments is done again on a disk that
 * forgets, which is cut at a random call: no deployment of the store that is left is READY with a file missing. docs/deploying-sites.md: Files.
 */
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { sql } from 'kysely'
import { openSqlite } from '../../src/platform/db/sqlite/open.ts'
import { credentialsOf, newHome, type ServiceHome, startService } from '../support/process.ts'
import { root } from '../support/root.ts'
import { LOCAL } from '../support/servers/receiver.ts'
import { mustBeDeployed } from './deployed.ts'
import { askerAt, type Shown, startDeploys } from './deploying.ts'
import { becomesTrue } from './deploys.ts'
import { openDisk } from './disk.ts'
import type { Fault, Found, Run } from './fault.ts'
import type { Rows } from './store.ts'
import { endTraced, traced, whyNoStrace } from './strace.ts'
import { type Call, readTrace } from './trace.ts'

const PROJECT = 'site'
/** A write of more does not stand in the trace as a whole. */
const MAX_BYTES = 4000
/** The program is many times as slow under strace. */
const TIMEOUT_MS = 240_000

export const deployCut: Fault = {
  name: 'power cut under deploys',
  engines: ['sqlite'],
  cannot: whyNoStrace,
  async run(run) {
    await cutAgainAndAgain(run, 'bin/berth.mjs', run.short ? 60 : 1000)
  },
}

export const deployCutUnsynced: Fault = {
  name: 'power cut under deploys, control',
  engines: ['sqlite'],
  cannot: whyNoStrace,
  async run(run) {
    const found: Found = { ...run.found, broken: [], notes: [] }
    const losing = await cutAgainAndAgain({ ...run, found }, 'test/faults/unsynced-files.ts', run.short ? 40 : 300)
    Object.assign(run.found, { cycles: found.cycles, acknowledged: found.acknowledged })
    run.found.notes.push(
      `files without fsync: ${losing} of ${found.cycles} cuts lost files of deployments, as they must`,
    )
    if (losing === 0) run.found.broken.push('without fsync no file was lost: the simulator does not bite')
  },
}

/** Gives the number of cuts after which a READY deployment had not all of its files. */
async function cutAgainAndAgain(run: Run, script: string, cuts: number): Promise<number> {
  const { found } = run
  const { home, calls, deployed } = await recordWrite(run, script, run.short ? 25 : 150)
  const syncs = calls.filter(({ kind }) => kind === 'sync').length
  run.say(`${calls.length} calls, ${syncs} of them syncs, ${deployed} deployments`)
  found.acknowledged += deployed
  const moments = Array.from({ length: cuts }, () => 1 + Math.floor(Math.random() * calls.length)).sort((a, b) => a - b)
  const folder = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'berth-cut-'))
  run.after(() => rmSync(folder, { recursive: true, force: true }))
  const disk = openDisk()
  let at = 0
  let losing = 0
  let seen = 0
  for (const moment of moments) {
    if (!run.hasTime() && found.cycles > 20) break
    while (at < moment) disk.apply(calls[at++]!)
    const image = join(folder, 'image')
    for (const [path, bytes] of disk.cut()) {
      const file = join(image, path.slice(home.folder.length))
      mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
      writeFileSync(file, bytes, { mode: 0o600 })
    }
    const broken: string[] = []
    seen += await lookAt(image, { ...found, broken }, `cut at call ${moment}`)
    rmSync(image, { recursive: true, force: true })
    found.broken.push(...broken)
    if (broken.length > 0) losing++
    found.cycles++
  }
  if (found.cycles < cuts) found.notes.push(`only ${found.cycles} of ${cuts} cuts in the time`)
  if (seen === 0) throw new Error('no cut left a READY deployment: nothing was looked at')
  return losing
}

type Recording = { home: ServiceHome; calls: Call[]; deployed: number }

/** Runs the program under strace from its first start on, with clients that deploy, and stops it. */
async function recordWrite(run: Run, script: string, many: number): Promise<Recording> {
  const home = await newHome(run, 'sqlite')
  const file = join(home.folder, '..', 'trace')
  const running = await startService(run, home, LOCAL, traced(file, [process.execPath, join(root, script)]))
  const { token } = credentialsOf(home)
  const body = JSON.stringify({ name: PROJECT })
  await askerAt(running.address, token)('/v10/projects', body, { 'content-type': 'application/json' })
  const shown: Shown[] = []
  const deploying = startDeploys(running.address, token, PROJECT, shown, MAX_BYTES)
  await becomesTrue(() => shown.length >= many, TIMEOUT_MS)
  await deploying.stop()
  await endTraced(running)
  return { home, calls: await readTrace(file, home.folder), deployed: shown.length }
}

/** Holds what a cut left against what must hold of deployments. Gives how many are READY. */
async function lookAt(image: string, found: Found, when: string): Promise<number> {
  const onDiskError = (error: unknown) => {
    throw error
  }
  const db = await openSqlite({ file: join(image, 'berth.db'), onDiskError })
  try {
    const rows: Rows = async (text) => (await sql.raw<Record<string, unknown>>(text).execute(db.read)).rows
    await mustBeDeployed(rows, found, { files: join(image, 'files'), shown: [], when })
    return Number((await rows("select count(*) as many from deployment where ready_state = 'READY'"))[0]!.many)
  } finally {
    await db.close()
  }
}
