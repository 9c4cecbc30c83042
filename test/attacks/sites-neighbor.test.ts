/** What another tenant's visitors feel while one visitor makes ten thousand entries by a query, and what is kept then. docs/prerendering.md: Budget; docs/pictures.md: Cache. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { Agent, type IncomingMessage, request } from 'node:http'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { OTHER } from '../sites/functions/tenants.ts'
import { imagePath } from '../sites/pictures/png.ts'
import { SITE } from '../sites/visitors/control-plane.ts'
import { sayFigure } from './form.ts'
import { boundOf, MAX_MS, ROUNDS } from './noisy-neighbor/bound.ts'
import { type Measured, startMeter } from './noisy-neighbor/meter.ts'

const ENTRIES = 10_000
const AT_ONCE = 32
/** How long the neighbor is measured before the attack. */
const ALONE_MS = 3000
/** What the neighbor's visitors ask, warm. */
const PATHS = ['/file.txt', '/api/own', '/page', imagePath('/a.png')]

/** TABLE what one visitor makes → the path of the entry with this number. */
const MADE: Readonly<Record<string, (at: number) => string>> = {
  'answers of a function': (at) => `/api/shared?q=${at}`,
  'prerendered pages': (at) => `/page?q=${at}`,
  pictures: (at) => imagePath(`/a.png?q=${at}`),
}

async function open(t: TestContext) {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'sites-neighbor', 'serve.ts')], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  t.after(() => end(child))
  const [said] = await once(child.stdout, 'data')
  return { child, origin: String(said).trim() }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return
  child.stdin!.end()
  await once(child, 'exit')
}

/** Asks as a visitor of a host. Gives the status and the state of what is cached. */
function askerAt(origin: string) {
  const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE })
  const ask = async (host: string, path: string) => {
    const asked = request(origin + path, { headers: { host }, agent })
    asked.end()
    const [answer] = (await once(asked, 'response')) as [IncomingMessage]
    await once(answer.resume(), 'end')
    return { status: answer.statusCode!, cached: answer.headers['x-vercel-cache'] }
  }
  return { ask, close: () => agent.destroy() }
}

type Ask = ReturnType<typeof askerAt>['ask']

/** Makes the entries as fast as one visitor is answered. Gives how many answers had each status. */
async function makeEntries(ask: Ask, path: (at: number) => string): Promise<Map<number, number>> {
  const statuses = new Map<number, number>()
  let next = 0
  const one = async () => {
    while (next < ENTRIES) {
      const { status } = await ask(SITE, path(next++))
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, one))
  return statuses
}

async function measure(meter: Parameters<typeof startMeter>[0], work: () => Promise<unknown>): Promise<Measured> {
  const stop = startMeter(meter)
  await work()
  return stop()
}

for (const [what, path] of Object.entries(MADE))
  test(`one visitor who makes ten thousand ${what} by a query slows no other site, and evicts nothing of it`, {
    timeout: 1_200_000,
  }, async (t) => {
    const late: string[] = []
    while (late.length < ROUNDS) {
      const { child, origin } = await open(t)
      const { ask, close } = askerAt(origin)
      t.after(close)
      // Functions have started, and the compiler has seen it all.
      for (let at = 0; at < 100; at++) for (const own of PATHS) assert.equal((await ask(OTHER, own)).status, 200)
      const meter = { address: origin, host: OTHER, paths: PATHS }
      const alone = await measure(meter, () => sleep(ALONE_MS))
      let statuses = new Map<number, number>()
      const felt = await measure(meter, async () => {
        statuses = await makeEntries(ask, path)
      })
      const [bound, text] = [boundOf(alone), [...statuses].map(([status, times]) => `${times} of ${status}`).join(', ')]
      sayFigure(
        `${ENTRIES} ${what}: ${text}; a neighbor's p99 ${felt.p99.toFixed(1)} ms, alone ${alone.p99.toFixed(1)} ms`,
      )
      assert.deepEqual([...statuses], [[200, ENTRIES]])
      assert.equal(felt.failed, 0, `${felt.failed} of ${felt.asked} failed`)
      assert.equal((await ask(SITE, path(ENTRIES - 1))).cached, 'HIT', 'the control: the entries are kept')
      for (const own of PATHS.slice(2)) assert.equal((await ask(OTHER, own)).cached, 'HIT', own)
      await end(child)
      if (felt.p99 < bound) return
      late.push(`p99 ${felt.p99} ms; the bound is ${bound} ms`)
    }
    assert.fail(late.join('\n'))
  })

test('the measuring sees a sites server that stalls for 200 ms each second', { timeout: 300_000 }, async (t) => {
  const { child, origin } = await open(t)
  const { ask, close } = askerAt(origin)
  t.after(close)
  for (const own of PATHS) assert.equal((await ask(OTHER, own)).status, 200)
  const { p50, p99 } = await measure({ address: origin, host: OTHER, paths: PATHS }, async () => {
    for (let second = 0; second < 4; second++) {
      child.kill('SIGSTOP')
      await sleep(200)
      child.kill('SIGCONT')
      await sleep(800)
    }
  })
  assert.ok(p50 < MAX_MS && p99 >= MAX_MS, `p50 ${p50} ms, p99 ${p99} ms`)
})
