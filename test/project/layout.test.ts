/** The wings of src are layers: each imports only what comes before it. docs/architecture.md: Folders. */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { test } from 'node:test'
import { root } from '../support/root.ts'

/**
 * TABLE the wings and the files right below src, in the order of imports, lowest first. A wing of several folders lists them:
 * what is in a row imports what is in it, on its left, or in a row before it.
 */
const ORDER: readonly (readonly [wing: string, entries: string])[] = [
  ['platform', 'base permissions'],
  ['', 'limits.ts readers.ts budgets.ts errors.ts'],
  ['platform', 'settings'],
  ['', 'settings.ts config.ts'],
  ['platform', 'schema'],
  ['', 'events.ts metrics.ts context.ts'],
  [
    'platform',
    'refusals fairness tracing files adapters db cache limiter secrets tls access outbox live verdict http pages server',
  ],
  ['', 'model'],
  ['platform', 'mail openapi'],
  ['projects', 'env shared-env links projects serving deployments domain-verification domains aliases promotion'],
  ['projects', 'transfer env-files environments account-domains empty-lists search site-sign-in'],
  ['integrations', 'webhooks integrations installations oauth consent deliveries drains'],
  ['accounts', 'second-factor accounts members sign-in tokens users single-sign-on'],
  ['', 'sandbox launcher'],
  ['', 'delivery sites runner'],
  ['operations', 'backup statistics edge'],
  ['', 'timers.ts'],
  ['operations', 'operator doctor report'],
  ['', 'bounds.ts console project-hooks.ts screens.ts routes.ts start-wait.ts store.ts service.ts'],
  ['cli', 'command-line'],
  ['', 'processes'],
  ['cli', 'command'],
  ['', 'main.ts package-types.ts start-berth.ts'],
]
const ENTRIES = ORDER.flatMap(([wing, entries]) =>
  entries.split(' ').map((entry) => (wing === '' ? entry : `${wing}/${entry}`)),
)
const WINGS = new Set(ORDER.map(([wing]) => wing))

/** TABLE wings of ORDER that have no file yet. */
const TO_COME: readonly string[] = []

/** TABLE imports against the order, each with its reason. */
const UPWARD: Readonly<Record<string, string>> = {
  'context.ts': 'it names the types of what a process opens, and imports nothing at run time',
}

/** TABLE folders of more than 14 files, each with its reason. */
const LARGE: Readonly<Record<string, string>> = {
  src: 'the tables that are the product, and the files that make the process',
  'src/platform/db/migrations': 'each is released once and never changed',
}

type Import = { from: string; to: string; isType: boolean }

/** Every import between two files of src. */
function imports(): Import[] {
  return globSync('src/**/*.ts', { cwd: root }).flatMap((file) => {
    const text = readFileSync(join(root, file), 'utf8')
    const named = [
      ...text.matchAll(/(?:^(?:import|export)\b(?<what>[^'"]*?)from |import\()['"](?<name>\.[^'"]+)['"]/gm),
    ]
    return named.map(({ groups }) => ({
      from: file,
      to: normalize(join(dirname(file), groups!.name!)),
      isType: /^\s*type\b/.test(groups!.what ?? ''),
    }))
  })
}

/** `projects/env` of `src/projects/env/rules.ts`, `console` of `src/console/frame.ts`, `errors.ts` of `src/errors.ts`. */
function entryOf(file: string): string {
  const [, wing = '', folder] = file.split('/')
  return WINGS.has(wing) ? `${wing}/${folder}` : wing
}

/** The circles of a graph of files: each group of files that reach each other (Tarjan). */
function circlesOf(edges: readonly Import[]): string[][] {
  const targets = Map.groupBy(edges, ({ from }) => from)
  const order = new Map<string, number>()
  const lowest = new Map<string, number>()
  const open: string[] = []
  const circles: string[][] = []
  const visit = (file: string) => {
    order.set(file, order.size)
    lowest.set(file, order.get(file)!)
    open.push(file)
    for (const { to } of targets.get(file) ?? []) {
      if (!order.has(to)) visit(to)
      if (open.includes(to)) lowest.set(file, Math.min(lowest.get(file)!, lowest.get(to)!))
    }
    if (lowest.get(file) !== order.get(file)) return
    const circle = open.splice(open.indexOf(file))
    if (circle.length > 1) circles.push(circle.sort())
  }
  for (const file of targets.keys()) if (!order.has(file)) visit(file)
  return circles
}

test('every wing, folder and file right below src has its place in the order, once', () => {
  const found = new Set(globSync('src/**/*.{ts,json}', { cwd: root }).map(entryOf))
  for (const wing of TO_COME) assert.ok(!found.has(wing), `${wing} has come: it is no longer to come`)
  assert.deepEqual([...found, ...TO_COME].sort(), ENTRIES.toSorted())
})

test('src has at most 14 folders', () => {
  const folders = new Set(globSync('src/*/**/*.ts', { cwd: root }).map((file) => file.split('/')[1]))
  assert.ok(folders.size <= 14, [...folders].join(' '))
})

test('no folder imports a later one in the order; exceptions are named with a reason', () => {
  const place = new Map(ENTRIES.map((entry, at) => [entry, at]))
  const upward = imports().filter(({ from, to }) => place.get(entryOf(to))! > place.get(entryOf(from))!)
  const unnamed = upward.filter(({ from }) => !(entryOf(from) in UPWARD)).map(({ from, to }) => `${from} imports ${to}`)
  assert.deepEqual(unnamed, [])
})

test('no files import each other in a circle, types included', () => {
  assert.deepEqual(circlesOf(imports()), [])
})

test('context.ts imports types alone, and of the platform alone', () => {
  const named = imports().filter(({ from }) => from === 'src/context.ts')
  const others = named.filter(({ to, isType }) => !isType || !/^src\/(platform\/|[\w-]+\.ts$)/.test(to))
  assert.deepEqual(others, [])
})

test('the verdict on a host knows no database: the edge and the sites server share it', () => {
  const named = imports().filter(({ from }) => from.startsWith('src/platform/verdict/'))
  assert.deepEqual(
    named.filter(({ to }) => /^src\/(platform\/(db|outbox|secrets)\/|context\.ts|model\/)/.test(to)),
    [],
  )
})

test('no folder of src or test/support has more than 14 files; exceptions are named with a reason', () => {
  const files = Map.groupBy(globSync('{src,test/support}/**/*.ts', { cwd: root }), (file) => dirname(file))
  const large = [...files].filter(([, inside]) => inside.length > 14).map(([folder]) => folder)
  assert.deepEqual(large.sort(), Object.keys(LARGE).sort())
})
