import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { root } from '../support/root.ts'
import { ENGINES, newDatabase } from '../support/world.ts'
import { environmentOf, programOf } from './cli-world.ts'
import { note } from './ledger.ts'

for (const engine of ENGINES) {
  test(`the session of the README, typed into a shell, ends with a pulled .env [${engine}]`, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'berth-readme-'))
    const at = (...path: string[]) => join(folder, ...path)
    for (const name of ['home', 'bin', 'shop', 'berth']) mkdirSync(at(name))
    symlinkSync(programOf('64.0.2'), at('bin', 'vercel'))
    const database = engine === 'postgres' ? { DATABASE_URL: await newDatabase() } : {}
    const service = spawn(process.execPath, [join(root, 'bin', 'berth.mjs')], {
      env: {
        ...process.env,
        ...database,
        BERTH_DATA: at('berth', 'data'),
        PORT: '0',
        BERTH_EDGE_PORT: '0',
        BERTH_SITES_PORT: 'off',
      },
    })
    try {
      const address = await new Promise<string>((resolve, reject) => {
        let printed = ''
        service.on('exit', (code) => reject(new Error(`exit code ${code}: ${printed}`)))
        service.stderr.on('data', (data) => (printed += data))
        service.stdout.on('data', (data) => {
          printed += data
          const found = /http:\/\/127\.0\.0\.1:\d+/.exec(printed)?.[0]
          if (found !== undefined) resolve(found)
        })
      })
      const env = environmentOf(at)
      const path = `${at('bin')}:${join(process.execPath, '..')}:${env.PATH}`
      const printed = await type(session().replaceAll('http://127.0.0.1:3000', address), at('shop'), {
        ...env,
        PATH: path,
      })
      assert.match(printed, /^API_URL="http:\/\/localhost:8080"$/m)
      assert.match(readFileSync(at('shop', '.env'), 'utf8'), /^API_URL="http:\/\/localhost:8080"$/m)
      note({ client: 'cli-64.0.2', operation: 'the session of the README', engine, outcome: 'works' })
    } finally {
      const isOver = service.exitCode !== null || service.signalCode !== null
      const ended = isOver || new Promise((resolve) => service.once('exit', resolve))
      service.kill()
      await ended
      rmSync(folder, { recursive: true, force: true })
    }
  })
}

/** The lines of the README that a user types: the block that begins with the address of Berth. */
function session(): string {
  const blocks = readFileSync(join(root, 'README.md'), 'utf8').match(/```sh[^\n]*\n[^`]*```/g) ?? []
  const found = blocks.filter((block) => block.includes('vc() {'))
  assert.equal(found.length, 1)
  return found[0]!.replace(/^```sh[^\n]*\n|```$/g, '')
}

function type(lines: string, folder: string, env: NodeJS.ProcessEnv): Promise<string> {
  const shell = spawn('sh', ['-e'], { cwd: folder, env, timeout: 120_000 })
  let printed = ''
  for (const stream of [shell.stdout, shell.stderr]) stream.on('data', (data) => (printed += data))
  shell.stdin.end(lines)
  return new Promise((resolve, reject) => {
    shell.on('close', (code) => (code === 0 ? resolve(printed) : reject(new Error(`exit code ${code}\n${printed}`))))
  })
}
