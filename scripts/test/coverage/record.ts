/** Records, within a process of a run, which lines of src each test file executes: by V8's precise coverage, reset between files. */
import childProcess, { ChildProcess, type SpawnOptions } from 'node:child_process'
import { globSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { type Profiler, Session } from 'node:inspector'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { linesOf, packLines } from './lines.ts'
import { hashOf, keepEntry, keepLoaded, keepSource, type Loaded } from './store.ts'

/** The variable that has a run record, and names the folder of the map. Runs within a test do not get it. */
export const COVERAGE = 'BERTH_TEST_COVERAGE'
const CHILDREN = 'TEST_COVERAGE_CHILDREN'
const SOURCES = 'TEST_COVERAGE_SOURCES'

type Ran = Map<string, Set<number>>

/**
 * Begins to count, and loads all of src: what a module does when it is loaded would otherwise count for the test file that happens to
 * load it first. `end` keeps what ran since `begin`, in this process and in those that it started, for the test file `name`.
 */
export async function openRecording(
  root: string,
  folder: string,
): Promise<{ begin(): void; end(name: string, seconds: number): void }> {
  delete process.env[COVERAGE]
  const read = readSources(root)
  const take = startCounting(pathToFileURL(join(root, 'src')).href)
  for (const file of globSync('src/**/*.ts', { cwd: root })) {
    // What runs in a browser cannot be loaded here, and no test executes it here.
    await import(pathToFileURL(join(root, file)).href).catch(() => {})
  }
  const loaded = new Map<string, Set<number>>()
  add(loaded, read, take(), true)
  keepLoaded(folder, packed(loaded, read))
  const preload = `--import=${pathToFileURL(join(import.meta.dirname, 'child.mjs')).href}`
  const env: Record<string, string> = {
    [SOURCES]: pathToFileURL(join(root, 'src')).href,
    NODE_OPTIONS: [process.env.NODE_OPTIONS, preload].filter(Boolean).join(' '),
  }
  giveChildren(env)
  return {
    begin() {
      env[CHILDREN] = mkdtempSync(join(tmpdir(), 'berth-coverage-'))
      take()
    },
    end(test, seconds) {
      // A run within a test has files of its own.
      if (test.startsWith('..')) return
      const ran: Ran = new Map()
      for (const name of readdirSync(env[CHILDREN]!)) {
        add(ran, read, JSON.parse(readFileSync(join(env[CHILDREN]!, name), 'utf8')), false)
      }
      // A process loads what it runs: lines that run at that count for a test that runs them in its own process.
      for (const [file, lines] of ran) ran.set(file, lines.difference(loaded.get(file) ?? new Set()))
      rmSync(env[CHILDREN]!, { recursive: true, force: true })
      add(ran, read, take(), false)
      const sources = packed(ran, read)
      for (const [file, { hash }] of Object.entries(sources)) keepSource(folder, hash, read(file).text)
      keepEntry(folder, { test, hash: hashOf(readFileSync(join(root, test), 'utf8')), seconds, sources })
    },
  }

  function add(into: Ran, read: Read, scripts: readonly Profiler.ScriptCoverage[], withModule: boolean): void {
    for (const { url, functions } of scripts) {
      const file = relative(root, fileURLToPath(url)).replaceAll('\\', '/')
      const lines = linesOf(read(file).text, functions, withModule)
      if (lines.length > 0) into.set(file, (into.get(file) ?? new Set()).union(new Set(lines)))
    }
  }
}

type Read = (file: string) => { text: string; hash: string }

/** Sources as they were when the process began with them. */
function readSources(root: string): Read {
  const known = new Map<string, { text: string; hash: string }>()
  return (file) => {
    const found = known.get(file)
    if (found !== undefined) return found
    const text = readFileSync(join(root, file), 'utf8')
    const source = { text, hash: hashOf(text) }
    known.set(file, source)
    return source
  }
}

/** Counts in this process from now on; gives what ran since the call before, of the scripts below `sources`. */
function startCounting(sources: string): () => Profiler.ScriptCoverage[] {
  const session = new Session()
  session.connect()
  session.post('Profiler.enable')
  session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })
  return () => {
    let taken: Profiler.ScriptCoverage[] = []
    // Within one thread the answer is there when `post` returns.
    session.post('Profiler.takePreciseCoverage', (error, { result }) => {
      if (error) throw error
      taken = result.filter(({ url }) => url.startsWith(sources))
    })
    return taken
  }
}

function packed(ran: Ran, read: Read): Loaded {
  const files = [...ran].filter(([, lines]) => lines.size > 0).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(files.map(([file, lines]) => [file, { hash: read(file).hash, lines: packLines(lines) }]))
}

/** Runtime options of a child, added to those of its test. */
function besideOptions(env: Record<string, string>, own: string | undefined): Record<string, string> {
  if (own === undefined || own === process.env.NODE_OPTIONS) return env
  return { ...env, NODE_OPTIONS: `${own} ${env.NODE_OPTIONS}` }
}

/** Has every process that is started from here on get these variables too: most tests say themselves what the environment is. */
function giveChildren(env: Record<string, string>): void {
  type Options = SpawnOptions & { envPairs?: string[] }
  const prototype = ChildProcess.prototype as unknown as { spawn(options: Options): unknown }
  const { spawn } = prototype
  prototype.spawn = function (options) {
    const said = (options.envPairs ?? []).find((pair) => pair.startsWith('NODE_OPTIONS='))
    const given = besideOptions(env, said?.slice('NODE_OPTIONS='.length))
    // The last of two pairs of one name would not win everywhere.
    const kept = (options.envPairs ?? []).filter(
      (pair) => !Object.keys(given).some((name) => pair.startsWith(`${name}=`)),
    )
    const pairs = Object.entries(given).map(([name, value]) => `${name}=${value}`)
    return spawn.call(this, { ...options, envPairs: [...kept, ...pairs] })
  }
  const synchronous = childProcess as unknown as Record<string, (...words: unknown[]) => unknown>
  for (const name of ['spawnSync', 'execFileSync', 'execSync']) {
    const original = synchronous[name]!
    synchronous[name] = (...words) => {
      const at = words.findLastIndex((word) => typeof word === 'object' && word !== null && !Array.isArray(word))
      const options = (at < 0 ? {} : words[at]) as SpawnOptions
      const own = options.env ?? process.env
      const given = { ...options, env: { ...own, ...besideOptions(env, own.NODE_OPTIONS) } }
      return original(...(at < 0 ? [...words, given] : words.with(at, given)))
    }
  }
  syncBuiltinESMExports()
}
