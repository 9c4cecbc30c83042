/** Failures at startup are reported with their cause, the setting and what to do. docs/operations.md: Start and stop. */

import assert from 'node:assert/strict'
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { SETTINGS } from '../../../src/settings.ts'
import { berth } from '../../support/clients/command.ts'
import { credentialsOf, newHome, runUntilExit, startService } from '../../support/process.ts'
import { root } from '../../support/root.ts'
import { assertWithin } from '../../support/time-limits.ts'
import { ENGINES } from '../../support/world.ts'

const hasTerminals = spawnSync('script', ['--version']).status === 0
type Finding = { about: string; is: string; found: string; advice?: string }

async function doctor(env: Record<string, string>): Promise<(about: string) => Finding | undefined> {
  const { out } = await berth(['doctor', '--json'], { BERTH_DNS_SERVERS: '127.0.0.1:1', ...env })
  const { findings } = JSON.parse(out) as { findings: Finding[] }
  return (about) => findings.find((finding) => finding.about === about)
}

test('each unknown BERTH_ variable has a line of the greeting, with the setting it may mean, and does not stop the start', async (t) => {
  const home = await newHome(t, 'sqlite')
  const env = { BERTH_PORT: 'tcp://10.0.0.1:80', BERTH_OPERATR_TOKEN: 'hunter2', 'BERTH_XYZZY\nXYZZY': '1' }
  const running = await startService(t, home, env)
  assert.equal(await running.kill('SIGTERM'), 0)
  const told = running
    .out()
    .split('\n')
    .filter((line) => line.includes('is not a setting'))
  assert.deepEqual(told, [
    'warning: BERTH_OPERATR_TOKEN is not a setting; did you mean BERTH_OPERATOR_TOKEN?',
    'warning: BERTH_PORT is not a setting; did you mean PORT?',
    'warning: BERTH_XYZZY?XYZZY is not a setting',
  ])
  assert.equal(running.out().includes('hunter2'), false)
  const found = (await doctor({ ...home.env, ...env }))('settings')!
  assert.deepEqual([found.is, found.found.startsWith('BERTH_OPERATR_TOKEN is not a setting')], ['worry', true])
})

test('the start and the doctor warn where sites share a registrable domain with the API', async (t) => {
  const home = await newHome(t, 'sqlite')
  const env = { BERTH_PUBLIC_URL: 'https://berth.example.com', BERTH_PLATFORM_SUFFIX: 'apps.example.com' }
  const warningsOf = async (more: Record<string, string>) => {
    const running = await startService(t, home, { ...env, ...more })
    assert.equal(await running.kill('SIGTERM'), 0)
    const lines = running.out().split('\n')
    return lines.filter((line) => line.startsWith('warning: ')).map((line) => line.slice(0, 50))
  }
  assert.deepEqual(await warningsOf({}), ['warning: sites below apps.example.com share the do'])
  assert.deepEqual(await warningsOf({ BERTH_PLATFORM_SUFFIX_SHARED: '1' }), [])
  const found = async (more: Record<string, string>) =>
    (await doctor({ ...home.env, ...env, ...more }))('platform suffix')!
  assert.equal((await found({})).is, 'worry')
  assert.equal((await found({ BERTH_PLATFORM_SUFFIX_SHARED: '1' })).is, 'well')
})

test('each setting of the table is known', async (t) => {
  const home = await newHome(t, 'sqlite')
  const env = Object.fromEntries(Object.keys(SETTINGS).map((name) => [name, '']))
  assert.equal((await doctor({ ...env, ...home.env }))('settings')!.is, 'well')
})

test('a BERTH_DATA that is a file and a backup that is missing are named in the error', async (t) => {
  const home = await newHome(t, 'sqlite')
  mkdirSync(home.folder)
  const file = join(home.folder, 'file')
  writeFileSync(file, '')
  const { code, err } = await runUntilExit(t, home, { BERTH_DATA: file })
  assert.deepEqual([code, err], [78, `berth: BERTH_DATA must be a folder, and ${file} is a file\n`])
  assert.match((await doctor({ ...home.env, BERTH_DATA: file }))('folder')!.found, /which is a file/)
  const restored = await berth(['restore', join(home.folder, 'nofile.db')], home.env)
  assert.equal(restored.code, 1)
  assert.match(restored.err, /nofile\.db is not there: name a file that berth backup wrote\n$/)
})

test('a keyring that is none ends the start with 78 and names BERTH_KEYS', async (t) => {
  const home = await newHome(t, 'sqlite')
  const file = join(home.folder, 'none.json')
  mkdirSync(home.folder)
  writeFileSync(file, 'no JSON', { mode: 0o600 })
  for (const BERTH_KEYS of [file, '{"keys":[]}', '{"keys":'] as const) {
    const { code, err } = await runUntilExit(t, home, { BERTH_KEYS })
    assert.deepEqual([code, err.startsWith('berth: BERTH_KEYS'), err.split('\n').length], [78, true, 2], err)
  }
})

for (const engine of ENGINES)
  test(`no keyring is made in a folder that is not there: its disk may not be mounted [${engine}]`, async (t) => {
    const home = await newHome(t, engine)
    const folder = join(home.folder, '..', 'unmounted')
    const env = { BERTH_KEYS: join(folder, 'keys.json') }
    const refused = await runUntilExit(t, home, env)
    assert.deepEqual([refused.code, refused.err.split('\n').length], [78, 2], refused.err)
    assert.match(refused.err, /^berth: BERTH_KEYS: the folder \S+unmounted of the keyring is not there.*Mount its disk/)
    assert.equal(existsSync(folder), false)
    mkdirSync(folder, { mode: 0o700 })
    t.after(() => rmSync(folder, { recursive: true, force: true }))
    const running = await startService(t, home, env)
    assert.equal(await running.kill('SIGTERM'), 0)
    assert.equal(existsSync(env.BERTH_KEYS), true)
  })

test('damaged pages of the store are reported by the doctor, and by a start that reads them', async (t) => {
  const home = await newHome(t, 'sqlite')
  assert.equal(await (await startService(t, home)).kill('SIGTERM'), 0)
  const file = join(home.folder, 'berth.db')
  const damage = (from: number) => {
    const handle = openSync(file, 'r+')
    for (let at = from; at < statSync(file).size; at += 4096) writeSync(handle, Buffer.alloc(3000, 0xa5), 0, 3000, at)
    closeSync(handle)
  }
  // The last page alone: no query of the doctor reads it.
  damage(statSync(file).size - 4096)
  const found = (await doctor(home.env))('database')!
  assert.deepEqual(
    [found.is, /is damaged/.test(found.found), /restore a backup/.test(found.advice!)],
    ['wrong', true, true],
  )
  damage(4096)
  const { code, err } = await runUntilExit(t, home)
  assert.equal(code, 1)
  assert.match(err, /^berth: .*berth\.db is damaged.*restore a backup \(docs\/backup\.md\)/)
})

test('the pages of a store that is too large to be read are not read, and that is said', async (t) => {
  const home = await newHome(t, 'sqlite')
  assert.equal(await (await startService(t, home)).kill('SIGTERM'), 0)
  // A hole takes no place on the disk. SQLite knows from the head of the file how many pages are its own.
  const size = (bytes: number) => truncateSync(join(home.folder, 'berth.db'), bytes)
  const found = async () => (await doctor(home.env))('database')!
  size(1024 ** 3)
  assert.deepEqual([(await found()).is, /too large/.test((await found()).found)], ['well', false])
  size(1024 ** 3 + 4096)
  assert.equal((await found()).is, 'well')
  assert.match(
    (await found()).found,
    /it is too large, or the machine too slow\. berth backup verify reads every page of a copy$/,
  )
})

/** A file system of `kib` KiB, or undefined where none can be mounted. */
function smallDisk(t: TestContext, kib: number): string | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'berth-small-'))
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${kib}k`, 'none', folder], { stdio: 'ignore' })
  } catch {
    rmSync(folder, { recursive: true })
    t.skip('SKIPPED LOUDLY: a small file system cannot be mounted here; it takes root')
    return undefined
  }
  t.after(() => {
    execFileSync('umount', ['-l', folder])
    rmSync(folder, { recursive: true })
  })
  return folder
}

test('a disk that is full at the first start or at a later one is named in the error', async (t) => {
  const disk = smallDisk(t, 4096)
  if (disk === undefined) return
  const home = {
    folder: join(disk, 'data'),
    env: { BERTH_DATA: join(disk, 'data'), PORT: '0', BERTH_EDGE_PORT: '0', BERTH_SITES_PORT: 'off' },
  }
  const fill = (keptBytes: number) => {
    try {
      writeFileSync(join(disk, 'fill'), Buffer.alloc(4096 * 1024))
    } catch {}
    if (keptBytes > 0) writeFileSync(join(disk, 'fill'), Buffer.alloc(4096 * 1024 - keptBytes))
  }
  for (const kept of [0, 200 * 1024]) {
    fill(kept)
    const { code, err } = await runUntilExit(t, home)
    assert.equal(code, 1)
    assert.match(err, /^berth: the disk of .* is full \(\d+ KiB free\): make room/, `${kept}: ${err}`)
    rmSync(home.folder, { recursive: true, force: true })
  }
  rmSync(join(disk, 'fill'))
  assert.equal(await (await startService(t, home)).kill('SIGTERM'), 0)
  fill(0)
  const { code, err } = await runUntilExit(t, home)
  assert.equal(code, 1)
  assert.match(err, /^berth: the disk of .* is full/)
})

test('a PostgreSQL that accepts connections and never answers is reported within seconds (a bound on time)', async (t) => {
  const silent = createServer(() => {}).listen(0, '127.0.0.1')
  await new Promise((resolve) => silent.once('listening', resolve))
  t.after(() => void silent.close())
  const { port } = silent.address() as { port: number }
  const before = performance.now()
  const found = await doctor({
    PORT: '0',
    DATABASE_URL: `postgres://a:hunter2@127.0.0.1:${port}/x`,
    BERTH_EDGE_PORT: 'off',
  })
  const tookMs = performance.now() - before
  t.diagnostic(`took ${Math.round(tookMs)} ms`)
  // Under 5 s on a quiet machine; one that waits for a hanging server in turn takes half a minute.
  assertWithin(tookMs, 15_000)
  assert.deepEqual([found('database')!.is, /cannot be used/.test(found('database')!.found)], ['wrong', true])
})

test('the doctor reports a public address that does not resolve, and tokens that are sent in plaintext', async () => {
  const at = async (env: Record<string, string>) =>
    (await doctor({ PORT: '0', BERTH_EDGE_PORT: 'off', BERTH_DATA: join(tmpdir(), 'berth-nowhere'), ...env }))(
      'address',
    )!
  const away = await at({ BERTH_PUBLIC_URL: 'https://berth.invalid' })
  assert.deepEqual([away.is, /berth\.invalid of BERTH_PUBLIC_URL does not resolve/.test(away.found)], ['wrong', true])
  const open = await at({ HOST: '0.0.0.0' })
  assert.deepEqual(
    [open.is, /unencrypted/.test(open.found), /BERTH_PUBLIC_URL/.test(open.advice!)],
    ['worry', true, true],
  )
  assert.equal((await at({ HOST: '0.0.0.0', BERTH_PUBLIC_URL: 'https://127.0.0.1' })).is, 'well')
  assert.equal((await at({})).is, 'well')
})

test('on a terminal the first start shows its tokens, and NO_COLOR keeps the log plain', {
  skip: hasTerminals ? false : 'SKIPPED LOUDLY: there is no script(1) to make a terminal with',
  timeout: 300_000,
}, async (t) => {
  for (const [colour, isColoured] of [
    [{ NO_COLOR: '1' }, false],
    [{ TERM: 'xterm-256color', FORCE_COLOR: '1' }, true],
  ] as const) {
    const home = await newHome(t, 'sqlite')
    const env = { PATH: process.env.PATH, ...home.env, ...colour }
    const child = spawn('script', ['-qec', `'${process.execPath}' '${join(root, 'bin', 'berth.mjs')}'`, '/dev/null'], {
      env,
    })
    t.after(() => child.kill('SIGKILL'))
    const closed = once(child, 'close')
    let stdout = ''
    let isTold = false
    child.stdout.on('data', (chunk) => {
      stdout += chunk
      // The greeting ends like this, and a log line may follow it. The terminal passes no signal on, so the service gets it directly.
      if (isTold || !/\/docs\s/.test(stdout)) return
      isTold = true
      process.kill(Number(readFileSync(join(home.folder, 'berth.db-pid'), 'utf8').split(' ')[0]))
    })
    await closed
    const { token, operatorToken } = credentialsOf(home)
    for (const secret of [token, operatorToken]) assert.ok(stdout.includes(secret), stdout)
    assert.match(stdout, /stopping/)
    assert.equal(stdout.includes('\x1b['), isColoured, JSON.stringify(stdout))
  }
})
