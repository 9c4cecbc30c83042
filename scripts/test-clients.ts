/**
 * `npm run test:clients [-- --only <part of a test file's name>] [-- --write]`: installs the clients of other people into
 * `.cache/clients`, drives each against Berth on both engines, and compares what was seen with the table in docs/clients.md.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { parseArgs } from 'node:util'
import type { Seen } from '../test/clients/ledger.ts'
import { CLIENTS } from './clients.ts'
import { installClient } from './install-client.ts'
import { filesWith } from './only.ts'

const root = join(import.meta.dirname, '..')
const cache = join(root, '.cache', 'clients')
const page = join(root, 'docs', 'clients.md')
const [BEGIN, END] = ['<!-- table: npm run test:clients -- --write -->', '<!-- end of table -->']

const TITLES: Record<string, string> = {
  sdk: 'By the SDK',
  cli: 'By the command line',
  terraform: 'By the Terraform provider',
  other: 'By other programs',
}

const { values: asked } = parseArgs({ options: { only: { type: 'string' }, write: { type: 'boolean' } } })
const all = filesWith(undefined, 'test/clients')
const files = filesWith(asked.only, 'test/clients')
// A test file is named for the family of clients that it drives: `sdk.test.ts`, `cli-env.test.ts`.
const driven = (file: string) => /[a-z]+/.exec(basename(file))![0]
const families = new Set(files.map(driven))
for (const client of CLIENTS) if (families.has(familyOf(client.name))) installClient(cache, client)

const scratch = mkdtempSync(join(tmpdir(), 'berth-clients-'))
const ledger = join(scratch, 'ledger')
writeFileSync(ledger, '')
/** For a test that hangs, and no promise. */
const TIMEOUT_MS = 600_000
const words = ['--test', '--test-global-setup=test/support/postgres.ts', `--test-timeout=${TIMEOUT_MS}`]
const ran = spawnSync(process.execPath, [...words, ...files], {
  cwd: root,
  stdio: 'inherit',
  env: { ...process.env, BERTH_CLIENTS: cache, BERTH_CLIENTS_LEDGER: ledger },
})
const seen = readFileSync(ledger, 'utf8')
  .split('\n')
  .filter(Boolean)
  .map((line) => JSON.parse(line) as Seen)
rmSync(scratch, { recursive: true })
if (ran.status !== 0) process.exit(1)
// A family of which only some files ran has no whole table. What reads the OpenAPI document, and a server, have none.
const whole = [...families].filter(
  (family) => family in TITLES && all.every((file) => driven(file) !== family || files.includes(file)),
)
compare(new Map(whole.map((family) => [TITLES[family]!, tableOf(seen, family)])))

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
