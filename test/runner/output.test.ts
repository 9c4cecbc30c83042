/** What a runner reads of an output, and what it refuses. docs/runner.md: Output. */
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { BuildFailure } from '../../src/runner/build/failure.ts'
import { collectOutput } from '../../src/runner/build/output.ts'

/** A target of a link begins with `->`. */
function projectWith(t: TestContext, files: Record<string, string>): string {
  const folder = mkdtempSync(join(tmpdir(), 'berth-output-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  for (const [path, content] of Object.entries({ '.vercel/output/config.json': '{"version":3}', ...files })) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    if (content.startsWith('->')) symlinkSync(content.slice(2), join(folder, path))
    else writeFileSync(join(folder, path), content)
  }
  return folder
}

const mapped = (from: string) => ({
  '.vercel/output/functions/f.func/.vc-config.json': JSON.stringify({ filePathMap: { 'index.js': from } }),
})

test('files that a function names are read once, with those of the output', async (t) => {
  const folder = projectWith(t, { ...mapped('node_modules/a/index.js'), 'node_modules/a/index.js': 'a', other: 'b' })
  const { files } = await collectOutput(folder, t.signal)
  assert.deepEqual(files.map(({ path }) => path).sort(), [
    '.vercel/output/config.json',
    '.vercel/output/functions/f.func/.vc-config.json',
    'node_modules/a/index.js',
  ])
})

test('a link that a function names stays one where it is to a directory or a named file, and does not lead out of the project', async (t) => {
  const inside = {
    ...mapped('node_modules/lib'),
    'packages/lib/index.js': 'a',
    'node_modules/lib': '->../packages/lib',
  }
  const { files, links } = await collectOutput(projectWith(t, inside), t.signal)
  assert.deepEqual(links, [{ path: 'node_modules/lib', target: '../packages/lib', mode: 0o120777 }])
  assert.equal(files.length, 2)
  const config = { filePathMap: { link: 'link', asset: 'asset', own: 'own', other: 'other' } }
  const toFiles = {
    '.vercel/output/functions/f.func/.vc-config.json': JSON.stringify(config),
    '.vercel/output/functions/f.func/inside': 'c',
    ...{ asset: 'a', inside: 'c', unnamed: 'b', link: '->asset', own: '->inside', other: '->unnamed' },
  }
  const read = await collectOutput(projectWith(t, toFiles), t.signal)
  assert.deepEqual(
    read.links.map(({ path, target }) => [path, target]),
    [
      ['link', 'asset'],
      ['own', 'inside'],
    ],
  )
  assert.deepEqual(
    read.files
      .map(({ path }) => path)
      .sort()
      .slice(3),
    ['asset', 'other'],
  )
  const outside = { ...mapped('node_modules/lib'), 'node_modules/lib': `->${tmpdir()}` }
  await assert.rejects(collectOutput(projectWith(t, outside), t.signal), refusal(/leads out of the project/))
  const folder = projectWith(t, { ...mapped('node_modules/lib'), 'packages/lib/index.js': 'a' })
  mkdirSync(join(folder, 'node_modules'))
  symlinkSync(join(folder, 'packages/lib'), join(folder, 'node_modules/lib'))
  await assert.rejects(collectOutput(folder, t.signal), refusal(/is a link that leads out of the project/))
})

const refusal = (message: RegExp) => (error: unknown) => {
  assert.ok(error instanceof BuildFailure && error.code === 'BUILD_OUTPUT_REFUSED', String(error))
  assert.match(error.message, message)
  return true
}

test('a file below a link of the output is refused', async (t) => {
  const folder = projectWith(t, {
    ...mapped('.vercel/output/functions/l/x'),
    '.vercel/output/functions/r/x': 'x',
    '.vercel/output/functions/l': '->r',
  })
  await assert.rejects(collectOutput(folder, t.signal), refusal(/functions\/l is a link or a file/))
})

test('directories are counted, also empty ones', async (t) => {
  const folder = projectWith(t, {})
  for (let at = 0; at < 20; at++) mkdirSync(join(folder, '.vercel/output', `${at}`))
  assert.equal((await collectOutput(folder, t.signal, 21)).files.length, 1)
  await assert.rejects(collectOutput(folder, t.signal, 20), refusal(/more than 20 directories/))
})

test('reading ends when its step does', async (t) => {
  const folder = projectWith(t, {})
  const ended = AbortSignal.abort(new Error('took too long'))
  await assert.rejects(collectOutput(folder, ended), /took too long/)
})
