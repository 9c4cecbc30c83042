/** A disk that is full, and one that fails. docs/spec/reliability.md D5, F4, F5. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { credentialsOf, newHome, type RunningService, type ServiceHome, startService } from '../support/process.ts'
import { root } from '../support/root.ts'
import { type Fault, type Run, repeat } from './fault.ts'
import { checkAll, mustBeAnswers, startAndCount, untilWritten } from './kill.ts'
import { openLedger } from './ledger.ts'
import { sayOnce } from './line.ts'
import { type Load, startLoad } from './load.ts'
import { moveToFolder } from './postgres-server.ts'
import { endTraced, traced, whyNoStrace } from './strace.ts'

/** MiB: a new store and room to grow; on PostgreSQL its tables and indexes start larger. */
const SIZE = { sqlite: 12, postgres: 40 }

export const diskFull: Fault = {
  name: 'disk full',
  engines: ['sqlite', 'postgres'],
  cannot: whyNoMount,
  run: fillAndFree,
}

export const diskFails: Fault = {
  name: 'EIO on fsync',
  engines: ['sqlite'],
  cannot: whyNoStrace,
  run: failFsync,
}

/** Undefined where a small file system can be mounted. */
export function whyNoMount(): string | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'berth-mount-'))
  try {
    mount(folder, 1)
    execFileSync('umount', [folder], { stdio: 'ignore' })
    return undefined
  } catch {
    return 'a small file system cannot be mounted here: it takes root'
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Mounts a file system of so many MiB. Throws where this process may not. */
export function mount(folder: string, mebibytes: number): void {
  const options = `size=${mebibytes}m,mode=0700`
  execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'none', folder], { stdio: 'ignore' })
}

/** A store on a small file system: on PostgreSQL a tablespace, for a full disk under its log ends the server, which is another fault. */
async function openSmallStore(run: Run, folder: string): Promise<{ home: ServiceHome; close(): Promise<void> }> {
  const { env, folder: data } = await newHome(run, run.engine)
  if (run.engine === 'postgres') {
    const close = await moveToFolder(env.DATABASE_URL!, folder)
    return { home: { folder: data, env }, close }
  }
  const small = join(folder, 'data')
  const home = { folder: small, env: { ...env, BERTH_DATA: small, DATABASE_URL: `sqlite:${join(small, 'berth.db')}` } }
  return { home, close: async () => {} }
}

async function fillAndFree(run: Run): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'berth-full-'))
  mount(folder, SIZE[run.engine])
  run.after(() => {
    execFileSync('umount', ['-l', folder])
    rmSync(folder, { recursive: true, force: true })
  })
  const { home, close } = await openSmallStore(run, folder)
  try {
    await fillOftenAndFree(run, folder, home)
  } finally {
    await close()
  }
}

async function fillOftenAndFree(run: Run, folder: string, home: ServiceHome): Promise<void> {
  const { found } = run
  const running = await startAndCount(run, home)
  found.recoveriesMs = []
  const ledger = openLedger()
  await repeat(run, run.short ? 2 : 10, async (at) => {
    const load = startLoad(home, [running.address], ledger, { prefix: `f${at}` })
    await untilWritten(load, 20)
    const ballast = fill(folder)
    await untilEnd(load, '507 storage_full', 20)
    await mustRead(run, running, home)
    const before = load.acknowledgedSince()
    rmSync(ballast)
    const freed = performance.now()
    await untilWritten(load, before + 1)
    found.recoveriesMs.push(performance.now() - freed)
    load.stop()
    await load.ended
    mustBeAnswers(run, load, run.engine === 'sqlite' ? /^507 storage_full$/ : /^(507 storage_full|503 busy)$/)
    await checkAll(run, home, running, ledger, `full disk ${at + 1}`)
  })
  found.acknowledged += ledger.acknowledged
  if (running.child.exitCode !== null) found.broken.push('the program ended while the disk was full')
  await running.kill('SIGTERM')
  const again = await startAndCount({ ...run, found: { ...found, recoveriesMs: [] } }, home)
  await checkAll(run, home, again, ledger, 'after a start')
  await again.kill('SIGTERM')
}

/** Takes all that is free. Gives the file that holds it. */
export function fill(folder: string): string {
  const file = join(folder, 'ballast')
  const { bfree, bsize } = statfsSync(folder)
  writeFileSync(file, '')
  for (let bytes = bfree * bsize; bytes > 0; bytes = Math.floor(bytes / 2)) {
    try {
      writeFileSync(file, Buffer.alloc(bytes), { flag: 'a' })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
    }
  }
  return file
}

async function untilEnd(load: Load, end: string, many: number): Promise<void> {
  for (let waited = 0; (load.ends.get(end) ?? 0) < many; waited += 5) {
    load.mustRun()
    if (waited > 60_000) throw new Error(`the load did not get ${end} in 60 s: ${JSON.stringify([...load.ends])}`)
    await sleep(5)
  }
}

/** While nothing can be written, everything can be read. */
async function mustRead(run: Run, running: RunningService, home: ServiceHome): Promise<void> {
  const { token } = credentialsOf(home)
  for (let at = 0; at < 20; at++) {
    const said = await sayOnce(running.address, 'GET', '/v9/projects?limit=100', token)
    if (said.status !== 200) run.found.broken.push(`a read on a full disk: ${JSON.stringify(said).slice(0, 200)}`)
  }
}

/**
 * The Nth fsync fails. In a start: the process exits with a message. In a commit: it exits on its own. In a checkpoint, which SQLite
 * repeats automatically and no data depends on until then: it may continue. The next process has all acknowledged writes.
 */
async function failFsync(run: Run): Promise<void> {
  const { found } = run
  const home = await newHome(run, 'sqlite')
  const ledger = openLedger()
  const failed = { start: 0, commit: 0, checkpoint: 0 }
  await (await startAndCount(run, home)).kill('SIGTERM')
  await repeat(run, run.short ? 2 : 20, async (at) => {
    const when = 3 + Math.floor(Math.random() * 40)
    const trace = join(home.folder, '..', `trace-${at}`)
    const more = ['-s', '0', '-e', 'trace=pwrite64,fsync', '-e', `inject=fsync:error=EIO:when=${when}`]
    const program = [process.execPath, join(root, 'bin', 'berth.mjs')]
    const running = await startService(run, home, {}, traced(trace, program, more)).catch(mustSay('EIO'))
    if (running === undefined) failed.start++
    else
      failed[
        await failUnderLoad(run, running, trace, startLoad(home, [running.address], ledger, { prefix: `e${at}` }))
      ]++
    const again = await startAndCount(run, home)
    await checkAll(run, home, again, ledger, `fsync ${when} of start ${at + 1} failed`)
    await again.kill('SIGTERM')
  })
  found.acknowledged += ledger.acknowledged
  found.notes.push(
    `${failed.commit} times the fsync of a commit failed, ${failed.checkpoint} times that of a checkpoint, ${failed.start} times one of a start`,
  )
}

/** A program that did not start must have said why. Throws what was said instead. */
function mustSay(code: string) {
  return (error: Error): undefined => {
    if (!error.message.includes(code)) throw error
  }
}

/** Waits until an fsync fails under the load, and for what must follow. */
async function failUnderLoad(
  run: Run,
  running: RunningService,
  trace: string,
  load: Load,
): Promise<'commit' | 'checkpoint'> {
  const ended = new Promise<number | null>((resolve) => running.child.once('close', resolve))
  const what = await untilFailed(trace)
  const code = what === 'commit' ? await Promise.race([ended, sleep(30_000, 'none' as const)]) : undefined
  load.stop()
  if (what === 'commit' && code !== 1)
    run.found.broken.push(`a commit's fsync failed, and the program ended with ${code}`)
  if (running.child.exitCode === null) await endTraced(running)
  await load.ended
  mustBeAnswers(run, load, /^(ECONNRESET|ECONNREFUSED|EPIPE|500 .*)$/)
  return what
}

/** What the fsync that failed was for: that of a commit comes right behind what it wrote to the log. */
async function untilFailed(trace: string): Promise<'commit' | 'checkpoint'> {
  for (let waited = 0; waited < 60_000; waited += 100) {
    const lines = readFileSync(trace, 'utf8').split('\n')
    const at = lines.findIndex((line) => line.includes('(INJECTED)'))
    if (at >= 0) {
      const own = lines.slice(0, at).filter((line) => line.split(' ')[0] === lines[at]!.split(' ')[0])
      const before = own.findLast((line) => !line.includes('fsync(')) ?? ''
      const between = own.slice(own.lastIndexOf(before) + 1).filter((line) => line.endsWith(' = 0'))
      return /^\d+ +pwrite64\(\d+<[^>]*\\x2d\\x77\\x61\\x6c>/.test(before) && between.length === 0
        ? 'commit'
        : 'checkpoint'
    }
    await sleep(100)
  }
  throw new Error('no fsync failed in 60 s')
}
