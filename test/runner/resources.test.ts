/** A build yields to the machine, and one that uses more than its share is ended. docs/runner.md: Limits of a build. */
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { getPriority, tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { readDiskUsage } from '../../src/runner/resources/disk-usage.ts'
import { withBuildScore, yielding } from '../../src/runner/resources/priority.ts'
import {
  memoryOf,
  openProcessTable,
  type Process,
  parseStat,
  processesBelow,
} from '../../src/runner/resources/processes.ts'
import { mustCount, pauseAfterLook, watchResources } from '../../src/runner/resources/watch.ts'
import { createPlainSandbox } from '../../src/sandbox/plain-sandbox.ts'
import { DEFAULT_LIMITS } from '../../src/sandbox/policy.ts'

const skip = process.platform !== 'linux' && 'reads /proc'
const MIB = 1024 * 1024
const LIMITS = { memoryBytes: 2 ** 50, diskBytes: 2 ** 50, files: 2 ** 30 }

function folderOf(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'berth-resources-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Starts a command as a build is started. */
async function start(t: TestContext, command: [string, ...string[]]) {
  const sandbox = createPlainSandbox(folderOf(t))
  t.after(() => sandbox.destroy())
  const { workDirectory } = await sandbox.prepare()
  const env = { PATH: process.env.PATH! }
  const policy = { env, workDirectory, readOnly: [], network: 'none' as const, currentDirectory: workDirectory }
  withBuildScore(() => sandbox.start({ ...policy, command: yielding(command), limits: DEFAULT_LIMITS }))
  return { sandbox, workDirectory }
}

test('a line of a process is read by its fields, whatever its name', () => {
  const rest = '7 9 9 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 100 5000 321 18446744073709551615'
  assert.deepEqual(parseStat(`42 (a) R (b) S ${rest}`), { pid: 42, parent: 7, group: 9, pages: 321 })
  for (const none of ['', 'x', '42 (node) S 7']) assert.equal(parseStat(none), undefined)
})

test('the processes of a build are those below its first one, and those of its group', () => {
  const rows = [
    { pid: 1, parent: 0, group: 1, pages: 0 },
    { pid: 10, parent: 1, group: 10, pages: 0 },
    { pid: 11, parent: 10, group: 10, pages: 0 },
    { pid: 12, parent: 11, group: 12, pages: 0 },
    // Its parent has ended.
    { pid: 13, parent: 1, group: 10, pages: 0 },
    { pid: 20, parent: 1, group: 20, pages: 0 },
  ]
  assert.deepEqual(
    processesBelow(rows, 10)
      .map(({ pid }) => pid)
      .sort(),
    [10, 11, 12, 13],
  )
  assert.deepEqual(processesBelow(rows, 99), [])
})

test('memory is that of all processes, and what they share counts once', { skip, timeout: 300_000 }, async (t) => {
  const script = `const { spawn } = require('node:child_process')
    globalThis.kept = Buffer.alloc(${200 * MIB}, 1)
    console.log('ready')
    setInterval(() => {}, 1000)`
  const { sandbox } = await start(t, [process.execPath, '-e', script])
  for await (const chunk of sandbox.output()) if (String(chunk).includes('ready')) break
  const table = openProcessTable()
  const processes = processesBelow(table.read(), sandbox.pid()!)
  assert.ok(processes.length >= 2, 'the first process, and Node.js')
  const quick = await memoryOf(processes, 2 ** 50, table, t.signal)
  const shares = await memoryOf(processes, quick - 1, table, t.signal)
  assert.ok(shares > 200 * MIB && shares <= quick, `${shares} of ${quick}`)
})

/** So many processes whose memory is not what they seem to have. */
function rowsOf(count: number) {
  return Array.from({ length: count }, () => ({ pid: process.pid, parent: 1, group: 1, pages: 2 ** 40 }))
}

test('the shares of many processes are read between other work, and builds take turns', { skip }, async (t) => {
  const table = openProcessTable()
  const ended: string[] = []
  const look = async (name: string, count: number) => {
    const bytes = await memoryOf(rowsOf(count), 2 ** 50, table, t.signal)
    ended.push(name)
    return bytes
  }
  let turns = 0
  const both = Promise.all([look('large', 100), look('small', 2)])
  while (ended.length < 2) {
    await turn()
    turns++
  }
  const [large, small] = await both
  assert.deepEqual(ended, ['small', 'large'])
  assert.ok(small > 2 * MIB && large > small)
  assert.ok(turns >= 100, `${turns}`)
})

test('one share is read at a time', async () => {
  let [reads, most] = [0, 0]
  const table = openProcessTable(async ({ pages }) => {
    most = Math.max(most, ++reads)
    await turn()
    reads--
    return pages
  })
  assert.equal((await Promise.all(rowsOf(10).map(table.shareOf))).length, 10)
  assert.equal(most, 1)
})

test('shares are read until they are over the limit, or the build has ended', { skip }, async (t) => {
  const table = openProcessTable()
  const read: number[] = []
  const counted = {
    shareOf(one: Process) {
      read.push(one.pages)
      return table.shareOf(one)
    },
  }
  const rows = rowsOf(10).map((row, at) => ({ ...row, pages: at * 2 ** 40 }))
  assert.ok((await memoryOf(rows, MIB, counted, t.signal)) > MIB)
  assert.deepEqual(read, [9 * 2 ** 40], 'the largest is enough')
  await memoryOf(rows, 2 ** 50, counted, AbortSignal.abort())
  assert.equal(read.length, 1)
})

test('a look at memory that is slow is followed by a longer pause', () => {
  assert.deepEqual([0, 12, 20, 100, 12_000].map(pauseAfterLook), [250, 250, 400, 2000, 5000])
})

test('a build has a lower priority, and the kernel ends it first', { skip, timeout: 300_000 }, async (t) => {
  const own = readFileSync('/proc/self/oom_score_adj', 'utf8')
  const script = 'cat /proc/self/oom_score_adj; nice; echo 0 > /proc/self/oom_score_adj; cat /proc/self/oom_score_adj'
  const { sandbox } = await start(t, ['/bin/sh', '-c', script])
  const [score, niceness] = (await text(sandbox.output())).split('\n')
  assert.equal(Number(score), Math.max(500, Number(own)))
  assert.ok(Number(niceness) >= Math.min(19, getPriority() + 10))
  assert.equal(readFileSync('/proc/self/oom_score_adj', 'utf8'), own, 'the runner keeps its own')
})

test('a directory is counted by what it takes of the disk, with links and directories', { skip }, async (t) => {
  const folder = folderOf(t)
  mkdirSync(join(folder, 'a'))
  for (let at = 0; at < 10; at++) writeFileSync(join(folder, 'a', `${at}`), Buffer.alloc(100_000, 1))
  writeFileSync(join(folder, 'sparse'), '')
  truncateSync(join(folder, 'sparse'), 2 ** 40)
  const { bytes, files } = (await readDiskUsage(folder))!
  assert.equal(files, 13)
  assert.ok(bytes >= 1_000_000 && bytes < 2_000_000, `${bytes}`)
  assert.equal(await readDiskUsage(join(folder, 'missing')), undefined)
})

test('a directory is counted at once where the disk lost what is left to the build, and rarely where that takes long', () => {
  const limits = { ...LIMITS, diskBytes: 1000, files: 100 }
  const last = { usage: { bytes: 400, files: 40 }, freeBytes: 5000, freeFiles: 500, at: 0, tookMs: 10 }
  const counts = (freeBytes: number, freeFiles: number, now: number, tookMs = 10) =>
    mustCount({ ...last, tookMs }, { freeBytes, freeFiles }, limits, now)
  assert.ok(mustCount(undefined, { freeBytes: 1, freeFiles: 1 }, limits, 0))
  assert.ok(!counts(4400, 440, 1000), 'it is at its limit')
  assert.ok(counts(4399, 440, 1000), 'bytes')
  assert.ok(counts(4400, 439, 1000), 'files')
  assert.ok(counts(5000, 500, 10_000), 'it is time')
  assert.ok(!counts(0, 0, 10_000, 1000), 'counting takes at most 5 %')
  assert.ok(counts(0, 0, 20_000, 1000))
})

for (const [what, script, limits, code] of [
  [
    'memory',
    'k=[];setInterval(()=>k.push(Buffer.alloc(2**25,1)),20)',
    { memoryBytes: 400 * MIB },
    'BUILD_OUT_OF_MEMORY',
  ],
  [
    'disk',
    'fs.writeFileSync("x",Buffer.alloc(2**23,1));setInterval(()=>{},99)',
    { diskBytes: MIB },
    'BUILD_OUT_OF_DISK',
  ],
  ['files', 'for(i=0;i<500;i++)fs.mkdirSync(""+i);setInterval(()=>{},99)', { files: 400 }, 'BUILD_OUT_OF_DISK'],
] as const)
  test(`a build that uses too much is found: ${what}`, { skip, timeout: 300_000 }, async (t) => {
    const { sandbox, workDirectory: directory } = await start(t, [process.execPath, '-e', script])
    const watched = { pid: sandbox.pid(), directory, limits: { ...LIMITS, ...limits }, processes: openProcessTable() }
    const failure = await watchResources(watched, t.signal)
    assert.equal(failure?.code, code)
  })
