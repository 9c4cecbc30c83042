/** `npm run check`: everything that must hold before a change is taken. Runs all steps, then says which failed. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'

const STEPS: [name: string, command: string, ...args: string[]][] = [
  ['format and lint', 'biome', 'check', '--error-on-warnings', '.'],
  ['types', 'tsc'],
  ['dead code', 'knip'],
  ['OpenAPI document', 'node', 'scripts/openapi.ts', '--check'],
  ['page of commands', 'node', 'scripts/commands.ts', '--check'],
  ['page of settings', 'node', 'scripts/settings.ts', '--check'],
  ['data model', 'node', 'scripts/data-model.ts', '--check'],
  ['tests', 'npm', 'test'],
]

const failed: string[] = []
for (const [name, command, ...args] of STEPS) {
  console.log(`\n== ${name}`)
  // Run by npm, so that node_modules/.bin, and with it the pinned runtime, comes first on the PATH.
  const { status } = spawnSync(command, args, { cwd: join(import.meta.dirname, '..'), stdio: 'inherit' })
  if (status !== 0) failed.push(name)
}
if (failed.length > 0) {
  console.error(`\nfailed: ${failed.join(', ')}`)
  process.exit(1)
}
