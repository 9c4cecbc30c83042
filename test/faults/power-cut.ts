/**
 * The power goes. The real program runs under strace; what it did to its files is done again on a disk that forgets, which is
 * cut at a random call, opened by the program's own opener, and held against what had been answered by then. docs/spec/reliability.md 2a, F2.
 */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { sql } from 'kysely'
import { openSqlite } from '../../src/platform/db/sqlite/open.ts'
import { credentialsOf, newHome, type ServiceHome, startService } from '../support/process.ts'
import { root } from '../support/root.ts'
import { openDisk } from './disk.ts'
import type { Fault, Found, Run } from './fault.ts'
import { mustBeAnswers, untilWritten } from './kill.ts'
import { compare, type Entry, type Ledger, openLedger } from './ledger.ts'
import { sayOnce } from './line.ts'
import { startLoad, type Written } from './load.ts'
import { mustBeWhole, type Rows, readProjects } from './store.ts'
import { endTraced, traced, whyNoStrace } from './strace.ts'
import { type Call, readTrace } from './trace.ts'

type Recording = { home: ServiceHome; calls: Call[]; written: Written[] }

export const powerCut: Fault = {
  name: 'power cut',
  engines: ['sqlite'],
  cannot: whyNoStrace,
  async run(run) {
    await cutAgainAndAgain(run, 'bin/berth.mjs', run.short ? 120 : 2000)
  },
}

export const powerCutUnsynced: Fault = {
  name: 'power cut, control',
  engines: ['sqlite'],
  cannot: whyNoStrace,
  async run(run) {
    const found: Found = { ...run.found, broken: [], notes: [] }
    const losing = await cutAgainAndAgain({ ...run, found }, 'test/faults/unsynced.ts', run.short ? 40 : 300)
    Object.assign(run.found, { cycles: found.cycles, acknowledged: found.acknowledged })
    run.found.notes.push(`synchronous=NORMAL: ${losing} of ${found.cycles} cuts lost acknowledged writes, as they must`)
    if (losing === 0) run.found.broken.push('synchronous=NORMAL lost nothing: the simulator does not bite')
  },
}

/** Gives the number of cuts after which something acknowledged was lost. */
async function cutAgainAndAgain(run: Run, script: string, cuts: number): Promise<number> {
  const { found } = run
  const recording = await record(run, script, run.short ? 250 : 1500)
  const { calls } = recording
  const syncs = calls.filter(({ kind }) => kind === 'sync').length
  run.say(`${calls.length} calls, ${syncs} of them syncs, ${recording.written.length} writes answered`)
  found.acknowledged += recording.written.length
  const moments = Array.from({ length: cuts }, () => 1 + Math.floor(Math.random() * calls.length)).sort((a, b) => a - b)
  const whole = new Set(Array.from({ length: run.short ? 2 : 20 }, () => Math.floor(Math.random() * cuts)))
  const folder = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'berth-cut-'))
  run.after(() => rmSync(folder, { recursive: true, force: true }))
  const disk = openDisk()
  let at = 0
  let losing = 0
  for (const [cut, moment] of moments.entries()) {
    if (!run.hasTime() && cut > 20) break
    while (at < moment) disk.apply(calls[at++]!)
    const image = join(folder, String(cut))
    mkdirSync(image, { mode: 0o700 })
    for (const [path, bytes] of disk.cut()) writeFileSync(join(image, basename(path)), bytes, { mode: 0o600 })
    const before = found.lost
    await openImage(run, recording, image, moment, whole.has(cut))
    rmSync(image, { recursive: true, force: true })
    if (found.lost > before) losing++
    found.cycles++
  }
  if (found.cycles < cuts) found.notes.push(`only ${found.cycles} of ${cuts} cuts in the time`)
  return losing
}

/** Runs the program under strace from its first start on, with a load, and stops it. */
async function record(run: Run, script: string, writes: number): Promise<Recording> {
  const home = await newHome(run, 'sqlite')
  const file = join(home.folder, '..', 'trace')
  const running = await startService(run, home, {}, traced(file, [process.execPath, join(root, script)]))
  const written: Written[] = []
  const load = startLoad(home, [running.address], openLedger(), { prefix: 'w', onWrite: (one) => written.push(one) })
  await untilWritten(load, writes, 120_000)
  load.stop()
  await load.ended
  mustBeAnswers(run, load)
  await endTraced(running)
  return { home, calls: await readTrace(file, home.folder), written }
}

/** Opens what a cut left, and holds it against what had been answered. */
async function openImage(run: Run, recording: Recording, image: string, moment: number, whole: boolean): Promise<void> {
  const { found } = run
  const when = `cut at call ${moment}`
  const before = recording.calls.slice(0, moment)
  const { ledger, greeted } = ledgerAt(recording, before)
  try {
    mustHaveCredentials(recording.home, image, greeted)
    if (whole) await startWhole(run, image, greeted, recording.home)
    const fault = (error: unknown) => {
      throw error
    }
    const db = await openSqlite({ file: join(image, 'berth.db'), onDiskError: fault })
    try {
      const rows: Rows = async (text) => (await sql.raw<Record<string, unknown>>(text).execute(db.read)).rows
      await mustBeWhole(rows, found, when, true)
      compare(ledger, await readProjects(rows), found, when)
      await mustFindKeys(rows, image)
    } finally {
      await db.close()
    }
  } catch (error) {
    found.lost++
    found.broken.push(`${when}: ${error instanceof Error ? error.message : error}`)
  }
}

/** What had been acknowledged before the cut, and what was in flight. */
function ledgerAt({ written }: Recording, before: Call[]): { ledger: Ledger; greeted: boolean } {
  const answered = new Map<number, number>()
  let greeted = false
  for (const call of before) {
    if (call.kind === 'answer') answered.set(call.port, (answered.get(call.port) ?? 0) + 1)
    greeted ||= call.kind === 'greeting'
  }
  const ledger = openLedger()
  const seen = new Map<number, number>()
  for (const { port, name, next, done } of written) {
    const count = (seen.get(port) ?? 0) + 1
    seen.set(port, count)
    const known = answered.get(port) ?? 0
    if (count > known + 1 || !done) continue
    const entry: Entry = ledger.entries.get(name) ?? { name, states: [undefined], envIds: new Map() }
    ledger.entries.set(name, entry)
    if (count <= known) entry.states.push(next)
    else entry.doubt = { state: next }
  }
  return { ledger, greeted }
}

/** Once the service has said its first token, the file that keeps it is there. */
function mustHaveCredentials(home: ServiceHome, image: string, greeted: boolean): void {
  if (!greeted) return
  for (const name of ['credentials.json', 'keys.json']) {
    const file = join(image, name)
    const same = existsSync(file) && readFileSync(file, 'utf8') === readFileSync(join(home.folder, name), 'utf8')
    if (!same) throw new Error(`${name} is lost`)
  }
}

/** A store that knows a root key is of no use without it, and one that knows its first token neither. */
async function mustFindKeys(rows: Rows, image: string): Promise<void> {
  const known = (await rows('select id from root_key')).map(({ id }) => String(id))
  const keys = existsSync(join(image, 'keys.json')) ? readFileSync(join(image, 'keys.json'), 'utf8') : ''
  if (known.some((id) => !keys.includes(id))) throw new Error('keys.json is lost, and the store needs it')
  const begun = (await rows("select name from fact where name = 'bootstrapped'")).length > 0
  if (begun && !existsSync(join(image, 'credentials.json'))) throw new Error('credentials.json is lost')
}

/** The whole program starts on what the cut left, and answers. */
async function startWhole(run: Run, image: string, greeted: boolean, home: ServiceHome): Promise<void> {
  const env = { ...home.env, BERTH_DATA: image, DATABASE_URL: `sqlite:${join(image, 'berth.db')}` }
  const running = await startService(run, { folder: image, env })
  const { token } = credentialsOf(greeted ? home : { folder: image, env })
  const said = await sayOnce(running.address, 'GET', '/v9/projects', token)
  await running.kill('SIGKILL')
  if (said.status !== 200) throw new Error(`the program answers ${JSON.stringify(said)}`)
}
