/**
 * Writes the OpenAPI document of the route table to docs/api, and into docs/clients.md what of the clients' fields is passed over or
 * refused; with `--check`, says whether what is there is stale.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openApiText } from '../src/platform/openapi/pages.ts'
import { ROUTES } from '../src/routes.ts'
import { withFields } from './passed-over.ts'

const docs = join(import.meta.dirname, '..', 'docs')
const made: Record<string, (before: string) => string> = {
  'api/openapi.json': () => openApiText(ROUTES),
  'clients.md': (before) => withFields(before, ROUTES),
}

for (const [name, make] of Object.entries(made)) {
  const file = join(docs, name)
  const before = readFileSync(file, 'utf8')
  const after = make(before)
  if (!process.argv.includes('--check')) writeFileSync(file, after)
  else if (before !== after) {
    console.error(`docs/${name} is stale: run "npm run openapi" and commit it`)
    process.exitCode = 1
  }
}
