/** kill -9 of control plane, runners and database while builds run: each ends, once, with its log. docs/building.md: Leases; docs/runner.md: Lease. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Rows, withStore } from '../../faults/store.ts'
import { iterations } from '../../support/iterations.ts'
import { credentialsOf, processOnBothEngines, sendRequest } from '../../support/process.ts'
import type { Engine } from '../../support/world.ts'
import { FILES, type Note, openRandom, type Programs, readJournal, startPrograms } from './killing.ts'

const BUILDS = Number(process.env.BERTH_TEST_BUILDS ?? iterations(6, 200))
const SEED = Number(process.env.BERTH_TEST_SEED ?? Math.floor(Math.random() * 2 ** 31))
/** Builds that wait or run at a time. */
const AT_ONCE = 8
const ENDS = ['READY', 'ERROR', 'CANCELED']

type Line = { serial: string; text: string }
type Drill = { programs: Programs; random: () => number; ids: string[]; seen: Map<string, Line[]>; kills: string[] }

processOnBothEngines(
  `of ${BUILDS} builds under kill -9 each ends, runs once at a time and keeps its log`,
  drillBuilds,
  14_400_000,
)

async function drillBuilds(t: TestContext, engine: Engine): Promise<void> {
  t.diagnostic(`BERTH_TEST_SEED=${SEED}`)
  const programs = await startPrograms(t, engine)
  const drill: Drill = { programs, random: openRandom(SEED), ids: [], seen: new Map(), kills: [] }
  const project = { name: 'page', installCommand: 'true', outputDirectory: 'public' }
  await until(() => ask(drill, 'POST', '/v10/projects', project))
  const creating = createAll(drill)
  let isOver = false
  const killing = killAtRandom(drill, () => isOver)
  await creating
    .then(() => untilEnded(drill, 0))
    .finally(() => {
      isOver = true
    })
  await killing
  const states = await statesOf(drill)
  await mustKeepLogs(drill, states)
  await programs.stop()
  await withStore(programs.home, mustLeaveNothing)
  mustRunOnce(readJournal(programs.journal))
  assert.deepEqual(readdirSync(programs.runs), [], 'a directory of a build stayed')
  assert.deepEqual(processesWith(programs.journal), [], 'a process of a build stayed')
  const rows = await withStore(programs.home, (read) =>
    read('select ready_state, error_code, count(*) as builds from deployment group by ready_state, error_code'),
  )
  const said = rows
    .map(({ ready_state, error_code, builds }) => `${builds} ${ready_state} ${error_code ?? ''}`.trim())
    .join(', ')
  t.diagnostic(`${drill.ids.length} builds: ${said}; ${drill.kills.length} kills: ${drill.kills.join(', ')}`)
  assert.ok([...states.values()].includes('READY'), said)
}

/** Undefined where the connection broke, or the database is unavailable. */
async function ask({ programs }: Drill, method: string, path: string, body?: object) {
  const answer = await sendRequest(programs, credentialsOf(programs.home).token, method, path, body)
  return answer === undefined || answer.status >= 500 ? undefined : (answer as { status: number; body: never })
}

async function until<T>(work: () => Promise<T | undefined>): Promise<T> {
  for (;;) {
    const done = await work()
    if (done !== undefined) return done
    // The program is being started again.
    await sleep(300)
  }
}

async function createAll(drill: Drill): Promise<void> {
  const { programs, random, ids } = drill
  for (let at = 0; at < BUILDS; at++) {
    await untilEnded(drill, AT_ONCE - 1)
    const env = { JOURNAL: programs.journal }
    const body = { name: 'page', files: FILES, build: { env }, meta: { at: String(at) } }
    const made = await until(() => ask(drill, 'POST', '/v13/deployments', body))
    assert.equal(made.status, 200, JSON.stringify(made.body))
    const { id } = made.body as { id: string }
    ids.push(id)
    if (random() < 0.05) await ask(drill, 'PATCH', `/v12/deployments/${id}/cancel`)
  }
}

/** Waits until at most so many have not ended, and reads a log now and then. */
async function untilEnded(drill: Drill, most: number): Promise<void> {
  for (;;) {
    const states = await statesOf(drill)
    const open = [...states].filter(([, state]) => !ENDS.includes(state))
    if (open.length <= most) return
    const [id] = open[Math.floor(drill.random() * open.length)]!
    const lines = await ask(drill, 'GET', `/v3/deployments/${id}/events`)
    if (lines !== undefined) drill.seen.set(id, lines.body as Line[])
    // Builds take seconds.
    await sleep(500)
  }
}

/** Of the store, because a create whose answer was lost may have made a deployment. */
async function statesOf({ programs }: Drill): Promise<Map<string, string>> {
  const rows = await until(() =>
    withStore(programs.home, (read) => read('select id, ready_state from deployment')).catch(() => undefined),
  )
  return new Map(rows.map(({ id, ready_state }) => [String(id), String(ready_state)]))
}

async function killAtRandom({ programs, random, kills }: Drill, isOver: () => boolean): Promise<void> {
  const names = Object.keys(programs.kills)
  while (!isOver()) {
    // Any time in a build.
    await sleep(2000 + random() * 18_000)
    if (isOver()) return
    const name = names[Math.floor(random() * names.length)]!
    kills.push(name)
    await programs.kills[name]!(random() * 3000)
  }
}

/** Lines that a client has read stay where they are; no line is there twice or missing between others; a READY build has all. */
async function mustKeepLogs(drill: Drill, states: Map<string, string>): Promise<void> {
  const journal = readJournal(drill.programs.journal)
  for (const [id, state] of states) {
    const { body } = await until(() => ask(drill, 'GET', `/v3/deployments/${id}/events`))
    const lines = body as Line[]
    const before = drill.seen.get(id) ?? []
    assert.deepEqual(lines.slice(0, before.length), before, `${id}: a line that was seen has gone`)
    assert.deepEqual(
      lines.map(({ serial }) => Number(serial)),
      [...lines.keys()],
    )
    const runs = Object.groupBy(
      lines.flatMap(({ text }) => /^(run\w+) line (\d+)$/.exec(text)?.slice(1, 3) ?? []).reduce(inPairs, []),
      ([run]) => run,
    )
    for (const [run, pairs] of Object.entries(runs))
      assert.deepEqual(
        pairs!.map(([, line]) => Number(line)),
        [...pairs!.keys()],
        `${id} ${run}: a line is lost or doubled`,
      )
    if (state !== 'READY') continue
    const last = journal.findLast((note) => note.id === id && note.what === 'end')!
    assert.equal(runs[last.run]?.length, 60, `${id}: the log of a READY build lacks lines`)
  }
}

function inPairs(pairs: [string, string][], word: string, at: number): [string, string][] {
  if (at % 2 === 0) pairs.push([word, ''])
  else pairs.at(-1)![1] = word
  return pairs
}

/** What two runs of one build wrote never overlaps. */
function mustRunOnce(notes: readonly Note[]): void {
  for (const [id, all] of Object.entries(Object.groupBy(notes, (note) => note.id))) {
    const runs = Object.values(Object.groupBy(all!, (note) => note.run))
    const spans = runs.map((own) => [own![0]!.at, own!.at(-1)!.at] as const).sort(([one], [other]) => one - other)
    for (const [at, [from]] of spans.entries())
      assert.ok(at === 0 || spans[at - 1]![1] < from, `${id} ran twice at once: ${JSON.stringify(spans)}`)
  }
}

async function mustLeaveNothing(read: Rows): Promise<void> {
  const none = async (what: string, sql: string) => assert.deepEqual(await read(sql), [], what)
  await none('a build has not ended', "select deployment_id from build where state <> 'ended'")
  await none('a lease stayed', 'select deployment_id from build where lease_until is not null')
  await none(
    'a count of deployments with variables is wrong',
    'select id, refs from frozen_env where refs <> (select count(*) from deployment where env_id = frozen_env.id)',
  )
  await none(
    'a log has a gap or a line twice',
    `select build.deployment_id, log_lines from build where log_lines <>
      (select coalesce(sum(lines), 0) from build_log where build_log.deployment_id = build.deployment_id)`,
  )
  await none(
    'a count of references is wrong',
    `select id, refs from blob where refs <> (select count(*) from output_blob where blob_id = blob.id)
      + (select count(*) from build_log where blob_id = blob.id)`,
  )
  await none(
    'a count of outputs is wrong',
    `select id, refs from output where refs <> (select count(*) from deployment where output_id = output.id)
      + (select count(*) from deployment where source_id = output.id)`,
  )
}

function processesWith(word: string): string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/environ`, 'utf8').includes(`JOURNAL=${word}`)
      } catch {
        // It has ended.
        return false
      }
    })
}
