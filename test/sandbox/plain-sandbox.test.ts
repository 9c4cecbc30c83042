/** The trusted kind: no isolation, and the same life as the sandboxed kind. docs/sandbox.md: The trusted kind. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { createSandbox } from '../../src/sandbox/create.ts'
import { DEFAULT_LIMITS } from '../../src/sandbox/policy.ts'
import { eventually } from '../support/eventually.ts'

const skip = process.platform === 'linux' ? false : 'runs are recognized by /proc'

async function start(t: TestContext, script: string, env: Record<string, string> = {}) {
  const parent = mkdtempSync(join(tmpdir(), 'berth-plain-'))
  t.after(() => rmSync(parent, { recursive: true, force: true }))
  const sandbox = createSandbox('trusted', parent, undefined)
  t.after(() => sandbox.destroy())
  const { workDirectory, insideWork } = await sandbox.prepare()
  sandbox.start({
    command: ['sh', '-c', script],
    env: { PATH: '/usr/bin:/bin', ...env },
    workDirectory,
    readOnly: ['/usr'],
    network: 'none',
    currentDirectory: insideWork,
    limits: DEFAULT_LIMITS,
  })
  return { sandbox, parent, workDirectory, insideWork }
}

function isAlive(pid: number): boolean {
  try {
    return !readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ')
  } catch {
    return false
  }
}

test('a command runs in its directory with the environment of the policy, and its exit is reported', {
  skip,
}, async (t) => {
  const { sandbox, insideWork, workDirectory } = await start(t, 'pwd; echo $GREETING; echo wrong >&2; exit 7', {
    GREETING: 'hello',
  })
  const [output, exit] = await Promise.all([text(sandbox.output()), sandbox.wait()])
  assert.deepEqual(exit, { code: 7, signal: null })
  assert.deepEqual(output.split('\n').sort(), ['', 'hello', insideWork, 'wrong'].sort())
  assert.equal(insideWork, workDirectory)
  assert.equal(sandbox.inside('/usr/lib'), '/usr/lib', 'there are no mounts')
})

test('all output arrives, also where it is read after the end', { skip, timeout: 300_000 }, async (t) => {
  const { sandbox } = await start(t, 'head -c 100000 /dev/zero')
  await sandbox.wait()
  // Longer than the wait for output that is never sent.
  await sleep(1200)
  let bytes = 0
  for await (const chunk of sandbox.output()) bytes += chunk.length
  assert.equal(bytes, 100_000)
})

test('what a command left in the background ends with it', { skip, timeout: 300_000 }, async (t) => {
  const { sandbox, workDirectory } = await start(t, 'sleep 1000 & echo $! > pid')
  await sandbox.wait()
  const pid = Number(readFileSync(join(workDirectory, 'pid'), 'utf8'))
  assert.ok(pid > 0)
  await eventually(() => !isAlive(pid))
})

test('destroy ends the whole group and removes the directory, and may be called again', {
  skip,
  timeout: 300_000,
}, async (t) => {
  const { sandbox, parent, workDirectory } = await start(t, 'sleep 1000 & echo $! > pid; wait')
  const file = join(workDirectory, 'pid')
  await eventually(() => readdirSync(workDirectory).includes('pid') && readFileSync(file, 'utf8').endsWith('\n'))
  const pid = Number(readFileSync(file, 'utf8'))
  writeFileSync(join(workDirectory, 'result'), 'x')
  await sandbox.destroy()
  assert.deepEqual(readdirSync(parent), [])
  await eventually(() => !isAlive(pid))
  await sandbox.destroy()
  assert.deepEqual(await sandbox.wait(), { code: null, signal: 'SIGKILL' })
})

test('a tree that is deeper than a path may be long, or has no rights, is removed', { skip }, async (t) => {
  const deep = "for (let i = 0; i < 40; i++) { fs.mkdirSync('d'.repeat(200)); process.chdir('d'.repeat(200)) }"
  const script = `mkdir closed; touch closed/file; chmod 0 closed; exec "${process.execPath}" -e "${deep}"`
  const { sandbox, parent } = await start(t, script)
  assert.deepEqual(await sandbox.wait(), { code: 0, signal: null })
  await sandbox.destroy()
  assert.deepEqual(readdirSync(parent), [])
})

test('a command has no descriptor that the service inherited', { skip }, async (t) => {
  const script = `
    import { createSandbox } from '${new URL('../../src/sandbox/create.ts', import.meta.url).href}'
    const sandbox = createSandbox('trusted', process.argv[1], undefined)
    await sandbox.prepare()
    sandbox.start({ command: ['readlink', '/proc/self/fd/40'], env: { PATH: '/usr/bin:/bin' }, currentDirectory: '/' })
    sandbox.output().pipe(process.stdout)
    await sandbox.wait()
    await sandbox.destroy()`
  const parent = mkdtempSync(join(tmpdir(), 'berth-plain-'))
  t.after(() => rmSync(parent, { recursive: true, force: true }))
  // Node.js closes what it inherits up to the first gap above 15.
  const inherited = openSync('/dev/zero', 'r')
  t.after(() => closeSync(inherited))
  const stdio = ['ignore', 'pipe', 'pipe', ...Array.from({ length: 37 }, () => 'ignore' as const), inherited] as const
  const words = ['--input-type=module', '-e', script, parent]
  const { stdout, stderr } = spawnSync(process.execPath, words, { encoding: 'utf8', stdio: [...stdio] })
  assert.equal(stdout, '/dev/null\n', stderr)
})
