/** A small program with tests of its own, as a repository of git, for the tests of coverage and of mutants. */
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import type { TestContext } from 'node:test'
import { COVERAGE } from '../../../scripts/test/coverage/record.ts'
import { coverageFolder } from '../../../scripts/test/coverage/store.ts'
import { fillQueue, QUEUE } from '../../../scripts/test/queue.ts'
import { root } from '../../support/root.ts'

/** A repository of git with these files, committed, in a folder of its own. */
export function repository(t: TestContext, files: Record<string, string>): string {
  const folder = mkdtempSync(join(tmpdir(), 'berth-repository-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  for (const [file, text] of Object.entries({ '.gitignore': '.cache\nnode_modules\n', ...files }))
    write(folder, file, text)
  git(folder, 'init', '-q')
  git(folder, 'add', '.')
  git(folder, '-c', 'user.name=a', '-c', 'user.email=a@b.c', 'commit', '-qm', 'one')
  return folder
}

export function write(folder: string, file: string, text: string): void {
  mkdirSync(dirname(join(folder, file)), { recursive: true })
  writeFileSync(join(folder, file), text)
}

function git(folder: string, ...words: string[]): void {
  const { status, stderr } = spawnSync('git', words, { cwd: folder, encoding: 'utf8' })
  assert.equal(status, 0, stderr)
}

/** The source of the program whose lines the tests name. */
export const LIMIT = `export const MOST = 3

export function isWithin(count: number): boolean {
  return count < MOST
}

export function isEven(count: number): boolean {
  return count % 2 === 0
}

export function unused(count: number): boolean {
  return count > 7
}
`

/** A program in which `isWithin` is tested well, `isEven` is executed by a test that asserts nothing, and nothing executes `unused`. */
export function program(t: TestContext): string {
  const folder = repository(t, {
    'package.json': '{ "type": "module" }',
    'tsconfig.json': JSON.stringify({
      compilerOptions: {
        strict: true,
        noEmit: true,
        module: 'nodenext',
        target: 'esnext',
        types: [],
        allowImportingTsExtensions: true,
      },
    }),
    'src/limit.ts': LIMIT,
    'src/service.ts':
      "import { MOST } from './limit.ts'\nexport const services = Array.from({ length: MOST }, (_, at) => at)\n",
    'bin/child.mjs':
      "const { isWithin } = await import('../src/limit.ts')\nisWithin(1)\nsetInterval(() => {}, 1000)\nconsole.log('listening')\n",
    'test/limit.test.ts': `import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isWithin } from '../src/limit.ts'
test('two are within, three are not', () => assert.deepEqual([isWithin(2), isWithin(3)], [true, false]))
`,
    'test/even.test.ts': `import { test } from 'node:test'
import { isEven } from '../src/limit.ts'
test('it can be called', () => void isEven(2))
`,
    'test/child.test.ts': `import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
test('a process that is killed once it listens', async () => {
  const child = spawn(process.execPath, ['bin/child.mjs'], { env: { PATH: process.env.PATH }, stdio: ['ignore', 'pipe', 'inherit'] })
  await once(child.stdout!, 'data')
  await new Promise((done) => setTimeout(done, 1500))
  child.kill('SIGKILL')
  await once(child, 'close')
})
`,
  })
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  return folder
}

/** Runs test files of the program as a worker of `npm test -- --coverage` does. */
export async function record(t: TestContext, folder: string, files: string[]): Promise<void> {
  const queue = mkdtempSync(join(tmpdir(), 'berth-queue-'))
  t.after(() => rmSync(queue, { recursive: true, force: true }))
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  for (const worker of fillQueue(queue, folder, files, 1)) {
    const words = [join(queue, basename(worker))]
    const child = spawn(process.execPath, words, {
      cwd: folder,
      env: { ...env, [QUEUE]: queue, [COVERAGE]: coverageFolder(folder) },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let said = ''
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (said += text))
    const [code] = await once(child, 'close')
    assert.equal(code, 0, said)
  }
}
