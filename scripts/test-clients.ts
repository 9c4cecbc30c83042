/**
 * `npm run test:clients [-- --short] [-- --only <part of a test file's name>] [-- --write]`: installs the third-party clients into
 * `.cache/clients`, drives each against Berth on both engines, and compares what was seen with the table in docs/clients.md. `--short`: a
 * few of them.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { parseArgs } from 'node:util'
import type { Seen } from '../test/clients/ledger.ts'
import { CLIENTS, type Client, IN_SHORT } from './clients.ts'
import { installClient } from './install-client.ts'
import { filesWith } from './only.ts'

const root = join(import.meta.dirname, '..')
const cache = join(root, '.cache', 'clients')
const page = join(root, 'docs', 'clients.md')
const [BEGIN, END] = ['<!-- table: npm run test:clients -- --write -->', '<!-- end of table -->']

const TITLES: Record<string, string> = {
  sdk: 'SDK',
  cli: 'Command line',
  terraform: 'Terraform provider',
  other: 'Other programs',
}

const { values: asked } = parseArgs({
  options: { only: { type: 'string' }, short: { type: 'boolean' }, write: { type: 'boolean' } },
})
const all = filesWith(undefined, 'test/clients')
/** Needs every version; `npm test` does the same with the SDKs that are among its dependencies. */
const ONLY_WHOLE = 'sdk-whole.test.ts'
const files = filesWith(asked.only, 'test/clients').filter((file) => !asked.short || basename(file) !== ONLY_WHOLE)
// A test file is named for the family of clients that it drives: `sdk.test.ts`, `cli-env.test.ts`.
const driven = (file: string) => /[a-z]+/.exec(basename(file))![0]
const families = new Set(files.map(driven))
/** Families whose tests drive the command line, without a column in its table. */
const needed = new Set([...families].map((family) => (['next', 'frameworks'].includes(family) ? 'cli' : family)))
for (const client of CLIENTS)
  if (needed.has(familyOf(client.name)) && (!asked.short || isInShort(client))) installClient(cache, client)

const scratch = mkdtempSync(join(tmpdir(), 'berth-clients-'))
const ledger = join(scratch, 'ledger')
writeFileSync(ledger, '')
/** For a test that hangs, not a promise. The builds of another project take hours. */
const TIMEOUT_MS = process.env.BERTH_PACKAGE_FIXTURES === undefined ? 600_000 : 3 * 3_600_000
const words = ['--test', '--test-global-setup=test/support/postgres.ts', `--test-timeout=${TIMEOUT_MS}`]
const ran = spawnSync(process.execPath, [...words, ...files], {
  cwd: root,
  stdio: 'inherit',
  env: {
    ...process.env,
    BERTH_CLIENTS: cache,
    BERTH_CLIENTS_LEDGER: ledger,
    ...(asked.short && { BERTH_CLIENTS_SHORT: 'yes' }),
  },
})
const seen = readFileSync(ledger, 'utf8')
  .split('\n')
  .filter(Boolean)
  .map((line) => JSON.parse(line) as Seen)
rmSync(scratch, { recursive: true })
if (ran.status !== 0) process.exit(1)
if (asked.short) {
  compareCells()
  process.exit()
}
// A family has a complete table only when all its files ran. OpenAPI readers and servers have none.
const whole = [...families].filter(
  (family) => family in TITLES && all.every((file) => driven(file) !== family || files.includes(file)),
)
compare(new Map(whole.map((family) => [TITLES[family]!, tableOf(seen, family)])))

/** Of SDKs and command lines some are driven in short; of everything else there is one. */
function isInShort({ name }: Client): boolean {
  return !['sdk', 'cli'].includes(familyOf(name)) || IN_SHORT.has(name)
}

function familyOf(client: string): string {
  return client.split('-', 1)[0]!
}

/** A row an operation, a column a client; a cell is what was seen on both engines. What differs is explained below the table. */
function tableOf(rows: readonly Seen[], family: string): string {
  const columns = CLIENTS.map(({ name }) => name).filter((name) => familyOf(name) === family)
  for (const { client } of rows) if (familyOf(client) === family && !columns.includes(client)) columns.push(client)
  const whys: string[] = []
  const noted = (word: string, why: string) => {
    if (!whys.includes(why)) whys.push(why)
    return `${word} (${whys.indexOf(why) + 1})`
  }
  const cell = (operation: string, client: string) => {
    const here = rows.filter((row) => row.operation === operation && row.client === client)
    const { between } = CLIENTS.find(({ name }) => name === client) ?? {}
    const differs = here.find((row) => row.outcome === 'differs')
    if (differs !== undefined) return noted('no', differs.why)
    const works = here.find((row) => row.outcome === 'works')
    if (works === undefined) return '-'
    if (new Set(here.map(({ engine }) => engine)).size < (between ? 1 : 2))
      throw new Error(`${client}: ${operation}: one engine only`)
    return works.why === undefined ? 'yes' : noted('yes', works.why)
  }
  const operations = [...new Set(rows.filter(({ client }) => columns.includes(client)).map((row) => row.operation))]
  return [
    `| | ${columns.map((name) => name.replace(/^(sdk|cli|other)-/, '')).join(' | ')} |`,
    `|---|${columns.map(() => '---|').join('')}`,
    ...operations.toSorted().map((name) => `| ${name} | ${columns.map((client) => cell(name, client)).join(' | ')} |`),
    ...(whys.length === 0 ? [] : ['']),
    ...whys.map((why, at) => `${at + 1}. ${why}`),
  ].join('\n')
}

/** In short: what each driven client was seen to do is what its column says, notes apart. */
function compareCells(): void {
  const lines = readFileSync(page, 'utf8').split('\n')
  const wrong = Object.entries(TITLES).flatMap(([family, title]) => {
    const table = lines.slice(lines.indexOf(`### ${title}`) + 2)
    const cells = (row: string) => row.split('|').map((cell) => cell.trim())
    const columns = cells(table[0]!)
    const rows = new Map(table.slice(2, table.indexOf('')).map((row) => [cells(row)[1]!, cells(row)]))
    return seen
      .filter(({ client }) => familyOf(client) === family)
      .filter(({ client, operation, outcome }) => {
        const column = columns.indexOf(client.replace(/^(sdk|cli|other)-/, ''))
        const says = rows.get(operation)?.[column]?.split(' ')[0]
        return says !== { works: 'yes', differs: 'no', absent: '-' }[outcome]
      })
      .map(({ client, operation, engine, outcome }) => `${client}: ${operation} [${engine}]: ${outcome}`)
  })
  if (wrong.length === 0) return
  console.error(`not what the table in docs/clients.md says:\n${wrong.join('\n')}`)
  process.exit(1)
}

/** Each title stands over the table of its family; a family that did not run keeps the one that it has. */
function compare(tables: ReadonlyMap<string, string>): void {
  const text = readFileSync(page, 'utf8')
  const [before, rest] = text.split(BEGIN) as [string, string]
  const [old, after] = rest.split(END) as [string, string]
  const sections = Object.values(TITLES).flatMap((title) => {
    const kept = old.split(`### ${title}\n`)[1]?.split('\n### ')[0]?.trim()
    const table = tables.get(title) ?? kept
    return table === undefined ? [] : [`### ${title}\n\n${table}`]
  })
  const wanted = [`${before}${BEGIN}`, ...sections, `${END}${after}`].join('\n\n')
  if (asked.write) writeFileSync(page, wanted)
  else if (wanted !== text) {
    console.error('the table in docs/clients.md is not what was seen: npm run test:clients -- --write')
    process.exit(1)
  }
}
