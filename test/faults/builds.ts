/** kill -9 of control plane, runners, sandboxes and database while builds run: each ends, once, with its log. docs/building.md: Leases; docs/runner.md: Lease. */
import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { credentialsOf } from '../support/process.ts'
import { FILES, LINES, type Programs, SCRIPT_NAME, startPrograms } from './build-programs.ts'
import { type Fault, type Run, repeat } from './fault.ts'
import { whyNoSandbox } from './function-place.ts'
import { mustEnd } from './functions.ts'
import { sayOnce } from './line.ts'
import { aboveUpTo, isAlive, killProcess, type Process, readProcesses, treeOf } from './process-trees.ts'
import { withStore } from './store.ts'

export const builds: Fault = { name: 'kill -9 under builds', engines: ['sqlite', 'postgres'], run: drillBuilds }

/** Builds that wait or run at a time. */
const AT_ONCE = 6
const ENDS = ['READY', 'ERROR', 'CANCELED']
/** Of one build: docs/building.md: Leases. */
const MAX_ATTEMPTS = 3
/** Three leases of 30 seconds that run out, three builds, and the pauses of a drill. */
const MAX_OPEN_MS = 10 * 60_000
const CANCELED = 0.05

type Line = { serial: string; type: string; text: string }
type Drill = {
  run: Run
  programs: Programs
  seen: Map<string, Line[]>
  kills: Map<string, number>
  /** Of each build, how often one of its processes was seen. */
  sightings: Map<string, number>
  isOver: boolean
}

async function drillBuilds(run: Run): Promise<void> {
  const why = whyNoSandbox()
  if (why !== undefined) run.found.notes.push(`builds ran as plain processes: ${why}`)
  const programs = await startPrograms(run, why === undefined ? 'sandboxed' : 'trusted')
  const drill: Drill = { run, programs, seen: new Map(), kills: new Map(), sightings: new Map(), isOver: false }
  const project = { name: 'page', installCommand: 'true', outputDirectory: 'public' }
  await until(() => ask(drill, 'POST', '/v10/projects', project))
  // The first one waits for the tools of builds, whose installation a kill would only begin again.
  await createOne(drill, -1)
  await untilEnded(drill, 0)
  const side = Promise.all([killAtRandom(drill), watchBuilds(drill)])
  // It is awaited below.
  side.catch(() => {})
  try {
    await repeat(run, run.short ? 6 : 200, (at) => createOne(drill, at))
    await untilEnded(drill, 0)
  } finally {
    drill.isOver = true
    await side
  }
  const states = await statesOf(drill)
  await mustKeepLogs(drill, states)
  await mustLeaveNothing(drill)
  const ends = Object.entries(Object.groupBy(states.values(), (state) => state))
  run.found.acknowledged += states.size
  run.found.notes.push(
    `${states.size} builds: ${ends.map(([state, all]) => `${all!.length} ${state}`).join(', ')}`,
    `killed: ${[...drill.kills].map(([name, times]) => `${times} of ${name}`).join(', ')}`,
  )
  if (![...states.values()].includes('READY')) run.found.broken.push('no build was READY')
}

/** Undefined where the connection broke, the database is unavailable, or a busy machine sent too late. */
async function ask({ programs }: Drill, method: string, path: string, body?: object) {
  const said = await sayOnce(programs.address, method, path, credentialsOf(programs.home).token, body)
  return said.status === undefined || said.status >= 500 || said.status === 408 ? undefined : said
}

async function until<T>(work: () => Promise<T | undefined>): Promise<T> {
  for (;;) {
    const done = await work()
    if (done !== undefined) return done
    // The program is being started again.
    await sleep(300)
  }
}

async function createOne(drill: Drill, at: number): Promise<void> {
  await untilEnded(drill, AT_ONCE - 1)
  // A create that equals an earlier one is its retry.
  const body = { name: 'page', files: FILES, meta: { at: String(at) } }
  const made = await until(() => ask(drill, 'POST', '/v13/deployments', body))
  if (made.status !== 200) throw new Error(`no build: ${JSON.stringify(made)}`)
  if (Math.random() < CANCELED) await ask(drill, 'PATCH', `/v12/deployments/${made.body.id}/cancel`)
}

/** Waits until at most so many have not ended, and reads a log now and then. */
async function untilEnded(drill: Drill, most: number): Promise<void> {
  const since = performance.now()
  for (;;) {
    const open = [...(await statesOf(drill))].filter(([, state]) => !ENDS.includes(state))
    if (open.length <= most) return
    if (performance.now() - since > MAX_OPEN_MS) throw new Error(`builds do not end: ${JSON.stringify(open)}`)
    const [id] = open[Math.floor(Math.random() * open.length)]!
    const lines = await ask(drill, 'GET', `/v3/deployments/${id}/events`)
    if (lines !== undefined) drill.seen.set(id, lines.body as Line[])
    // Builds take seconds.
    await sleep(300)
  }
}

/** Of the store, because a create whose answer was lost may have made a deployment. */
async function statesOf({ programs }: Drill): Promise<Map<string, string>> {
  const rows = await until(() =>
    withStore(programs.home, (read) => read('select id, ready_state from deployment')).catch(() => undefined),
  )
  return new Map(rows.map(({ id, ready_state }) => [String(id), String(ready_state)]))
}

async function killAtRandom(drill: Drill): Promise<void> {
  const { programs, run, kills } = drill
  const table: Programs['kills'] = { ...programs.kills, 'a sandbox': () => killSandbox(drill) }
  const names = Object.keys(table)
  while (!drill.isOver) {
    // Any time of a build.
    await sleep(1000 + Math.random() * 9000)
    if (drill.isOver) return
    const name = Math.random() < 0.3 ? 'a sandbox' : names[Math.floor(Math.random() * names.length)]!
    kills.set(name, (kills.get(name) ?? 0) + 1)
    await mustEnd(run.found, await table[name]!(Math.random() * 3000), `after a kill of ${name}`)
  }
}

/** Kills a process of a build, or one around it. Everything of its sandbox must end. */
async function killSandbox({ programs }: Drill): Promise<Process[]> {
  const all = readProcesses()
  for (const [first, ...rest] of programs.runners().toSorted(() => Math.random() - 0.5)) {
    const build = rest.find(isBuild) ?? rest.at(-1)
    if (first === undefined || build === undefined) continue
    const chain = [build, ...aboveUpTo(all, build.pid, first.pid)]
    killProcess(chain[Math.floor(Math.random() * chain.length)]!.pid)
    return treeOf(all, chain.at(-1)!.pid)
  }
  return []
}

function isBuild({ words }: Process): boolean {
  return words[1] === SCRIPT_NAME
}

/** Looks for two processes of one build, as often as the machine allows. */
async function watchBuilds(drill: Drill): Promise<void> {
  const { run, sightings } = drill
  while (!drill.isOver) {
    const running = [...readProcesses().values()].filter(isBuild).map((one) => ({ one, id: deploymentOf(one) }))
    for (const [id, same] of Object.entries(Object.groupBy(running, ({ id }) => id))) {
      sightings.set(id, (sightings.get(id) ?? 0) + 1)
      // Those that were read before may have ended since.
      const both = same!.filter(({ one }) => isAlive(one))
      if (id !== '' && both.length > 1)
        run.found.broken.push(`${id} ran twice at once: ${both.map(({ one }) => one.pid).join(' and ')}`)
    }
    await sleep(50)
  }
}

function deploymentOf({ pid }: Process): string {
  try {
    return /(?:^|\0)VERCEL_DEPLOYMENT_ID=(\w+)/.exec(readFileSync(`/proc/${pid}/environ`, 'utf8'))?.[1] ?? ''
  } catch {
    return ''
  }
}

/** Lines that a client has read stay where they are; no line is there twice or missing between others; a READY build has all. */
async function mustKeepLogs(drill: Drill, states: Map<string, string>): Promise<void> {
  const { found } = drill.run
  for (const [id, state] of states) {
    const { body } = await until(() => ask(drill, 'GET', `/v3/deployments/${id}/events`))
    const lines = body as Line[]
    const before = drill.seen.get(id) ?? []
    const lost = before.filter(({ serial, text }, at) => lines[at]?.serial !== serial || lines[at]?.text !== text)
    found.lost += lost.length
    if (lost.length > 0) found.broken.push(`${id}: ${lost.length} lines that were seen have gone`)
    if (lines.some(({ serial }, at) => Number(serial) !== at)) found.broken.push(`${id}: serials are not in order`)
    // The reason of a failure, which is `fatal`, has the last lines once more.
    const output = lines.filter(({ type }) => type === 'stdout')
    const runs = Map.groupBy(
      output.flatMap(({ text }) => [/^(run\w+) line (\d+)$/.exec(text)].filter((one) => one !== null)),
      ([, run]) => run!,
    )
    for (const [run, own] of runs) {
      const numbers = own.map(([, , line]) => Number(line))
      if (numbers.some((line, at) => line !== at))
        found.broken.push(`${id} ${run}, ${state}: a line is lost, or there twice: ${numbers}`)
    }
    if (state === 'READY' && [...runs.values()].at(-1)?.length !== LINES)
      found.broken.push(`${id}: the log of a READY build lacks lines`)
  }
}

async function mustLeaveNothing({ run, programs, sightings }: Drill): Promise<void> {
  const { found } = run
  const codes = await programs.stop()
  if (codes.some((code) => code !== 0)) found.broken.push(`SIGTERM ended the programs with ${codes}`)
  await withStore(programs.home, async (read) => {
    for (const [what, sql] of Object.entries(INVARIANTS)) {
      const rows = await read(sql)
      found.halfDone += rows.length
      if (rows.length > 0) found.broken.push(`${what}: ${JSON.stringify(rows.slice(0, 3))}`)
    }
  })
  const left = readdirSync(programs.runs)
  if (left.length > 0) found.broken.push(`directories of builds stayed: ${left}`)
  const processes = [...readProcesses().values()].filter(({ words }) =>
    words.some((word) => word.includes(programs.folder)),
  )
  await mustEnd(found, processes, 'after all')
  if (sightings.size === 0) found.broken.push('no process of a build was seen: the look at processes finds nothing')
}

/** What no row may be. */
const INVARIANTS = {
  'a build has not ended': "select deployment_id from build where state <> 'ended'",
  'a lease stayed': 'select deployment_id from build where lease_until is not null',
  'a build had more attempts than it may have': `select deployment_id, attempt from build where attempt > ${MAX_ATTEMPTS}`,
  'a count of deployments with variables is wrong':
    'select id, refs from frozen_env where refs <> (select count(*) from deployment where env_id = frozen_env.id)',
  'a log has a gap or a line twice': `select build.deployment_id, log_lines from build where log_lines <>
    (select coalesce(sum(lines), 0) from build_log where build_log.deployment_id = build.deployment_id)`,
  'a count of references is wrong': `select id, refs from blob where refs <> (select count(*) from output_blob where blob_id = blob.id)
    + (select count(*) from build_log where blob_id = blob.id)`,
  'a count of outputs is wrong': `select id, refs from output where refs <> (select count(*) from deployment where output_id = output.id)
    + (select count(*) from deployment where source_id = output.id)`,
}
