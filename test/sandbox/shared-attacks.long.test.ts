/** Attacks on what sandboxes share: counts of the user, and files of the host, each with a control. docs/sandbox.md. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chmodSync, chownSync, linkSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { INOTIFY_INSTANCES } from '../../src/sandbox/init-script.ts'
import { canRun, skipReason } from '../support/programs.ts'
import { RUN_AS } from './run-as.ts'
import { runInSandbox, sandboxSkipReason } from './sandbox-world.ts'

const PYTHON = '/usr/bin/python3'
const skip =
  sandboxSkipReason() || (canRun(PYTHON, '--version') ? false : skipReason('python3', 'python3', 'shared attacks'))

const INOTIFY = `import ctypes
held = 0
while held < 1000 and ctypes.CDLL(None).inotify_init() >= 0: held += 1
print(held)`

test('no command inside uses up what the kernel counts for a user', { skip, timeout: 300_000 }, async () => {
  const { output } = await runInSandbox(`${PYTHON} -c "${INOTIFY}"`)
  assert.equal(output, `${INOTIFY_INSTANCES}\n`)
  const outside = spawnSync(PYTHON, ['-c', INOTIFY], { encoding: 'utf8', cwd: '/', ...RUN_AS })
  assert.ok(Number(outside.stdout) > INOTIFY_INSTANCES, 'the control: the user has more')
})

/** A directory of the user of sandboxes, with a file. */
function openDirectory(t: TestContext): string {
  const parent = mkdtempSync(join(tmpdir(), 'berth-attacks-'))
  chmodSync(parent, 0o755)
  t.after(() => rmSync(parent, { recursive: true, force: true }))
  const directory = join(parent, 'shared')
  mkdirSync(directory)
  writeFileSync(join(directory, 'file'), 'x')
  if (RUN_AS !== undefined)
    for (const path of [directory, join(directory, 'file')]) chownSync(path, RUN_AS.uid, RUN_AS.gid)
  return directory
}

test('no command inside gets a hard link to a file that it may read, and through it changes the file', {
  skip,
  timeout: 300_000,
}, async (t) => {
  const directory = openDirectory(t)
  const script = `ln /host${directory}/file /work/mine && echo changed >> /work/mine && echo linked`
  const { output } = await runInSandbox(script, { readOnly: [directory] })
  assert.match(output, /Invalid cross-device link/)
  const control = 'ln /work/file /work/mine && echo changed >> /work/mine && echo linked'
  assert.match((await runInSandbox(control, { workDirectory: directory })).output, /^linked$/m, 'the control')
})

test('a source that were a hard link could be changed for all: so sources are copied (the control)', {
  skip,
  timeout: 300_000,
}, async (t) => {
  const directory = openDirectory(t)
  const work = join(directory, '..', 'work')
  mkdirSync(work)
  linkSync(join(directory, 'file'), join(work, 'file'))
  if (RUN_AS !== undefined) chownSync(work, RUN_AS.uid, RUN_AS.gid)
  const { output } = await runInSandbox('echo changed > file && cat file', { workDirectory: work })
  assert.equal(output, 'changed\n')
  assert.equal(spawnSync('cat', [join(directory, 'file')], { encoding: 'utf8' }).stdout, 'changed\n')
})

test('no command inside plants a socket or a link where the host looks names up', {
  skip,
  timeout: 300_000,
}, async (t) => {
  const directory = openDirectory(t)
  const script = `cd /host${directory}
ln -s /etc/passwd link || true
${PYTHON} -c "import socket; socket.socket(socket.AF_UNIX).bind('planted'); print('planted')"`
  const { output } = await runInSandbox(script, { readOnly: [directory] })
  assert.match(output, /link.*Read-only file system/)
  assert.match(output, /OSError: .*Read-only file system/)
  const writable = await runInSandbox(
    script,
    { readOnly: [directory] },
    {
      change: ({ options, command }) => ({
        options: options.map((word, at) => (word === '--ro-bind' && options[at + 1] === directory ? '--bind' : word)),
        command,
      }),
    },
  )
  assert.equal(writable.output, 'planted\n', 'the control')
})
