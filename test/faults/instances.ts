/** Several processes on one store: PostgreSQL lets them, of whom one is killed; the embedded store lets one. docs/spec/reliability.md F8, F21. */
import { setTimeout as sleep } from 'node:timers/promises'
import { credentialsOf, newHome, runUntilExit } from '../support/process.ts'
import { LOCAL, receiver } from '../support/servers/receiver.ts'
import { type Fault, type Run, repeat } from './fault.ts'
import { checkAll, mustBeAnswers, prepare, startAndCount, untilWritten } from './kill.ts'
import { openLedger } from './ledger.ts'
import { sayOnce } from './line.ts'
import { startLoad } from './load.ts'

export const twoInstances: Fault = { name: 'two instances, one killed', engines: ['postgres'], run: killOneOfTwo }
export const secondInstance: Fault = { name: 'second instance refused', engines: ['sqlite'], run: refuseSecond }

async function killOneOfTwo(run: Run): Promise<void> {
  const home = await newHome(run, 'postgres')
  const ledger = openLedger()
  const hook = await receiver(run)
  const instances = [await startAndCount(run, home, LOCAL), await startAndCount(run, home, LOCAL)]
  await prepare(home, instances[0]!, hook.url)
  await repeat(run, run.short ? 2 : 15, async (at) => {
    const addresses = instances.map(({ address }) => address)
    const load = startLoad(home, addresses, ledger, { prefix: `t${at}`, goesOn: true })
    await untilWritten(load, 12)
    await sleep(Math.random() * 100)
    const victim = at % 2
    await instances[victim]!.kill('SIGKILL')
    // The other one goes on alone.
    await untilWritten(load, load.acknowledgedSince() + 10)
    instances[victim] = await startAndCount(run, home, LOCAL)
    load.stop()
    await load.ended
    mustBeAnswers(run, load)
    await checkAll(run, home, instances[at % 2]!, ledger, `kill ${at + 1} of one of two`)
  })
  run.found.acknowledged += ledger.acknowledged
  for (const instance of instances) await instance.kill('SIGTERM')
}

/** While one writes, a second one must go at once and say why; when the first is killed, the next one starts. */
async function refuseSecond(run: Run): Promise<void> {
  const home = await newHome(run, 'sqlite')
  const ledger = openLedger()
  await repeat(run, run.short ? 1 : 5, async (at) => {
    const first = await startAndCount(run, home)
    const load = startLoad(home, [first.address], ledger, { prefix: `s${at}` })
    await untilWritten(load, 10)
    const seconds = await Promise.all([runUntilExit(run, home), runUntilExit(run, home)])
    for (const { code, err } of seconds) {
      if (code !== 1 || !/^berth: another process \(pid \d+\) has /.test(err))
        run.found.broken.push(`a second process ended with ${code}: ${err}`)
    }
    const said = await sayOnce(first.address, 'GET', '/v9/projects', credentialsOf(home).token)
    if (said.status !== 200) run.found.broken.push(`the first process answers ${JSON.stringify(said)}`)
    await first.kill('SIGKILL')
    await load.ended
    mustBeAnswers(run, load)
    const next = await startAndCount(run, home)
    await checkAll(run, home, next, ledger, `second process ${at + 1}`)
    await next.kill('SIGTERM')
  })
  run.found.acknowledged += ledger.acknowledged
}
