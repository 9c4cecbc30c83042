/** SIGTERM in the middle of a load: what was taken is answered, and nothing that was answered is lost. docs/spec/reliability.md F22. */
import { setTimeout as sleep } from 'node:timers/promises'
import { newHome } from '../support/process.ts'
import { type Fault, type Run, repeat } from './fault.ts'
import { checkAll, mustBeAnswers, startAndCount, untilWritten } from './kill.ts'
import { openLedger } from './ledger.ts'
import { startLoad } from './load.ts'

const MAX_MS = 10_000

export const stop: Fault = { name: 'SIGTERM under load', engines: ['sqlite', 'postgres'], run: stopAgainAndAgain }

async function stopAgainAndAgain(run: Run): Promise<void> {
  const { found } = run
  const home = await newHome(run, run.engine)
  const ledger = openLedger()
  let slowest = 0
  await repeat(run, run.short ? 2 : 20, async (at) => {
    const running = await startAndCount(run, home)
    const load = startLoad(home, [running.address], ledger, { prefix: `x${at}`, lanes: 16, goesOn: true })
    await untilWritten(load, 20)
    await sleep(Math.random() * 100)
    const before = performance.now()
    const code = await running.kill('SIGTERM')
    const ms = performance.now() - before
    slowest = Math.max(slowest, ms)
    load.stop()
    await load.ended
    if (code !== 0) found.broken.push(`stop ${at + 1} ended with ${code}`)
    if (ms > MAX_MS) found.broken.push(`stop ${at + 1} took ${Math.round(ms)} ms`)
    // Refused means never taken. Everything else that is not an answer was cut.
    mustBeAnswers(run, load, /^(ECONNREFUSED|503 busy)$/)
    const doubts = [...ledger.entries.values()].filter(({ doubt }) => doubt !== undefined).length
    if (doubts > 0) found.broken.push(`stop ${at + 1} left ${doubts} writes without an answer`)
    const again = await startAndCount(run, home)
    await checkAll(run, home, again, ledger, `stop ${at + 1}`)
    await again.kill('SIGKILL')
  })
  found.acknowledged += ledger.acknowledged
  found.notes.push(`the slowest stop took ${Math.round(slowest)} ms`)
}
