/** The OpenAPI document as others read it: two linters find no error, and clients that two generators make of it do the main job. */
import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { root } from '../support/root.ts'
import { onBothEngines } from '../support/world.ts'
import { folderOf } from './ledger.ts'
import { GENERATED } from './openapi-programs.ts'

const document = join(root, 'docs', 'api', 'openapi.json')
const run = promisify(execFile)

/** A program of a package, as it is published. It asks no network for what it need not. */
function runReader(client: string, bin: string, words: string[], cwd: string): string {
  const env = { PATH: process.env.PATH, HOME: cwd, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' }
  const { status, stdout, stderr } = spawnSync(join(folderOf(client), '.bin', bin), words, {
    cwd,
    env,
    encoding: 'utf8',
  })
  assert.equal(status, 0, `${bin} ${words.join(' ')}\n${stdout.slice(-5000)}${stderr.slice(-5000)}`)
  return stdout + stderr
}

/** A folder of its own in that of a client, in which packages of the client are found. */
function newFolder(client: string): string {
  const folder = join(folderOf(client), '..', 'generated')
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder)
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  return folder
}

test('two linters find no error in the document', () => {
  assert.match(runReader('openapi-redocly', 'redocly', ['lint', document], newFolder('openapi-redocly')), /is valid/)
  const folder = newFolder('openapi-spectral')
  writeFileSync(join(folder, 'rules.yaml'), 'extends: ["spectral:oas"]\n')
  const words = ['lint', '--ruleset', 'rules.yaml', '--fail-severity', 'error', document]
  assert.match(runReader('openapi-spectral', 'spectral', words, folder), /0 errors|No results/)
})

for (const { client, by, bin, words, config, program } of GENERATED) {
  const folder = () => join(folderOf(client), '..', 'generated')
  const named = (text: string) => text.replaceAll('{document}', document)

  test(`a client that ${by} makes, and a program of it, hold to their types`, () => {
    newFolder(client)
    writeFileSync(join(folder(), 'main.ts'), program)
    if (config !== undefined) writeFileSync(join(folder(), 'config.mjs'), named(config))
    runReader(by, bin, words.map(named), folder())
    const options = ['--noEmit', '--strict', '--skipLibCheck', '--allowImportingTsExtensions', '--module', 'nodenext']
    const more = ['--target', 'esnext', '--lib', 'esnext,dom,dom.iterable', '--types', 'node', '--typeRoots']
    const roots = join(root, 'node_modules', '@types')
    const checked = spawnSync('tsc', ['--ignoreConfig', ...options, ...more, roots, 'main.ts'], {
      cwd: folder(),
      encoding: 'utf8',
    })
    assert.equal(checked.status, 0, checked.stdout.slice(0, 5000))
  })

  onBothEngines(
    `a client that ${by} makes creates a project, a variable and a domain, and lists them`,
    async (world) => {
      const address = await world.listen()
      const words = [join(folder(), 'main.ts'), address, world.credentials.token]
      const { stdout } = await run(process.execPath, words, { cwd: folder() })
      assert.deepEqual(JSON.parse(stdout), {
        name: 'generated',
        keys: ['API_URL'],
        domains: [['www.example.com', false]],
        names: ['generated'],
        refused: [404, 'not_found'],
      })
    },
  )
}
