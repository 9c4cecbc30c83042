/** Three instances behind HAProxy on one PostgreSQL get another version under load, one by one: no request is refused. docs/scaling.md: Zero-downtime upgrade. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { MIGRATIONS } from '../../../src/platform/db/migrations.ts'
import type { Run } from '../../faults/fault.ts'
import { checkAll, mustBeAnswers, untilWritten } from '../../faults/kill.ts'
import { openLedger } from '../../faults/ledger.ts'
import { openLine } from '../../faults/line.ts'
import { startLoad } from '../../faults/load.ts'
import { newFolder, run, withProgram } from '../../support/clients/proxies.ts'
import { eventually } from '../../support/eventually.ts'
import { credentialsOf, newHome, type RunningService, type ServiceHome, startService } from '../../support/process.ts'
import { root } from '../../support/root.ts'
import { freePort } from '../../support/servers/free-port.ts'

const NEWEST = `src/platform/db/migrations/${Object.keys(MIGRATIONS).at(-1)}.ts`
/** How long the load goes on between two instances. */
const BETWEEN_MS = 1000

/** TABLE from where is upgraded: the commit, and what it is called. */
const EARLIER: Readonly<Record<string, () => string>> = {
  'the commit before the newest migration': () =>
    `${git('log', '--diff-filter=A', '-1', '--format=%H', '--', NEWEST)}^`,
  'the newest version whose store is kept': newestKept,
}

withProgram('haproxy', 'haproxy', () => {
  for (const [what, commitOf] of Object.entries(EARLIER)) rollFrom(what, commitOf)
})

function rollFrom(what: string, commitOf: () => string): void {
  test(`three instances get a newer version under load, from ${what}, and restart under load: no request is refused [postgres]`, {
    timeout: 300_000,
  }, async (t) => {
    const home = await newHome(t, 'postgres')
    const ports = [await freePort(), await freePort(), await freePort()]
    const older = unpackOlder(t, what, commitOf)
    const words = (folder: string) => [process.execPath, join(folder, 'bin', 'berth.mjs')]
    const begin = (folder: string, port: number) =>
      startService(t, home, { PORT: String(port), BERTH_EDGE_PORT: 'off', BERTH_LOG_LEVEL: 'error' }, words(folder))
    const instances: RunningService[] = []
    for (const port of ports) instances.push(await begin(older ?? root, port))
    const proxy = await startProxy(t, ports)
    const ledger = openLedger()
    const load = startLoad(home, [proxy.address], ledger, { prefix: 'r', goesOn: true })
    const reads = startReads(home, proxy.address)
    t.after(() => Promise.all([load.stop(), reads.stop()]))
    await untilWritten(load, 20)
    // Once to the newer version, once more to the same one.
    for (let at = 0; at < 2 * ports.length; at++) {
      const place = at % ports.length
      await proxy.say(`set server berth/b${place} state drain`)
      assert.equal(await instances[place]!.kill('SIGTERM'), 0, instances[place]!.err())
      instances[place] = await begin(root, ports[place]!)
      await proxy.say(`set server berth/b${place} state ready`)
      await eventually(async () => (await proxy.say('show stat')).includes(`berth,b${place},`) && proxy.isUp(place))
      // The load goes on over all instances for a while.
      await sleep(BETWEEN_MS)
    }
    load.stop()
    await load.ended
    const refused = await reads.stop()
    const found: Run['found'] = {
      cycles: 1,
      acknowledged: 0,
      lost: 0,
      halfDone: 0,
      recoveriesMs: [],
      broken: [],
      notes: [],
    }
    const say = () => {}
    const drill: Run = {
      engine: 'postgres',
      found,
      short: true,
      timeoutMs: 240_000,
      after: (end) => t.after(end),
      say,
      hasTime: () => true,
    }
    mustBeAnswers(drill, load, /^(?!)/)
    await checkAll(drill, home, instances[0]!, ledger, 'after the upgrade')
    t.diagnostic(
      `${ledger.acknowledged} writes and ${reads.count()} reads, from ${older === undefined ? 'the same' : 'an older'} version`,
    )
    assert.deepEqual([...found.broken, ...refused], [])
    assert.ok(ledger.acknowledged > 100, `${ledger.acknowledged}`)
  })
}

/** The program as it was at a commit; undefined where the history is not here. */
function unpackOlder(t: TestContext, what: string, commitOf: () => string): string | undefined {
  const folder = newFolder(t)
  try {
    execFileSync('sh', ['-c', `git -C '${root}' archive '${commitOf()}' | tar -x -C '${folder}'`], { stdio: 'pipe' })
  } catch {
    if (process.env.BERTH_TEST_PROGRAMS === 'all') throw new Error(`the history does not have ${what}: clone all of it`)
    console.error(`\n*** SKIPPED: the history does not have ${what}: nothing is known of an upgrade from there ***\n`)
    return undefined
  }
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  return folder
}

/** Of the commits whose stores are kept as fixtures, the last that the history has. */
function newestKept(): string {
  const known = new Set(
    git('rev-list', '--abbrev-commit', '--abbrev=7', 'HEAD')
      .split('\n')
      .map((one) => one.slice(0, 7)),
  )
  const kept = readdirSync(join(root, 'test', 'fixtures', 'stores')).filter((commit) => known.has(commit))
  return git('rev-list', '--no-walk=sorted', '--max-count=1', ...kept)
}

function git(...words: string[]): string {
  return execFileSync('git', words, { cwd: root, encoding: 'utf8', stdio: 'pipe' }).trim()
}

/** HAProxy in front of the instances, as docs/scaling.md has it, and a way to its commands. */
async function startProxy(t: TestContext, ports: number[]) {
  const folder = newFolder(t)
  const port = await freePort()
  const socket = join(folder, 'admin.sock')
  const servers = ports.map((to, at) => `  server b${at} 127.0.0.1:${to}`)
  writeFileSync(join(folder, 'haproxy.cfg'), `${configOf(port, socket)}${servers.join('\n')}\n`)
  const { said, alive } = run(t, 'haproxy', ['-db', '-f', join(folder, 'haproxy.cfg')])
  const say = async (words: string) => {
    const line = connect(socket)
    line.end(`${words}\n`)
    let text = ''
    for await (const chunk of line) text += chunk
    return text
  }
  const isUp = async (at: number) => {
    const line = (await say('show stat')).split('\n').find((one) => one.startsWith(`berth,b${at},`))
    return line?.split(',')[17] === 'UP'
  }
  await eventually(async () => {
    assert.ok(alive(), said())
    const up = await Promise.all(ports.map((_, at) => isUp(at).catch(() => false)))
    return up.every((one) => one)
  })
  return { address: `http://127.0.0.1:${port}`, say, isUp }
}

function configOf(port: number, socket: string): string {
  return `global
  stats socket ${socket} mode 600 level admin
defaults
  mode http
  timeout connect 1s
  timeout client 30s
  timeout server 30s
  timeout check 2s
listen berth
  bind 127.0.0.1:${port}
  option httpchk GET /readyz
  http-check expect status 200
  default-server check inter 200ms fall 2 rise 1
`
}

/** Reads during the writes: each sees what the same caller wrote just before. */
function startReads(home: ServiceHome, address: string): { count(): number; stop(): Promise<string[]> } {
  const { token } = credentialsOf(home)
  const line = openLine(address)
  const wrong: string[] = []
  let count = 0
  let stopping = false
  const run = async () => {
    await line.say('POST', '/v10/projects', token, { name: 'read-0-0' })
    for (; !stopping; count++) {
      const buildCommand = `make ${count}`
      const written = await line.say('PATCH', '/v9/projects/read-0-0', token, { buildCommand })
      const read = await line.say('GET', '/v9/projects/read-0-0', token)
      if (written.status !== 200 || read.status !== 200) wrong.push(JSON.stringify([written, read]).slice(0, 500))
      else if (read.body.buildCommand !== buildCommand)
        wrong.push(`read ${read.body.buildCommand} after ${buildCommand}`)
      // Others ask too.
      await sleep(5)
    }
    await line.say('DELETE', '/v9/projects/read-0-0', token)
    line.close()
  }
  const running = run()
  return {
    count: () => count,
    stop: async () => {
      stopping = true
      await running
      return wrong
    },
  }
}
