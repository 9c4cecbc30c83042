/** A PostgreSQL that crashes, and connections that it cuts in the middle of transactions. docs/spec/reliability.md F11, F15. */
import { setTimeout as sleep } from 'node:timers/promises'
import { newHome, type RunningService, type ServiceHome } from '../support/process.ts'
import { LOCAL, receiver } from '../support/servers/receiver.ts'
import { type Fault, type Run, repeat } from './fault.ts'
import { checkAll, mustBeAnswers, prepare, startAndCount, untilWritten } from './kill.ts'
import { type Ledger, openLedger } from './ledger.ts'
import { type App, type Load, startLoad } from './load.ts'
import { cutConnections, killBackend, killPostgres, startPostgres, untilAnswering } from './postgres-server.ts'

/** From the database's first answer to the service's first acknowledged write. */
const BACK_MS = 3000

export const databaseCrash: Fault = {
  name: 'PostgreSQL crash',
  engines: ['postgres'],
  run: (run) =>
    befall(run, run.short ? 3 : 50, async (at, url) => {
      // Alternates between the whole server, which is restarted here, and one of its processes, after which it recovers on its own.
      if (at % 2 === 0) {
        await killPostgres()
        await sleep(Math.random() * 300)
        await startPostgres()
      } else await killBackend(url)
      await untilAnswering(url)
    }),
}

export const databaseCut: Fault = {
  name: 'connections cut',
  engines: ['postgres'],
  async run(run) {
    let cut = 0
    await befall(run, run.short ? 4 : 30, async (_, url) => {
      cut += await cutConnections(url)
    })
    run.found.notes.push(`${cut} connections were cut in the middle of a transaction`)
    if (cut === 0) run.found.broken.push('no connection was in a transaction when it was cut')
  },
}

type Place = { run: Run; home: ServiceHome; running: RunningService; ledger: Ledger; app: App; unknown: number }

/** One process all the time: what befalls its database must neither end it nor make it say anything but success or 503. */
async function befall(run: Run, times: number, fault: (at: number, url: string) => Promise<void>): Promise<void> {
  const home = await newHome(run, 'postgres')
  const running = await startAndCount(run, home, LOCAL)
  const hook = await receiver(run)
  const app = await prepare(home, running, hook.url)
  run.found.recoveriesMs = []
  const place: Place = { run, home, running, ledger: openLedger(), app, unknown: 0 }
  await repeat(run, times, (at) => befallOnce(place, at, fault))
  run.found.acknowledged += place.ledger.acknowledged
  run.found.notes.push(`${place.unknown} writes were answered with 503: stored or not, and whole either way`)
  const code = await running.kill('SIGTERM')
  if (code !== 0) run.found.broken.push(`after it all, SIGTERM ended the program with ${code}`)
}

async function befallOnce(place: Place, at: number, fault: (at: number, url: string) => Promise<void>): Promise<void> {
  const { run, home, running, ledger, app } = place
  const load = startLoad(home, [running.address], ledger, { prefix: `b${at}`, app })
  await untilWritten(load, 10)
  await sleep(Math.random() * 50)
  await fault(at, home.env.DATABASE_URL!)
  const back = performance.now()
  await untilWritten(load, load.acknowledgedSince() + 1, 30_000)
  const ms = performance.now() - back
  run.found.recoveriesMs.push(ms)
  if (ms > BACK_MS) run.found.broken.push(`fault ${at + 1}: back only ${Math.round(ms)} ms after the database`)
  await stopLoad(load)
  mustBeAnswers(run, load, /^503 (unavailable|busy)$/)
  place.unknown += load.ends.get('503 unavailable') ?? 0
  if (running.child.exitCode !== null) throw new Error(`the program ended with ${running.child.exitCode}`)
  await checkAll(run, home, running, ledger, `fault ${at + 1}`)
}

async function stopLoad(load: Load): Promise<void> {
  load.stop()
  await load.ended
}
