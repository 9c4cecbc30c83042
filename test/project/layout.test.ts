/** The folders of src stand in an order, and each imports only what stands before it. docs/architecture.md: Folders. */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { test } from 'node:test'
import { root } from '../support/root.ts'

/** TABLE every folder and file right below src, in the order of imports: what stands in a row imports what stands in it or before it. */
const ORDER = [
  // Values and words that need nothing.
  'ids.ts shipped-files.ts version.ts words.ts clock.ts clock-watch.ts event-loop.ts fair-queue.ts repeat.ts semaphore.ts known-answers.ts limits.ts account-errors.ts errors.ts',
  'permissions schema refusal.ts events.ts metrics.ts settings settings.ts config.ts log.ts package-types.ts',
  // The machinery: it knows no feature.
  'tracing adapters db memory.ts context.ts limiter secrets access live outbox http pages openapi server',
  // What a row means, and the features.
  'model mail env shared-env env-files serving deployments domain-proof domains environments aliases promotion account-domains',
  'webhooks deliveries drains integrations installations oauth consent links projects empty-lists transfer',
  'accounts members search second-factor sign-in tokens people single-sign-on statistics edge backup timers.ts operator command-line doctor report console',
  // The tables that join the features, and the process.
  'on-project.ts screens.ts routes.ts store.ts service.ts start.ts start-berth.ts command main.ts',
].flatMap((row) => row.split(' '))

/** TABLE imports that run back up, each with its reason. */
const BACK_UP: Readonly<Record<string, string>> = {
  'context.ts': 'it names the types of what a process opens, and imports nothing at run time',
}

type Import = { from: string; to: string; file: string }

/** Every import between two entries of src, those of types too. */
function imports(): Import[] {
  return globSync('src/**/*.ts', { cwd: root }).flatMap((file) => {
    const text = readFileSync(join(root, file), 'utf8')
    const named = [...text.matchAll(/(?:^(?:import|export)\b[^'"]*?from |import\()['"](\.[^'"]+)['"]/gm)]
    return named
      .map(([, name]) => ({ from: entryOf(file), to: entryOf(normalize(join(dirname(file), name!))), file }))
      .filter(({ from, to }) => from !== to)
  })
}

/** `projects` of `src/projects/list.ts`, `errors.ts` of `src/errors.ts`. */
function entryOf(file: string): string {
  return file.split('/')[1]!
}

test('every folder and file right below src has its place in the order, once', () => {
  const there = new Set(globSync('src/**/*.{ts,json}', { cwd: root }).map(entryOf))
  assert.deepEqual([...there].sort(), ORDER.toSorted())
})

test('no folder imports one that comes later in the order, so none import each other; exceptions are named with a reason', () => {
  const place = new Map(ORDER.map((entry, at) => [entry, at]))
  const up = imports().filter(({ from, to }) => place.get(to)! > place.get(from)!)
  const unnamed = up.filter(({ from }) => !(from in BACK_UP)).map(({ file, to }) => `${file} imports ${to}`)
  assert.deepEqual(unnamed, [])
})

test('context.ts imports types alone', () => {
  const values = readFileSync(join(root, 'src', 'context.ts'), 'utf8').match(/^import (?!type ).*$/gm)
  assert.equal(values, null)
})

test('no folder of src or test/support has more than 14 files', () => {
  const files = Map.groupBy(globSync('{src,test/support}/**/*.ts', { cwd: root }), (file) => dirname(file))
  const large = [...files].filter(([folder, inside]) => inside.length > 14 && folder !== 'src/db/migrations')
  assert.deepEqual(
    large.map(([folder, inside]) => `${folder}: ${inside.length}`).filter((line) => !line.startsWith('src: ')),
    [],
  )
})
