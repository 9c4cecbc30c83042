/** A clock that jumps by a month, ahead and back, under load: nothing goes early, nothing is lost. docs/spec/reliability.md F19, T53. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { credentialsOf, newHome, type RunningService, type ServiceHome, startService } from '../support/process.ts'
import { root } from '../support/root.ts'
import { type Fault, type Run, repeat } from './fault.ts'
import { checkAll, mustBeAnswers, untilWritten } from './kill.ts'
import { openLedger } from './ledger.ts'
import { openLine, type Said, sayOnce } from './line.ts'
import { registerApp, startLoad } from './load.ts'
import { withStore } from './store.ts'

const DAY = 86_400_000
const JUMPS = [31 * DAY, 0, -31 * DAY, 0]
/** Several looks of the loop that sweeps: a sweep that was put off is due at each. */
const LOOKS_MS = 3000

export const clock: Fault = { name: 'clock jumps', engines: ['sqlite', 'postgres'], run: jump }

export type Clocked = { env: Record<string, string>; set(running: RunningService, offMs: number): Promise<void> }

/** A clock for a program that can be set from here. `words` start the program with it. */
export function openClockOf(home: ServiceHome): { env: Record<string, string>; words: string[]; set: Clocked['set'] } {
  const file = join(home.folder, '..', 'clock')
  writeFileSync(file, '0')
  const preload = join(import.meta.dirname, 'jumping-clock.ts')
  return {
    env: { FAULT_CLOCK: file },
    words: [process.execPath, '--import', preload, join(root, 'bin', 'berth.mjs')],
    async set(running, offMs) {
      writeFileSync(file, String(offMs))
      running.child.kill('SIGUSR2')
      await sleep(50)
    },
  }
}

async function jump(run: Run): Promise<void> {
  const { found } = run
  const home = await newHome(run, run.engine)
  const clocked = openClockOf(home)
  const running = await startService(run, home, clocked.env, clocked.words)
  const ledger = openLedger()
  const { installation, shortToken } = await prepareToLose(home, running)
  const isThere = () =>
    withStore(
      home,
      async (rows) =>
        (await rows(`select id from configuration where id = '${installation}' and deleted_at is null`)).length === 1,
    )
  const statusOf = async (token: string) => (await sayOnce(running.address, 'GET', '/v9/projects', token)).status
  // There and back again, however slow the machine is.
  await repeat({ ...run, hasTime: () => true }, JUMPS.length, async (at) => {
    // The first jump comes before the first sweep: everything is due, and must leave alone what only looks old.
    await clocked.set(running, JUMPS[at]!)
    const load = startLoad(home, [running.address], ledger, { prefix: `j${at}` })
    await untilWritten(load, 40)
    await sleep(run.short ? LOOKS_MS / 2 : LOOKS_MS)
    load.stop()
    await load.ended
    mustBeAnswers(run, load, /^503 busy$/)
    if (!(await isThere())) found.broken.push(`after a jump by ${JUMPS[at]! / DAY} days the installation is gone`)
    const expected = JUMPS[at]! > 0 ? 401 : 200
    const status = await statusOf(shortToken)
    if (status !== expected) found.broken.push(`a token for a day answers ${status}, ${JUMPS[at]! / DAY} days off`)
    await checkAll(run, home, running, ledger, `jump ${at + 1}`)
  })
  found.acknowledged += ledger.acknowledged
  if ((await running.kill('SIGTERM')) !== 0) found.broken.push('SIGTERM did not end the program in order')
  await mustGoWhenTrue(run, home, clocked, isThere)
}

/** The control: a program that starts 31 days later trusts its clock and deletes the installation. */
async function mustGoWhenTrue(
  run: Run,
  home: ServiceHome,
  { env, words }: ReturnType<typeof openClockOf>,
  isThere: () => Promise<boolean>,
): Promise<void> {
  writeFileSync(env.FAULT_CLOCK!, String(31 * DAY))
  const later = await startService(run, home, env, words)
  for (let waited = 0; await isThere(); waited += 100) {
    if (waited > 60_000) {
      run.found.broken.push('31 days later the installation is still there')
      break
    }
    await sleep(100)
  }
  await later.kill('SIGTERM')
}

/** An installation whose owner has left, and a token that lives for a day. */
async function prepareToLose(
  home: ServiceHome,
  { address }: RunningService,
): Promise<{ installation: string; shortToken: string }> {
  const { operatorToken, userId, teamId } = credentialsOf(home)
  const line = openLine(address)
  const must = async (asked: Promise<Said>) => {
    const said = await asked
    if (said.status === undefined || said.status > 299) throw new Error(JSON.stringify(said))
    return said.body
  }
  const operator = (method: string, path: string, body?: object) =>
    must(line.say(method, `/operator/v1${path}`, operatorToken, body))
  const ada = await operator('POST', '/users', { email: 'ada@example.com', username: 'ada' })
  await operator('PUT', `/teams/${teamId}/members/${ada.id}`, { role: 'OWNER' })
  const app = await registerApp(home, line)
  const installed = await operator('POST', `/integrations/${app.id}/installations`, {
    userId: ada.id,
    teamId,
    projects: 'all',
  })
  await operator('DELETE', `/teams/${teamId}/members/${ada.id}`)
  const made = await operator('POST', '/tokens', { userId, expiresAt: Date.now() + DAY })
  line.close()
  return { installation: installed.configurationId, shortToken: made.token }
}
