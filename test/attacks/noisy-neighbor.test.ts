/** What a team feels while another one does the worst it can: its p99, and the memory of the service. docs/threats.md; docs/limits.md. */

import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { MIB, memoryOf } from '../support/clients/raw-connection.ts'
import { newHome, processOnBothEngines, startService } from '../support/process.ts'
import type { Engine } from '../support/world.ts'
import { FULL, sayFigure } from './form.ts'
import { ATTACKS } from './noisy-neighbor/attacks.ts'
import { BOUND_MS, boundOf, MAX_MS, ROUNDS } from './noisy-neighbor/bound.ts'
import { type Measured, startMeter } from './noisy-neighbor/meter.ts'
import { type Attack, mustDo, openTeam, type Scene } from './noisy-neighbor/scene.ts'

const LASTS_MS = FULL ? 15_000 : 6000
/** How long the neighbor is measured before the attack: the control. */
const ALONE_MS = 3000
/** No single answer takes longer. */
const WORST_MS = 250
const MAX_MEMORY = 512e6

type Owner = Parameters<typeof newHome>[0]

/** Runs an attack and gives what the neighbor felt meanwhile; `alone`: what it felt before. */
async function measure(
  t: Owner,
  engine: Engine,
  { prepare, settings = {} }: Attack,
): Promise<Measured & { alone: Measured; mib: number }> {
  const home = await newHome(t, engine)
  const running = await startService(t, home, { BERTH_RATE_LIMITS: 'on', ...settings })
  const edge = /Proxies ask (\S+)/.exec(running.out())![1]!
  const ending = new AbortController()
  t.after(() => ending.abort())
  const attacker: Scene = { running, home, edge, ended: ending.signal, ...(await openTeam(running, home, 'attacker')) }
  const neighbor = await openTeam(running, home, 'neighbor')
  await mustDo(neighbor.call, 'POST', '/v10/projects', { name: 'neighbor' })
  const attack = await prepare(attacker)
  const address = running.address
  // The compiler of the runtime has seen it all before anything is measured. These have no limit: what is measured counts against the limits of the others.
  for (let n = 0; n < 200; n++) await neighbor.call('GET', '/v9/projects/neighbor')
  const meter = { address, token: neighbor.token, teamId: neighbor.teamId }
  const stopControl = startMeter(meter)
  await sleep(ALONE_MS)
  const alone = await stopControl()
  // The attack comes first: the neighbor connects behind whatever it opened.
  const attacking = attack()
  const stop = startMeter(meter)
  await sleep(LASTS_MS)
  const measured = await stop()
  ending.abort()
  await attacking
  assert.equal(running.child.exitCode, null, `the service ended: ${running.err()}`)
  return { ...measured, alone, mib: memoryOf(running) }
}

/** Attacks a service of its own once, and says what was felt too late; undefined: nothing was. */
async function feltTooLate(t: Owner, engine: Engine, name: string, attack: Attack): Promise<string | undefined> {
  const { p50, p99, longest, asked, failed, alone, mib } = await measure(t, engine, attack)
  sayFigure(
    `noisy neighbor, ${name} [${engine}]: p50 ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms, longest ${longest.toFixed(0)} ms, ${Math.round(mib)} MiB; alone p90 ${alone.p90.toFixed(1)} ms`,
  )
  assert.equal(failed, 0, `${failed} of ${asked} failed`)
  assert.ok(mib * MIB < MAX_MEMORY, `${mib} MiB`)
  const bound = boundOf(alone)
  if (p99 >= bound) return `p99 ${p99} ms; the bound is ${bound} ms`
  const worst = (WORST_MS * bound) / BOUND_MS
  return FULL && longest >= worst ? `the longest answer took ${longest} ms; the bound is ${worst} ms` : undefined
}

for (const [name, attack] of Object.entries(ATTACKS)) {
  processOnBothEngines(
    `a noisy neighbor does not slow another team: ${name}`,
    async (t, engine) => {
      const late: string[] = []
      while (late.length < ROUNDS) {
        const found = await feltTooLate(t, engine, name, attack)
        if (found === undefined) return
        late.push(found)
      }
      assert.fail(late.join('\n'))
    },
    600_000,
  )
}

processOnBothEngines(
  'the measuring sees a service that stalls for 200 ms each second',
  async (t, engine) => {
    const stall: Attack = {
      prepare:
        async ({ running, ended }) =>
        async () => {
          while (!ended.aborted) {
            running.child.kill('SIGSTOP')
            await sleep(200)
            running.child.kill('SIGCONT')
            await sleep(800)
          }
        },
    }
    const { p50, p99 } = await measure(t, engine, stall)
    assert.ok(p50 < MAX_MS && p99 >= MAX_MS, `p50 ${p50} ms, p99 ${p99} ms`)
  },
  120_000,
)
