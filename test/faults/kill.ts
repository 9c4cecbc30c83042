/** Repeated kill -9 at a random time of a mixed write load. docs/spec/reliability.md F1. */
import { setTimeout as sleep } from 'node:timers/promises'
import {
  allNames,
  credentialsOf,
  newHome,
  type RunningService,
  type ServiceHome,
  startService,
} from '../support/process.ts'
import { LOCAL, receiver } from '../support/servers/receiver.ts'
import { type Fault, type Run, repeat } from './fault.ts'
import { compare, type Ledger, openLedger } from './ledger.ts'
import { openLine, sayOnce } from './line.ts'
import { type App, type Load, registerApp, startLoad } from './load.ts'
import { mustBeWhole, mustHaveTokens, readProjects, withStore } from './store.ts'

const HOOK = { events: ['project.created', 'project.removed'] }

export const kill: Fault = { name: 'kill -9 under load', engines: ['sqlite', 'postgres'], run: killAgainAndAgain }

async function killAgainAndAgain(run: Run): Promise<void> {
  const home = await newHome(run, run.engine)
  const ledger = openLedger()
  const hook = await receiver(run)
  let running = await startAndCount(run, home)
  const app = await prepare(home, running, hook.url)
  await repeat(run, run.short ? 5 : 200, async (at) => {
    const load = startLoad(home, [running.address], ledger, { prefix: `c${at}`, app })
    await untilWritten(load, 12)
    await sleep(Math.random() * 150)
    await running.kill('SIGKILL')
    await load.ended
    mustBeAnswers(run, load)
    running = await startAndCount(run, home)
    await checkAll(run, home, running, ledger, `kill ${at + 1}`)
  })
  run.found.acknowledged += ledger.acknowledged
  await running.kill('SIGTERM')
}

/** Waits until the load has acknowledged some writes: what befalls the service then is to meet a storm. */
export async function untilWritten(load: Load, many: number, withinMs = 60_000): Promise<void> {
  for (let waited = 0; load.acknowledgedSince() < many; waited += 5) {
    load.mustRun()
    if (waited > withinMs)
      throw new Error(`the load has acknowledged ${load.acknowledgedSince()} writes in ${withinMs} ms`)
    await sleep(5)
  }
}

/** Starts the program, and keeps how long it took to its first answer. `words` startService it in their way. */
export async function startAndCount(
  run: Run,
  home: ServiceHome,
  env: Record<string, string> = {},
  words?: string[],
): Promise<RunningService> {
  const before = performance.now()
  const running = await startService(run, home, { BERTH_LOG_LEVEL: 'error', ...LOCAL, ...env }, words)
  const said = await sayOnce(running.address, 'GET', '/v9/projects?limit=1', credentialsOf(home).token)
  if (said.status !== 200) throw new Error(`the first answer is ${JSON.stringify(said)}`)
  run.found.recoveriesMs.push(performance.now() - before)
  return running
}

/** A webhook and an integration, so that a write has something to leave behind. */
export async function prepare(home: ServiceHome, running: RunningService, url: string): Promise<App> {
  const line = openLine(running.address)
  const made = await line.say('POST', '/v1/webhooks', credentialsOf(home).token, { url, ...HOOK })
  if (made.status !== 200) throw new Error(`no webhook: ${JSON.stringify(made)}`)
  const app = await registerApp(home, line)
  line.close()
  return app
}

/** Every answer of a load was a success, or one of `allowed`. */
export function mustBeAnswers(
  run: Run,
  load: Load,
  allowed: RegExp = /^(ECONNRESET|ECONNREFUSED|EPIPE|503 busy)$/,
): void {
  for (const [end, count] of load.ends) {
    if (end !== '2xx' && !allowed.test(end)) run.found.broken.push(`${count} writes ended with ${end}`)
  }
}

/** The store against the ledger, past the service and through it. */
export async function checkAll(
  run: Run,
  home: ServiceHome,
  running: RunningService,
  ledger: Ledger,
  when: string,
): Promise<void> {
  const { found, engine } = run
  await withStore(home, async (rows) => {
    await mustBeWhole(rows, found, when, engine === 'sqlite' && found.cycles % 10 === 0)
    compare(ledger, await readProjects(rows), found, when)
    await mustHaveTokens(rows, ledger, found, when)
  })
  const { token } = credentialsOf(home)
  const names = await allNames(running, token)
  const wanted = [...ledger.entries.keys()].sort()
  if ([...names].sort().join() !== wanted.join())
    found.broken.push(`${when}: the list of projects is not what is stored`)
  await mustOpen(run, running, ledger, token, when)
}

/** The values of the variables of one project open, and are what was written last: the comment says what that was. */
async function mustOpen(run: Run, running: RunningService, ledger: Ledger, token: string, when: string): Promise<void> {
  const with_ = [...ledger.entries.values()].filter(({ envIds }) => envIds.size > 0)
  const entry = with_[Math.floor(Math.random() * with_.length)]
  if (entry === undefined) return
  const said = await sayOnce(running.address, 'GET', `/v9/projects/${entry.name}/env?decrypt=true`, token)
  const wrong = said.body?.envs?.filter((env: { value: string; comment: string }) => env.value !== env.comment)
  if (wrong?.length !== 0)
    run.found.broken.push(`${when}: values of ${entry.name} do not open: ${JSON.stringify(said)}`)
}
