/**
 * After a failed fsync the system may read from memory what never reached the disk. A start must put it there before anything is
 * added to it, and the folders that it makes last. docs/faults.md: After a failed fsync; docs/faults.md.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { openSqlite } from '../../../src/platform/db/sqlite/open.ts'
import { openDisk } from '../../faults/disk.ts'
import { endTraced, traced, whyNoStrace } from '../../faults/strace.ts'
import { type Call, readTrace } from '../../faults/trace.ts'
import {
  credentialsOf,
  newHome,
  type RunningService,
  type ServiceHome,
  sendRequest,
  startService,
} from '../../support/process.ts'
import { root } from '../../support/root.ts'

const PROGRAM = [process.execPath, join(root, 'bin', 'berth.mjs')]
const skip = whyNoStrace() ?? false

test('what a log holds in memory alone is on disk before a start adds to it, also while another program reads [sqlite]', {
  skip,
}, async (t) => {
  const home = await newHome(t, 'sqlite')
  const first = await startService(t, home)
  await create(home, first, 'early', 20)
  const kept = readFileSync(join(home.folder, 'berth.db-wal'))
  await create(home, first, 'late', 20)
  const database = readFileSync(join(home.folder, 'berth.db'))
  const reader = await readMeanwhile(t, join(home.folder, 'berth.db'))
  await first.kill('SIGKILL')
  const log = readFileSync(join(home.folder, 'berth.db-wal'))
  assert.deepEqual(log.subarray(0, kept.length), kept, 'the log was restarted: write less')
  assert.ok(log.length > kept.length)

  const trace = join(home.folder, '..', 'trace')
  const second = await startService(t, home, {}, traced(trace, PROGRAM, ['-s', '65536']))
  await create(home, second, 'after', 5)
  await endTraced(second)
  assert.equal(reader.exitCode, null, 'the reader left before the start')
  const calls = await readTrace(trace, home.folder)
  const answered = calls.findLastIndex(({ kind }) => kind === 'answer')
  const lost = (calls: Call[]) => namesAfterCut(home.folder, { 'berth.db': database, 'berth.db-wal': kept }, calls)
  for (let cut = 0; cut < 20; cut++) {
    const names = await lost(calls.slice(0, answered + 1))
    assert.deepEqual(names, [...numbered('after', 5), ...numbered('early', 20), ...numbered('late', 20)].sort())
  }
  // Wherever the start is cut, the store opens with what had been acknowledged.
  for (let at = 0; at < answered; at += 1 + Math.floor(answered / 40)) {
    const names = await lost(calls.slice(0, at))
    for (const name of numbered('early', 20)) assert.ok(names.includes(name), `cut at call ${at}: ${name} is lost`)
  }
})

test('the folders that a start makes are there after a power cut [sqlite]', { skip }, async (t) => {
  const home = await newHome(t, 'sqlite')
  const folder = join(home.folder, 'of', 'berth')
  const above = dirname(home.folder)
  const trace = join(above, 'trace')
  const env = { BERTH_DATA: folder, DATABASE_URL: `sqlite:${join(folder, 'berth.db')}` }
  const running = await startService(t, home, env, traced(trace, PROGRAM))
  await endTraced(running)
  const calls = await readTrace(trace, above)
  const before = calls.slice(
    0,
    calls.findIndex(({ kind }) => kind === 'greeting'),
  )
  const synced = before.flatMap((call) => (call.kind === 'sync' ? [call.path] : []))
  for (const path of [above, home.folder, join(home.folder, 'of'), folder])
    assert.ok(synced.includes(path), `${path} is not synced`)
})

async function create(home: ServiceHome, running: RunningService, name: string, count: number): Promise<void> {
  const { token } = credentialsOf(home)
  for (const one of numbered(name, count))
    assert.equal((await sendRequest(running, token, 'POST', '/v10/projects', { name: one }))?.status, 200)
}

function numbered(name: string, count: number): string[] {
  return Array.from({ length: count }, (_, at) => `${name}-${at}`)
}

/** Another program with a snapshot of the store, until the test ends. */
async function readMeanwhile(t: TestContext, file: string) {
  const script = `const db = new (require('node:sqlite').DatabaseSync)(process.argv[1], { readOnly: true })
    db.exec('BEGIN'); db.prepare('select count(*) from project').get(); console.log('reading'); setInterval(() => db, 1e6)`
  const child = spawn(process.execPath, ['-e', script, file], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.after(() => child.kill('SIGKILL'))
  await once(child.stdout, 'data')
  return child
}

/** The names of the projects in what a power cut leaves, behind these calls, of a disk that had these files. */
async function namesAfterCut(folder: string, files: Record<string, Buffer>, calls: Call[]): Promise<string[]> {
  const disk = openDisk()
  for (const [name, bytes] of Object.entries(files)) {
    disk.apply({ kind: 'write', path: join(folder, name), offset: 0, bytes })
    disk.apply({ kind: 'sync', path: join(folder, name) })
  }
  disk.apply({ kind: 'sync', path: folder })
  for (const call of calls) disk.apply(call)
  const image = mkdtempSync(join(tmpdir(), 'berth-lost-'))
  try {
    mkdirSync(image, { recursive: true })
    for (const [path, bytes] of disk.cut()) writeFileSync(join(image, basename(path)), bytes)
    const db = await openSqlite({ file: join(image, 'berth.db'), onDiskError: assert.ifError })
    try {
      return (await db.read.selectFrom('project').select('name').orderBy('name').execute()).map(({ name }) => name)
    } finally {
      await db.close()
    }
  } finally {
    rmSync(image, { recursive: true })
  }
}
