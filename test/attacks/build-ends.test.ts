/**
 * Builds of hostile tenants through control plane, runner and sandbox: each ends with a named error or as the tenant cancels it, and nothing of it
 * stays. docs/runner.md: Limits of a build; docs/building.md: Errors.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { file, tgz } from '../delivery/archive/tar.ts'
import { hashOf } from '../faults/deploying.ts'
import { whyNoSandbox } from '../faults/function-place.ts'
import { labSkipReason } from '../sandbox/lab.ts'
import { HOSTILE, IMPORTS } from './builds/hostile.ts'
import { INSTALLS } from './builds/packages-rows.ts'
import { openScene, type Scene } from './builds/scene.ts'
import { sayFigure } from './form.ts'

const skip = whyNoSandbox() ?? labSkipReason()
const HOUR_MS = 3_600_000

async function createProject({ send }: Scene, settings: object): Promise<void> {
  const made = await send('POST', '/v10/projects', settings)
  assert.equal(made.status, 200, JSON.stringify(made.body))
}

function createOf(name: string, files: Readonly<Record<string, string>>, seconds?: number): object {
  return {
    ...{ name, project: name, files: Object.entries(files).map(([file, data]) => ({ file, data })) },
    ...(seconds !== undefined && { build: { env: { SECONDS: String(seconds) } } }),
  }
}

test('whatever a build does, it ends with its reason, and nothing of it stays', {
  skip,
  timeout: HOUR_MS,
}, async (t) => {
  const scene = await openScene(t)
  await createProject(scene, { name: 'hostile', installCommand: 'true', outputDirectory: 'public' })
  let seen = 0
  const cancel = async (id: string) => {
    seen = scene.left().length
    assert.equal((await scene.send('PATCH', `/v12/deployments/${id}/cancel`, {})).status, 200)
  }
  for (const [name, { script, onBegin, seconds, expected, log }] of Object.entries(HOSTILE))
    await t.test(`a build that ${name}: ${expected.code ?? expected.state}`, { timeout: HOUR_MS }, async () => {
      const began = performance.now()
      const files = {
        'package.json': '{"name":"page","private":true,"scripts":{"build":"node hostile.mjs"}}',
        'hostile.mjs': IMPORTS + script,
      }
      const built = await scene.build(createOf('hostile', files, seconds), onBegin && cancel)
      sayFigure(`a build that ${name}: ${((performance.now() - began) / 1000).toFixed(1)} s`)
      const { state, code, message, lines } = built
      const said = `${message}\n${lines
        .slice(-20)
        .map(({ text }) => text.slice(0, 300))
        .join('\n')}`
      assert.deepEqual([state, code], [expected.state, expected.code], said)
      assert.match(message, expected.message ?? /^/, said)
      log?.(lines)
      assert.deepEqual(scene.lab.arrived(), [], 'the services of the host see nothing')
    })
  assert.ok(seen > 0, 'the control: of a build that runs something is seen')
})

test('a registry that is slow, and a lock that lies, end a build with what is wrong', {
  skip,
  timeout: HOUR_MS,
}, async (t) => {
  const scene = await openScene(t)
  await createProject(scene, { name: 'installs', outputDirectory: 'public' })
  const build = (
    settings: string,
    more: Readonly<Record<string, string>> = {},
    packageManager?: string,
    seconds?: number,
  ) => {
    const scripts = { build: 'mkdir public && node -p \'require("one")\' > public/index.html' }
    const manifest = { name: 'page', private: true, scripts, dependencies: { one: '1.0.0' }, packageManager }
    const files = { 'package.json': JSON.stringify(manifest), '.npmrc': settings, ...more }
    return scene.build(createOf('installs', files, seconds))
  }
  const good = await build('')
  assert.equal(good.state, 'READY', good.message)
  for (const [name, { settings, files, packageManager, seconds, code, message }] of Object.entries(INSTALLS))
    await t.test(name, { timeout: HOUR_MS }, async () => {
      const began = performance.now()
      const built = await build(settings, files, packageManager, seconds)
      sayFigure(`${name}: ${((performance.now() - began) / 1000).toFixed(1)} s`)
      const said = `${built.message}\n---\n${built.lines
        .slice(-20)
        .map(({ text }) => text.slice(0, 300))
        .join('\n')}`
      assert.deepEqual([built.state, built.code], ['ERROR', code], said)
      assert.match(built.message, message, said)
      assert.deepEqual(scene.lab.arrived(), [], 'the services of the host see nothing')
    })
})

/** An archive of so many files, one of which is the page of its site. */
function packSource(files: number): Buffer {
  const others = Array.from({ length: files - 1 }, (_, at) => file(`data/${at % 100}/${at}.txt`, `${at}`))
  return tgz(file('public/index.html', '<h1>many</h1>'), ...others)
}

test('a source of 20,000 files is built, and one of 20,001 is refused at the create', {
  skip,
  timeout: HOUR_MS,
}, async (t) => {
  // Those of the source, and of the output.
  const scene = await openScene(t, { BERTH_BUILD_FILES: '60000' })
  const { send, build } = scene
  await createProject(scene, { name: 'many' })
  const createOf = async (files: number) => {
    const bytes = packSource(files)
    const sha = hashOf('sha1', bytes)
    assert.equal((await send('POST', '/v2/files', bytes, { 'x-now-digest': sha })).status, 200)
    return { name: 'many', files: [{ file: '.vercel/source.tgz', sha, size: bytes.length, mode: 0o100644 }] }
  }
  const refused = await send('POST', '/v13/deployments?forceNew=1', await createOf(20_001))
  assert.equal(refused.status, 400)
  assert.match(refused.body.error.message, /The archive has more than 20000 files/)
  const began = performance.now()
  const built = await build(await createOf(20_000))
  sayFigure(`a source of 20,000 files: ${((performance.now() - began) / 1000).toFixed(1)} s`)
  assert.equal(built.state, 'READY', built.message)
  assert.ok(built.lines.some(({ text }) => text === 'Copied 20000 files of the source.'))
})
