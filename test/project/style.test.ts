/** The rules of docs/style.md that a program can check. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join, normalize, relative } from 'node:path'
import { test } from 'node:test'
import { root } from '../support/root.ts'

const sources = filesBelow('src').map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }))
/** Wings whose folders have a line of their own. docs/architecture.md: Folders. */
const WINGS_OF_FOLDERS = new Set(['platform', 'projects', 'integrations', 'accounts', 'operations', 'cli'])

/** Value imports of a file: what it names, resolved to a path below the root when it is ours. Types leave no trace at run time. */
function importsOf({ path, text }: { path: string; text: string }): string[] {
  const found = [...text.matchAll(/^import (?!type )[^'"]*?['"]([^'"]+)['"]|import\(['"]([^'"]+)['"]\)/gms)]
  return found.map(([, named, lazy]) => {
    const name = named ?? lazy!
    return name.startsWith('.') ? normalize(join(dirname(path), name)) : name
  })
}

function offenders(rule: (file: { path: string; text: string }, named: string) => boolean): string[] {
  return sources.flatMap((file) =>
    importsOf(file)
      .filter((named) => rule(file, named))
      .map((named) => `${file.path} imports ${named}`),
  )
}

function filesBelow(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
}

function pathsWith(...patterns: RegExp[]): string[] {
  return sources.filter(({ text }) => patterns.some((pattern) => pattern.test(text))).map(({ path }) => path)
}

/** `env` of `src/projects/env/rules.ts`, `model` of `src/model/link.ts`; undefined for a file right below src. */
function folderOf(path: string): string | undefined {
  const parts = path.split('/')
  if (parts[0] !== 'src' || parts.length < 3) return undefined
  return WINGS_OF_FOLDERS.has(parts[1]!) ? parts[2] : parts[1]
}

test('only platform/server/serve.ts imports fastify', () => {
  assert.deepEqual(
    offenders((file, named) => named === 'fastify' && file.path !== 'src/platform/server/serve.ts'),
    [],
  )
})

test('nothing imports node:http for its values: that reads every export, and WebSocket among them loads an HTTP client of 16 MB', () => {
  assert.deepEqual(
    offenders((file, named) => named === 'node:http' && file.path.startsWith('src/')),
    [],
  )
})

test('only the files that open a store import a database driver', () => {
  const driver = (named: string) => named === 'pg' || named === 'node:sqlite'
  assert.deepEqual(
    offenders(
      (file, named) =>
        driver(named) &&
        !/^src\/platform\/db\/(sqlite|postgres)\/(open|lock|listener|capabilities)\.ts$/.test(file.path),
    ),
    [],
  )
})

test('only the files of tracing that are loaded where a receiver is set import OpenTelemetry, and only store.ts loads them', () => {
  const loaded = ['src/platform/tracing/otlp.ts', 'src/platform/tracing/provider.ts']
  const isOfTraces = (named: string) => named.startsWith('@opentelemetry/') || loaded.includes(named)
  assert.deepEqual(
    offenders((file, named) => isOfTraces(named) && !loaded.includes(file.path)),
    ['src/store.ts imports src/platform/tracing/otlp.ts'],
  )
})

test('only config.ts reads settings: nothing else names process.env, but main.ts, which hands it over', () => {
  const readers = sources.filter((file) => file.text.includes('process.env')).map((file) => file.path)
  assert.deepEqual(readers, ['src/main.ts'])
})

test('files are written only by platform/adapters/atomic-file.ts, complete and under names that cannot be guessed', () => {
  const making =
    /\b(?:writeFile|appendFile)(?:Sync)?\b|createWriteStream|\bopen(Sync)?\([^)]*, '(w|a|wx|ax|w\+|a\+)'|\.part\b/
  // Files of a sandbox are read by another user, go with their run, and lie in a directory that was just created.
  const ofSandboxes = ['src/runner/build/workspace.ts', 'src/sandbox/own-files.ts']
  assert.deepEqual(pathsWith(making).sort(), ['src/platform/adapters/atomic-file.ts', ...ofSandboxes])
  // `startBerth` puts the store of a user's test there: one directory, with a name that cannot be guessed.
  // A sandbox is tried in a directory that goes at once, also before there is a data directory.
  assert.deepEqual(pathsWith(/tmpdir/).sort(), ['src/operations/doctor/sandbox.ts', 'src/start-berth.ts'])
})

test('only shipped-files.ts resolves paths relative to the code: a bundle has no files next to its code', () => {
  assert.deepEqual(pathsWith(/import\.meta\b/), ['src/platform/base/shipped-files.ts'])
})

test('docs/architecture.md has a line for every folder', () => {
  const section = readFileSync(join(root, 'docs', 'architecture.md'), 'utf8').match(/^## Folders$[\s\S]*?(?=^## )/m)![0]
  const named = [...section.matchAll(/^\| (`.*?`) \|/gm)].flatMap(([, row]) => row!.match(/[\w-]+/g)!)
  const there = new Set(sources.map(({ path }) => folderOf(path)).filter((folder) => folder !== undefined))
  assert.deepEqual(named.sort(), [...there].sort())
})

test("no feature imports another feature's routes", () => {
  const crossing = offenders(
    (file, named) => basename(named) === 'routes.ts' && folderOf(named) !== undefined && file.path !== 'src/routes.ts',
  )
  assert.deepEqual(crossing, [])
})

test('no file is above 250 lines and no function above 50', () => {
  const long: string[] = []
  for (const { path, text } of sources) {
    const lines = text.split('\n')
    if (lines.length > 251) long.push(`${path}: ${lines.length} lines`)
    for (const [at, line] of lines.entries()) {
      if (!/^(export )?(default )?(async )?function/.test(line)) continue
      const length = lines.indexOf('}', at) - at + 1
      if (length > 50) long.push(`${path}:${at + 1}: a function of ${length} lines`)
    }
  }
  assert.deepEqual(long, [])
})

test('nothing is called utils, helpers, common, manager, service or core, and no index re-exports', () => {
  const named = sources.filter(({ path }) => /(^|\/)(utils?|helpers?|common|manager|core|index)(\.ts|\/)/.test(path))
  assert.deepEqual(named, [])
})

test('exports are named, imports end in .ts, and top-level functions are functions', () => {
  const forbidden = [
    /^export default/m,
    /from '\.[^']*(?<!\.ts)'/,
    /^(export )?const \w+ = (async )?\([^)]*\)(: [\w<>[\] |]+)? =>/m,
  ]
  assert.deepEqual(pathsWith(...forbidden), [])
})

/** The functions that files below src export, each with the comment before it. The one function of a migration is what its file is. */
function publicFunctions() {
  const pattern =
    /((?:\/\*\*(?:(?!\*\/)[\s\S])*\*\/\n)?)(?:\/\/.*\n)*export (?:async )?function\*? ?(\w+)([\s\S]*?)^}$/gm
  return sources
    .filter(({ path }) => !path.startsWith('src/platform/db/migrations/'))
    .flatMap(({ path, text }) =>
      [...text.matchAll(pattern)].map(([, doc = '', name, body = '']) => ({ place: `${path} ${name}`, doc, body })),
    )
}

test('a public function has a docstring, which names the keys that the function refuses with', () => {
  const functions = publicFunctions()
  assert.ok(functions.length > 1000)
  const bare = functions.filter(({ doc }) => doc === '').map(({ place }) => place)
  // One that refuses as another one does names that one; some name a list of refusals, and one makes a page of each.
  const elsewhere = /[Rr]efuses (what|as) `|_REFUSALS|Nothing is thrown/
  const silent = functions.flatMap(({ place, doc, body }) =>
    [...body.matchAll(/\brefuse\(\s*'(\w+)'/g)]
      .filter(([, key]) => !doc.includes(key!) && !elsewhere.test(doc))
      .map(([, key]) => `${place}: ${key}`),
  )
  assert.deepEqual({ bare, silent }, { bare: [], silent: [] })
})

test('nothing is left unfinished', () => {
  const marks = new RegExp(`\\b(${['TO', 'FIX', 'HA'].map((half, at) => half + ['DO', 'ME', 'CK'][at]).join('|')})\\b`)
  assert.deepEqual(pathsWith(marks), [])
})

/** TABLE tests that write by SQL, each with its reason. Others call operations, or name the state that they need: test/support/states.ts. */
const WRITES_BY_SQL: Readonly<Record<string, string>> = {
  'test/support/states.ts': 'each function says why no operation sets its state',
  'test/support/worlds/installation-rows.ts':
    'a model is followed through thousands of installations, some without any scope',
  'test/platform/db/': 'their subject is the store',
  'test/operations/backup/backup.test.ts': 'it makes stores of other versions of Berth',
  'test/cli/command/doctor.test.ts': 'it makes stores of other versions of Berth',
  'test/operations/operator/health.test.ts': 'it makes stores of other versions of Berth',
  'test/accounts/members/members.test.ts': 'it makes what a migration finds',
  'test/operations/report/report.test.ts': 'it reports what is months old, and cannot wait for it',
  'test/platform/outbox/audit-chain.test.ts': 'it verifies an audit log that was tampered with',
  'test/operations/edge/edge.test.ts':
    'it holds a transaction open, and changes something without the trigger that reports it',
}

test('no test writes by SQL what an operation can write: other states are named in test/support/states.ts', () => {
  const writing =
    /\.(insertInto|updateTable|deleteFrom|replaceInto|mergeInto)\(|sql`\s*(insert|update|delete|truncate)\b/i
  const writers = filesBelow('test').filter((path) => writing.test(readFileSync(join(root, path), 'utf8')))
  const named = Object.keys(WRITES_BY_SQL)
  assert.deepEqual(
    writers.filter((path) => !named.some((start) => path.startsWith(start))),
    [],
  )
  assert.deepEqual(
    named.filter((start) => !writers.some((path) => path.startsWith(start))),
    [],
    'named, and writes nothing',
  )
})

test('no test ignores a result of call.try: a refusal that a test does not inspect is requested by call, which throws it', () => {
  const passing = /[^,([=>:?&|\s]\s*\n\s*await [\w.]+(?:\([^()]*\))?\.try\(/
  const found = filesBelow('test').filter((path) => passing.test(readFileSync(join(root, path), 'utf8')))
  assert.deepEqual(found, [])
})

test('only cli/command-line/print.ts writes to the terminal, except for the progress bar and for raw files', () => {
  const writing = /\bstd(out|err)\.write\(|console\.(log|error|warn|info)\(/
  assert.deepEqual(
    pathsWith(writing).filter((path) => !path.startsWith('src/console/')),
    ['src/cli/command/run.ts'],
  )
})
