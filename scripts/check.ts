/** `npm run check`: everything that must hold before a change is taken. Runs all steps, then says which failed. */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'

type Step = [name: string, command: string, ...args: string[]]

/** Most of these run on one core, so two run at a time; the longest begins first. */
const STATIC: Step[] = [
  ['types', 'tsc'],
  ['format and lint', 'biome', 'check', '--error-on-warnings', '.'],
  ['dead code', 'knip'],
  ['OpenAPI document', 'node', 'scripts/openapi.ts', '--check'],
  ['page of commands', 'node', 'scripts/commands.ts', '--check'],
  ['page of settings', 'node', 'scripts/settings.ts', '--check'],
  ['data model', 'node', 'scripts/data-model.ts', '--check'],
]

const failed: string[] = []
const left = [...STATIC]
const work = async () => {
  for (let step = left.shift(); step !== undefined; step = left.shift()) await run(step, 'pipe')
}
await Promise.all([work(), work()])
await run(['tests', 'npm', 'test'], 'inherit')
if (failed.length > 0) {
  console.error(`\nfailed: ${failed.join(', ')}`)
  process.exit(1)
}

/** Runs a step and notes a failure. What one of several prints comes out whole, at its end. */
async function run([name, command, ...args]: Step, output: 'pipe' | 'inherit'): Promise<void> {
  if (output === 'inherit') console.log(`\n== ${name}`)
  // Run by npm, so that node_modules/.bin, and with it the pinned runtime, comes first on the PATH.
  const child = spawn(command, args, { cwd: join(import.meta.dirname, '..'), stdio: ['inherit', output, output] })
  const ended = new Promise<number | null>((resolve) => {
    child.once('error', (error) => {
      console.error(String(error))
      resolve(1)
    })
    child.once('close', resolve)
  })
  const [out, err, status] = await Promise.all([read(child.stdout), read(child.stderr), ended])
  if (output === 'pipe') console.log(`\n== ${name}\n${out}${err}`)
  if (status !== 0) failed.push(name)
}

function read(stream: NodeJS.ReadableStream | null): Promise<string> {
  return stream === null ? Promise.resolve('') : text(stream)
}
