/** A copy of the work tree in which one mutant at a time is put, and the processes that run test files over it. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import {
  copyFileSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import pg from 'pg'
import { storesFolder } from '../../test/support/postgres.ts'
import type { Order, Word } from './tests-of-mutant.ts'

/** How a run of test files ended. `cannotLoad`: the sources cannot be loaded. */
export type Ran =
  | { how: 'passed' }
  | { how: 'failed' | 'timed out'; test: string; because: string }
  | { how: 'cannot load'; because: string }

export type Lane = {
  /** Runs the test files in this order, over the text instead of what the file holds, until the first failure. `limitMs`: for one file. */
  run(
    tests: readonly string[],
    limitMs: (test: string) => number,
    mutant?: { file: string; text: string },
  ): Promise<Ran>
  close(): Promise<void>
}

/**
 * Makes the copy `name` equal to the work tree, or opens the one that an earlier run left. Its compiled code is kept, so that a run compiles
 * the mutant alone. PostgreSQL is that of `BERTH_TEST_POSTGRES`; what a process leaves there goes when it ends. `stop` ends what runs, and
 * its `run` throws: its result means nothing.
 */
export async function openLane(root: string, folder: string, name: string, stop: AbortSignal): Promise<Lane> {
  const copy = join(folder, name)
  copyTree(root, copy)
  const database = await openRole(`mutations_${name.replaceAll('-', '_')}_${process.pid}`)
  let running: ChildProcess | undefined
  const kill = () => {
    // The processes that its tests started are of its group.
    if (running?.pid !== undefined) killGroup(running.pid)
  }
  process.on('exit', kill)
  stop.addEventListener('abort', kill)

  async function runIn(tests: readonly string[], limitMs: (test: string) => number): Promise<Ran> {
    const temporary = mkdtempSync(join(tmpdir(), 'berth-mutation-'))
    const stores = mkdtempSync(join(storesFolder(), 'berth-mutation-'))
    const order: Order = { root: copy, tests: [...tests] }
    // By this variable a process within a run of tests says what it does to that run, and not to its reporter.
    const { NODE_TEST_CONTEXT: _, ...env } = process.env
    const reporter = join(import.meta.dirname, 'first-failure.ts')
    running = spawn(
      process.execPath,
      [
        `--test-reporter=${reporter}`,
        '--test-reporter-destination=stdout',
        join(import.meta.dirname, 'tests-of-mutant.ts'),
      ],
      {
        cwd: copy,
        detached: true,
        stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
        env: {
          ...env,
          BERTH_TEST_POSTGRES: database.url,
          BERTH_TEST_STORES: stores,
          BERTH_MUTATION: JSON.stringify(order),
          NODE_COMPILE_CACHE: join(folder, `${name}-compiled`),
          TMPDIR: temporary,
        },
      },
    )
    try {
      const ran = await endOf(running, tests, limitMs)
      stop.throwIfAborted()
      return ran
    } finally {
      kill()
      running = undefined
      for (const left of [temporary, stores]) rmSync(left, { recursive: true, force: true, maxRetries: 3 })
      await database.dropAll()
    }
  }

  return {
    async run(tests, limitMs, mutant) {
      if (mutant === undefined) return runIn(tests, limitMs)
      const file = join(copy, mutant.file)
      const before = readFileSync(file)
      writeFileSync(file, mutant.text)
      try {
        return await runIn(tests, limitMs)
      } finally {
        writeFileSync(file, before)
      }
    },
    async close() {
      process.off('exit', kill)
      kill()
      await database.close()
    },
  }
}

/** Waits for the first failure, for a file that takes too long, or for the end. */
function endOf(child: ChildProcess, tests: readonly string[], limitMs: (test: string) => number): Promise<Ran> {
  return new Promise((resolve) => {
    let test = ''
    let said = ''
    let timer: NodeJS.Timeout | undefined
    const end = (ran: Ran) => {
      clearTimeout(timer)
      resolve(ran)
    }
    const limit = (ms: number) => {
      clearTimeout(timer)
      timer = setTimeout(
        () => end({ how: 'timed out', test, because: `it took longer than ${Math.round(ms / 1000)} s` }),
        ms,
      )
    }
    child.stderr!.setEncoding('utf8').on('data', (text: string) => {
      said = (said + text).slice(-2000)
    })
    child.on('message', (word: Word) => {
      if ('begins' in word) {
        test = word.begins
        limit(limitMs(test))
      } else if ('fails' in word) {
        // The next file may have started before the failure arrives. A file that cannot be imported is a test of its name.
        const of = tests.find((one) => word.file.endsWith(`/${one}`) || word.fails === one)
        end({ how: 'failed', test: of ?? test, because: word.fails })
      }
      if ('cannotLoad' in word) end({ how: 'cannot load', because: word.cannotLoad })
    })
    child.on('error', (error) => end({ how: 'cannot load', because: String(error) }))
    child.on('close', (code, signal) => {
      if (code === 0) end({ how: 'passed' })
      else if (test === '') end({ how: 'cannot load', because: said })
      else end({ how: 'failed', test, because: `the process ended with ${signal ?? code}: ${said.trim()}` })
    })
  })
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // Nothing of it runs any more.
  }
}

/** Makes `copy` hold what git would: the files of the work tree that it knows or would take, as they are now. */
function copyTree(root: string, copy: string): void {
  const words = ['ls-files', '--cached', '--others', '--exclude-standard']
  const { stdout, status } = spawnSync('git', words, { cwd: root, encoding: 'utf8', maxBuffer: 1 << 28 })
  if (status !== 0) throw new Error('git ls-files failed: the tests of mutants run in a copy of what git has')
  const wanted = new Set(stdout.split('\n').filter((file) => file !== '' && existsSync(join(root, file))))
  for (const file of globSync('{src,test,scripts,docs,bin,deploy}/**/*.*', { cwd: copy }))
    if (!wanted.has(file)) rmSync(join(copy, file), { recursive: true, force: true })
  for (const file of wanted) {
    const target = join(copy, file)
    // Untouched files keep their compiled code.
    if (existsSync(target) && readFileSync(target).equals(readFileSync(join(root, file)))) continue
    mkdirSync(dirname(target), { recursive: true })
    copyFileSync(join(root, file), target)
  }
  const modules = join(copy, 'node_modules')
  if (!existsSync(modules)) symlinkSync(join(root, 'node_modules'), modules)
  if (readdirSync(copy).length === 0) throw new Error(`nothing was copied to ${copy}`)
}

/** A user of the PostgreSQL of the run: what databases a process made is known by who owns them. */
async function openRole(name: string): Promise<{ url: string; dropAll(): Promise<void>; close(): Promise<void> }> {
  const server = process.env.BERTH_TEST_POSTGRES!
  const ask = async (statement: string) => {
    const client = new pg.Client({ connectionString: `${server}/postgres` })
    await client.connect()
    try {
      return (await client.query(statement)).rows as Record<string, string>[]
    } finally {
      await client.end()
    }
  }
  await ask(`create role ${name} superuser login password 'berth'`)
  const dropAll = async () => {
    const owned = `select datname from pg_database join pg_roles on pg_roles.oid = datdba where rolname = '${name}'`
    for (const { datname } of await ask(owned)) await ask(`drop database if exists "${datname}" with (force)`)
  }
  const url = new URL(server)
  url.username = name
  return {
    url: url.href.replace(/\/$/, ''),
    dropAll,
    close: async () => {
      await dropAll()
      await ask(`drop role ${name}`)
    },
  }
}
