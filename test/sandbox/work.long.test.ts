/** What users do works inside: a clone from a server of the test's own. docs/sandbox.md. */
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { canRun, skipReason } from '../support/programs.ts'
import { labSkipReason, openLab } from './lab.ts'

const GIT = labSkipReason() || (canRun('git', '--version') ? false : skipReason('git', 'git', 'clones in sandboxes'))
function openDirectory(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'berth-work-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

test('git clones from a server of the network', { skip: GIT, timeout: 300_000 }, async (t) => {
  const lab = await openLab(t)
  const directory = openDirectory(t)
  const repository = join(directory, 'site')
  mkdirSync(repository)
  writeFileSync(join(repository, 'index.html'), 'from the repository')
  const commit = 'git init -q && git add . && git -c user.name=t -c user.email=t@example.com commit -qm one'
  assert.equal(spawnSync('sh', ['-c', commit], { cwd: repository, stdio: 'inherit' }).status, 0)
  const [program, ...words] = lab.internetWords(
    ...['git', '-c', 'safe.directory=*', 'daemon', '--export-all', '--reuseaddr', `--base-path=${directory}`],
  )
  const daemon = spawn(program!, words, { stdio: 'ignore' })
  t.after(() => daemon.kill('SIGKILL'))
  const script = `for try in 1 2 3 4 5 6 7 8 9; do git clone -q git://192.88.7.7/site && break; sleep 1; done; cat site/index.html`
  const { output, code } = await lab.inSandbox(script)
  assert.equal(code, 0, output)
  assert.match(output, /from the repository$/)
})
