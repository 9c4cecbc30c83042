/**
 * Writes docs/data-model.md and its drawing, docs/images/data-model.svg, from the tables of a migrated store; with `--check`, says
 * whether those there are stale.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { draw } from './data-model/drawing.ts'
import { type Group, readModel, type Table } from './data-model/model.ts'

const INTRODUCTION = `# Data model

Made from the tables of a migrated store by \`npm run data-model\`. Do not edit this page: what it says of a table is the comment above the table in
[src/platform/db/schema.ts](../src/platform/db/schema.ts) and the files next to it, which also describe every column.

![The tables of Berth, grouped by topic, with their keys and references](images/data-model.svg)

- The drawing shows the primary key (**bold**), the columns of unique indexes, and references. A \`?\` marks a column that may be null.
- An arrow points to the table that a column refers to. Where that table is not adjacent, its name is next to the column.
- The database checks no foreign keys: what belongs to a project goes with it by \`src/project-hooks.ts\`, in the same transaction.
- \`_at\` is a time in milliseconds since the epoch. \`_stamp\` is a unique timestamp that orders lists. \`_json\` is never filtered on. \`sealed_\` is encrypted.
- \`endpoint_id\` of a delivery is a webhook or a log drain.
`

function pageOf(groups: readonly Group[]): string {
  const parts = groups.map(({ title, tables }) => `## ${title}\n\n${tableOf(tables)}\n`)
  return [INTRODUCTION, ...parts].join('\n')
}

function tableOf(tables: readonly Table[]): string {
  const rows = tables.map(({ name, meaning, columns }) => {
    const key = columns.filter(({ isKey }) => isKey).map((column) => `\`${column.name}\``)
    const targets = new Set(columns.flatMap(({ refersTo }) => refersTo ?? []))
    return `| \`${name}\` | ${meaning} | ${key.join(', ')} | ${[...targets].map((target) => `\`${target}\``).join(', ')} |`
  })
  return ['| Table | What a row is | Key | Refers to |', '| --- | --- | --- | --- |', ...rows].join('\n')
}

const docs = join(import.meta.dirname, '..', 'docs')
const groups = await readModel()
for (const [name, text] of Object.entries({ 'data-model.md': pageOf(groups), 'images/data-model.svg': draw(groups) })) {
  const file = join(docs, name)
  if (!process.argv.includes('--check')) writeFileSync(file, text)
  else if (!existsSync(file) || readFileSync(file, 'utf8') !== text) {
    console.error(`docs/${name} is stale: run "npm run data-model" and commit it`)
    process.exitCode = 1
  }
}
