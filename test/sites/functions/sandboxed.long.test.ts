/** Functions in a sandbox: what they see, and that none outlives its sites server. docs/functions.md; docs/sandbox.md. */
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { labSkipReason, openLab } from '../../sandbox/lab.ts'
import { eventually } from '../../support/eventually.ts'
import { canRun, skipReason } from '../../support/programs.ts'
import { functionOf, showFunctions } from './function-site.ts'
import { sandboxed } from './sandboxed.ts'

const skip = canRun('bwrap', '--version') ? false : skipReason('bwrap', 'bubblewrap', 'functions in a sandbox')

const LOOK = `import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
const attempt = (work) => { try { return work() } catch (error) { return error.code } }
export async function GET(request) {
  const port = Number(new URL(request.url).searchParams.get('port'))
  const reached = await new Promise((go) => connect(port, '127.0.0.1').once('connect', () => go('CONNECTED')).once('error', (error) => go(error.code)))
  return Response.json({
    names: Object.keys(process.env).sort(), code: attempt(() => writeFileSync(import.meta.filename, 'x')),
    here: attempt(() => writeFileSync('own.txt', 'x')), tmp: attempt(() => writeFileSync('/tmp/own.txt', 'x')) ?? 'written',
    shadow: attempt(() => readFileSync('/etc/shadow', 'utf8').length), processes: readdirSync('/proc').filter((name) => /^[0-9]+$/.test(name)).length,
    reached, uid: process.getuid(), cwd: process.cwd(),
  })
}`

async function show(t: TestContext, contents: Record<string, string>) {
  return showFunctions(t, contents, { own: sandboxed(), env: { OF_PROJECT: 'yes' } })
}

test('a function sees its own variables and files, writes only to /tmp, and reaches nothing of the host', {
  skip,
}, async (t) => {
  const { visit, origin } = await show(t, functionOf('api/look', LOOK))
  const { status, text } = await visit(`/api/look?port=${new URL(origin).port}`)
  assert.equal(status, 200, text)
  const { names, ...seen } = JSON.parse(text)
  assert.deepEqual(names, ['HOME', 'LANG', 'NODE_ENV', 'OF_PROJECT', 'PATH', 'PWD', 'TZ'])
  assert.ok(seen.processes <= 4, `sees ${seen.processes} processes`)
  assert.deepEqual(
    { ...seen, processes: 0 },
    {
      code: 'EROFS',
      here: 'EROFS',
      tmp: 'written',
      shadow: 'ENOENT',
      processes: 0,
      reached: 'ECONNREFUSED',
      uid: 1000,
      cwd: '/var/task',
    },
  )
})

test('a function that takes too long, or that is not used, leaves no process', { skip }, async (t) => {
  const mark = `mark-${process.pid}-${Date.now()}`
  const contents = functionOf('api/hang', `globalThis.name = '${mark}'; export default () => {}`, { maxDuration: 1 })
  const { visit, folder } = await show(t, contents)
  chmodSync(folder, 0o711)
  assert.equal((await visit('/api/hang')).headers['x-vercel-error'], 'FUNCTION_INVOCATION_TIMEOUT')
  // Its process is killed 5 seconds after its last request.
  await eventually(async () => !execFileSync('ps', ['-eo', 'args'], { encoding: 'utf8' }).includes(`${folder}/`))
})

test('the functions of a project have one network namespace, and everything else is their own', {
  skip: labSkipReason(),
}, async (t) => {
  // The lab has the device that a network needs, also where that of the machine is closed.
  const lab = await openLab(t, true)
  const [program, ...words] = lab.words(process.execPath, join(import.meta.dirname, 'one-network.ts'))
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  const { stdout, status } = spawnSync(program!, words, { encoding: 'utf8', env })
  assert.equal(status, 0, stdout)
  assert.match(stdout, /pass 1$/m)
})
