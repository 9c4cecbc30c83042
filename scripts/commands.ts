/** Writes docs/command-line.md from the table of commands; with `--check`, says whether the one there is stale. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { COMMANDS } from '../src/cli/command/commands.ts'
import { commandLineText } from '../src/cli/command-line/document.ts'

const file = join(import.meta.dirname, '..', 'docs', 'command-line.md')
const text = commandLineText(COMMANDS)
if (!process.argv.includes('--check')) writeFileSync(file, text)
else if (readFileSync(file, 'utf8') !== text) {
  console.error('docs/command-line.md is stale: run "npm run commands" and commit it')
  process.exit(1)
}
