/** Writes the OpenAPI document of the route table to docs/api; with `--check`, says whether the one there is stale. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openApiText } from '../src/http/documents.ts'
import { ROUTES } from '../src/routes.ts'

const file = join(import.meta.dirname, '..', 'docs', 'api', 'openapi.json')
const text = openApiText(ROUTES)
if (!process.argv.includes('--check')) writeFileSync(file, text)
else if (readFileSync(file, 'utf8') !== text) {
  console.error('docs/api/openapi.json is stale: run "npm run openapi" and commit it')
  process.exit(1)
}
