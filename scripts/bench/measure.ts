/** What is measured: the cases, what one fsync per create gives, and the start. */
import { closeSync, fsyncSync, openSync, readFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { ask, imitate, type Question } from './ask.ts'
import { memoryOf, startServer, stopServer, type Target } from './children.ts'
import { type Figures, type Loader, nameOf } from './load.ts'
import { alternate, type Case, medians, newNames, ratios, type Spread, spread } from './rounds.ts'

const SEEDED = 1000
const SEED_ROUNDS = 50
const NAMED = nameOf('seeded', SEEDED / 2)
const CREATE = { title: 'durable create', path: '/v10/projects', creates: true }
const CREATE_64 = { ...CREATE, name: 'create-64', connections: 64 }
const STARTS = 5

export const CASES: readonly Case[] = [
  { name: 'get', title: 'get project by name', path: `/v9/projects/${NAMED}`, connections: 64, creates: false },
  { name: 'list', title: 'list 20 projects', path: '/v9/projects?limit=20', connections: 64, creates: false },
  { ...CREATE, name: 'create-1', connections: 1 },
  { ...CREATE, name: 'create-16', connections: 16 },
  CREATE_64,
]

/** What a run has at hand. `env` starts a service over the store in `folder`. */
export type Bench = {
  loader: Loader
  seconds: number
  say: (line: string) => void
  folder: string
  env: NodeJS.ProcessEnv
  service: Target
  bare: Target
}

type Side = Figures & { memory: number | undefined }
export type CaseResult = { case: Case; service: Side; bare: Side; ratio: Spread }

/** `fsyncs`: a bare loop of 4 KiB append and fsync, per second. */
export type DurableResult = {
  service: Figures
  ungrouped: Figures
  fsyncs: Spread
  overUngrouped: Spread
  overFsyncs: Spread
}

/** Starts the service over the store of `env` and reads the token that its first start made. */
export async function startService(
  script: string,
  env: NodeJS.ProcessEnv,
): Promise<Target & { credentials: Record<'operatorToken' | 'teamId' | 'token', string> }> {
  const server = await startServer(script, env)
  const credentials = JSON.parse(readFileSync(join(env.BERTH_DATA!, 'credentials.json'), 'utf8'))
  return { ...server, token: credentials.token, credentials }
}

/** Makes the projects that are read. Throws when the service refuses. */
export async function seed(service: Target): Promise<void> {
  for (let first = 0; first < SEEDED; first += SEED_ROUNDS) {
    const names = Array.from({ length: SEED_ROUNDS }, (_, at) => nameOf('seeded', first + at))
    const answers = await Promise.all(names.map((name) => ask(service, creation(name))))
    const refused = answers.find(({ status }) => status !== 200)
    if (refused) throw new Error(`no project could be made (is the database empty?): ${refused.status} ${refused.body}`)
  }
}

/** One case on the service and on the bare server that sends the same bytes. */
export async function measureCase(bench: Bench, measured: Case): Promise<CaseResult> {
  const { service, bare } = bench
  await imitate(service, bare, () => (measured.creates ? creation(nameOf(newNames(), 0)) : { path: measured.path }))
  const [ours, theirs] = await alternate(bench, measured, [service, bare])
  return {
    case: measured,
    service: { ...medians(ours), memory: memoryOf(service)?.now },
    bare: { ...medians(theirs), memory: memoryOf(bare)?.now },
    ratio: ratios(ours, theirs),
  }
}

/** Creates at 64 connections: the service, the same service with one transaction per create, and the disk alone. */
export async function measureDurable(bench: Bench): Promise<DurableResult> {
  const env = { ...bench.env, BERTH_DATA: join(bench.folder, 'ungrouped') }
  const single = await startService('scripts/bench/ungrouped.ts', env)
  try {
    const fsyncs: number[] = []
    const count = () => fsyncs.push(fsyncsPerSecond(join(bench.folder, 'appended'), Math.min(bench.seconds, 2)))
    const [ours, theirs] = await alternate(bench, { ...CREATE_64, name: 'durable' }, [bench.service, single], count)
    const disk = fsyncs.map((perSecond) => ({ perSecond }))
    return {
      service: medians(ours),
      ungrouped: medians(theirs),
      fsyncs: spread(fsyncs),
      overUngrouped: ratios(ours, theirs),
      overFsyncs: ratios(ours, disk),
    }
  } finally {
    await stopServer(single)
  }
}

/** Milliseconds from spawn to the first 200 on the store that is there. The service must not run. */
export async function measureStart({ env, say }: Bench): Promise<Spread> {
  const times: number[] = []
  for (let start = 0; start < STARTS; start++) {
    say(`start: ${start + 1} of ${STARTS}`)
    const before = performance.now()
    const service = await startService('bin/berth.mjs', env)
    const { status } = await ask(service, { path: `/v9/projects/${NAMED}` })
    times.push(performance.now() - before)
    await stopServer(service)
    if (status !== 200) throw new Error(`the first answer after a start was ${status}`)
  }
  return spread(times)
}

function creation(name: string): Question {
  return { path: CREATE.path, body: JSON.stringify({ name }) }
}

/** What the disk gives to a writer that waits for each page. */
function fsyncsPerSecond(file: string, seconds: number): number {
  const handle = openSync(file, 'a', 0o600)
  const page = Buffer.alloc(4096, 1)
  const before = performance.now()
  const end = before + seconds * 1000
  let count = 0
  try {
    for (; performance.now() < end; count++) {
      writeSync(handle, page)
      fsyncSync(handle)
    }
  } finally {
    closeSync(handle)
  }
  return count / ((performance.now() - before) / 1000)
}
