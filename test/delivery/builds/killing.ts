/** Programs of a drill of builds: a control plane, two runners and a database, each killed and started again; and the source that is built. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { killPostgres, openFaultPostgres, startPostgres, untilAnswering } from '../../faults/postgres-server.ts'
import { launch, newHome, type RunningService, type ServiceHome, startService } from '../../support/process.ts'
import { root } from '../../support/root.ts'
import { freePort } from '../../support/servers/free-port.ts'
import type { Engine } from '../../support/world.ts'
import { RUNNER_TOKEN } from './building.ts'

/** Tools of builds are installed once for all drills. */
const TOOLS = join(root, '.cache', 'runner', 'tools')

/** Writes when it begins, goes on and ends into the journal of the test, says numbered lines, and makes a page. */
const SCRIPT = `import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
const { JOURNAL, VERCEL_DEPLOYMENT_ID: id } = process.env
const run = 'run' + process.pid + Math.random().toString(36).slice(2, 8)
const note = (what) => appendFileSync(JOURNAL, [id, run, what, Date.now()].join(' ') + '\\n')
note('start')
for (let at = 0; at < 60; at++) {
  console.log(run + ' line ' + at)
  note('goes')
  // Long enough for a kill to meet it.
  await sleep(50)
}
mkdirSync('public')
writeFileSync('public/index.html', '<h1>' + id + '</h1>')
note('end')
`

export const FILES = [
  { file: 'package.json', data: '{"name":"page","private":true,"scripts":{"build":"node build.mjs"}}' },
  { file: 'build.mjs', data: SCRIPT },
]

type Cleanup = Parameters<typeof newHome>[0]

export type Programs = {
  home: ServiceHome
  journal: string
  /** Directories of running builds. */
  runs: string
  address: string
  /** TABLE what is killed, and started again after a while. */
  kills: Readonly<Record<string, (pauseMs: number) => Promise<void>>>
  /** Ends the runners in order, once their builds have ended. One that starts after a kill removes what that left. */
  stop(): Promise<void>
}

/** Starts them. All are ended with the test. */
export async function startPrograms(t: Cleanup, engine: Engine): Promise<Programs> {
  const isPostgres = engine === 'postgres'
  if (isPostgres) {
    const before = process.env.BERTH_TEST_POSTGRES
    const close = await openFaultPostgres()
    t.after(async () => {
      process.env.BERTH_TEST_POSTGRES = before
      await close()
    })
  }
  const home = await newHome(t, engine)
  const folder = mkdtempSync(join(tmpdir(), 'berth-kills-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const [port, edgePort] = [await freePort(), await freePort()]
  const env = {
    ...{ PORT: String(port), BERTH_EDGE_PORT: String(edgePort), BERTH_BUILDS: 'trusted', BERTH_LOG_LEVEL: 'error' },
    ...{ BERTH_RUNNER_TOKEN: RUNNER_TOKEN, BERTH_BUILDS_PER_ACCOUNT: '8' },
  }
  let service: RunningService = await startService(t, home, env)
  mkdirSync(TOOLS, { recursive: true })
  const cache = join(folder, 'cache')
  mkdirSync(cache)
  symlinkSync(TOOLS, join(cache, 'tools'))
  const runnerEnv = {
    ...{
      BERTH_BUILDS: 'trusted',
      BERTH_RUNNER_TOKEN: RUNNER_TOKEN,
      BERTH_RUNNER_BUILDS: '2',
      BERTH_LOG_LEVEL: 'error',
    },
    ...{ BERTH_RUNNER_URL: `http://127.0.0.1:${edgePort}`, BERTH_RUNNER_CACHE: cache },
  }
  const runners = [openRunner(t, home, runnerEnv), openRunner(t, home, runnerEnv)]
  await Promise.all(runners.map((runner) => runner.start()))
  const kills: Record<string, (pauseMs: number) => Promise<void>> = {
    async 'the control plane'(pauseMs) {
      await service.kill('SIGKILL')
      // It is down for a while.
      await sleep(pauseMs)
      service = await startService(t, home, env)
    },
    'the first runner': (pauseMs) => runners[0]!.restart(pauseMs),
    'the second runner': (pauseMs) => runners[1]!.restart(pauseMs),
  }
  if (isPostgres)
    kills['the database'] = async (pauseMs) => {
      await killPostgres()
      // It is down for a while.
      await sleep(pauseMs)
      await startPostgres()
      await untilAnswering(home.env.DATABASE_URL!)
    }
  const stop = async () => {
    for (const runner of runners) {
      await runner.restart(0)
      await runner.end()
    }
  }
  return { home, journal: join(folder, 'journal'), runs: join(cache, 'runs'), address: service.address, kills, stop }
}

/** A runner that can be killed and started again. */
function openRunner(t: Cleanup, home: ServiceHome, env: Record<string, string>) {
  const words = [process.execPath, join(root, 'bin', 'berth.mjs'), 'runner']
  let running = undefined as ReturnType<typeof launch> | undefined
  const start = async () => {
    const next = launch(t, home, env, words)
    running = next
    while (!next.out().includes('berth runner builds for')) {
      if (next.child.exitCode !== null) throw new Error(`the runner ended: ${next.out()}${next.err()}`)
      // It starts; the time-out of the test bounds this.
      await sleep(100)
    }
  }
  return {
    start,
    async restart(pauseMs: number) {
      await running!.kill('SIGKILL')
      // It is down for a while.
      await sleep(pauseMs)
      await start()
    },
    end: () => running!.kill('SIGTERM'),
  }
}

export type Note = { id: string; run: string; what: string; at: number }

/** Returns what builds wrote into the journal, in order. The last line may be cut. */
export function readJournal(journal: string): Note[] {
  let text = ''
  try {
    text = readFileSync(journal, 'utf8')
  } catch {
    // No build has begun.
  }
  return text
    .split('\n')
    .filter((line) => /^\S+ \S+ \S+ \d+$/.test(line))
    .map((line) => line.split(' '))
    .map(([id, run, what, at]) => ({ id: id!, run: run!, what: what!, at: Number(at) }))
}

/** Returns random numbers below one, the same for the same seed (mulberry32). */
export function openRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
