/** Programs of a drill of builds: a control plane, two runners and a database, each killed and started again; and the source that is built. */
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { RUNNER_TOKEN } from '../delivery/builds/building.ts'
import { launch, newHome, type RunningService, type ServiceHome } from '../support/process.ts'
import { root } from '../support/root.ts'
import { freePort } from '../support/servers/free-port.ts'
import type { Run } from './fault.ts'
import { aroundSandboxes, type Kind, TOOLS } from './function-place.ts'
import { startAndCount } from './kill.ts'
import { killPostgres, startPostgres, untilAnswering } from './postgres-server.ts'
import { type Process, readProcesses, treeOf } from './process-trees.ts'

/** What a build has on its command line. */
export const SCRIPT_NAME = 'build-of-a-drill.mjs'
/** Numbered lines of a build that ends well. */
export const LINES = 60

/** Says numbered lines, and makes a page. */
const SCRIPT = `import { mkdirSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
const run = 'run' + process.pid + Math.random().toString(36).slice(2, 8)
for (let at = 0; at < ${LINES}; at++) {
  console.log(run + ' line ' + at)
  // Long enough for a kill to meet it.
  await sleep(50)
}
mkdirSync('public')
writeFileSync('public/index.html', '<h1>' + run + '</h1>')
`

export const FILES = [
  { file: 'package.json', data: `{"name":"page","private":true,"scripts":{"build":"node ${SCRIPT_NAME}"}}` },
  { file: SCRIPT_NAME, data: SCRIPT },
]

/** `pids`: of programs that run now. */
export type Programs = {
  home: ServiceHome
  address: string
  /** Of runners: what their processes have on their command lines. */
  folder: string
  /** The directory of running builds. */
  runs: string
  runners(): Process[][]
  /** TABLE what is killed, and started again after a while. Each gives what had to end. */
  kills: Readonly<Record<string, (pauseMs: number) => Promise<Process[]>>>
  /** Ends all in order, once the builds have ended. A runner that starts after a kill removes what that left. */
  stop(): Promise<(number | null)[]>
}

/** Starts them. All are ended with the run. */
export async function startPrograms(run: Run, kind: Kind): Promise<Programs> {
  const home = await newHome(run, run.engine)
  const folder = mkdtempSync(join(tmpdir(), 'berth-kills-'))
  run.after(() => rmSync(folder, { recursive: true, force: true }))
  chmodSync(folder, 0o755)
  const [port, edgePort] = [await freePort(), await freePort()]
  const own = { BERTH_BUILDS: kind, BERTH_RUNNER_TOKEN: RUNNER_TOKEN }
  const env = { ...own, PORT: String(port), BERTH_EDGE_PORT: String(edgePort), BERTH_BUILDS_PER_ACCOUNT: '8' }
  let service: RunningService = await startAndCount(run, home, env)
  mkdirSync(TOOLS, { recursive: true })
  symlinkSync(TOOLS, join(folder, 'tools'))
  const runnerEnv = {
    ...{ ...own, BERTH_RUNNER_BUILDS: '2', BERTH_LOG_LEVEL: 'error' },
    ...{ BERTH_RUNNER_URL: `http://127.0.0.1:${edgePort}`, BERTH_RUNNER_CACHE: folder },
  }
  const runners = [openRunner(run, home, runnerEnv, kind), openRunner(run, home, runnerEnv, kind)]
  await Promise.all(runners.map((runner) => runner.start()))
  const kills: Record<string, (pauseMs: number) => Promise<Process[]>> = {
    async 'the control plane'(pauseMs) {
      const ends = treeOf(readProcesses(), service.child.pid!)
      await service.kill('SIGKILL')
      // It is down for a while.
      await sleep(pauseMs)
      service = await startAndCount(run, home, env)
      return ends
    },
    'the first runner': (pauseMs) => runners[0]!.restart(pauseMs),
    'the second runner': (pauseMs) => runners[1]!.restart(pauseMs),
  }
  if (run.engine === 'postgres')
    kills['the database'] = async (pauseMs) => {
      await killPostgres()
      // It is down for a while.
      await sleep(pauseMs)
      await startPostgres()
      await untilAnswering(home.env.DATABASE_URL!)
      return []
    }
  const stop = async () => {
    const codes: (number | null)[] = []
    for (const runner of runners) {
      await runner.restart(0)
      codes.push(await runner.end())
    }
    return [...codes, await service.kill('SIGTERM')]
  }
  const runs = join(folder, 'runs')
  return { home, address: service.address, folder, runs, runners: () => runners.map(({ tree }) => tree()), kills, stop }
}

/** A runner that can be killed and started again. */
function openRunner(run: Run, home: ServiceHome, env: Record<string, string>, kind: Kind) {
  const words = [...aroundSandboxes(kind), process.execPath, join(root, 'bin', 'berth.mjs'), 'runner']
  let running = undefined as ReturnType<typeof launch> | undefined
  const start = async () => {
    let next = launch(run, home, env, words)
    while (!next.out().includes('berth runner builds for')) {
      const isSlow = next.err().includes('does not start within')
      if (next.child.exitCode !== null && !isSlow) throw new Error(`the runner ended: ${next.out()}${next.err()}`)
      // A supervisor starts it again: on a busy machine no sandbox starts within its time.
      if (next.child.exitCode !== null) next = launch(run, home, env, words)
      await sleep(100)
    }
    running = next
  }
  const tree = () => treeOf(readProcesses(), running!.child.pid!)
  return {
    start,
    tree,
    async restart(pauseMs: number) {
      const ends = tree()
      await running!.kill('SIGKILL')
      // It is down for a while.
      await sleep(pauseMs)
      await start()
      return ends
    },
    end: () => running!.kill('SIGTERM'),
  }
}
