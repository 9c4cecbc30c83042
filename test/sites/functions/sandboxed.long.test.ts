/** Functions in a sandbox: what they see, and that none outlives its sites server. docs/functions.md; docs/sandbox.md. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { chmodSync } from 'node:fs'
import { dirname } from 'node:path'
import { type TestContext, test } from 'node:test'
import { runAsOf } from '../../../src/sandbox/run-as.ts'
import type { FunctionOptions } from '../../../src/sites/functions/runtime.ts'
import { labSkipReason } from '../../sandbox/lab.ts'
import { eventually } from '../../support/eventually.ts'
import { canRun, skipReason } from '../../support/programs.ts'
import { functionOf, showFunctions } from './function-site.ts'

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

function sandboxed(network: 'none' | 'internet' = 'none'): Partial<FunctionOptions> {
  const folder = dirname(dirname(process.execPath))
  return {
    kind: 'sandboxed',
    runAs: runAsOf(undefined),
    network,
    node: async () => ({ folder, program: process.execPath }),
  }
}

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
  const module = `import { readlinkSync } from 'node:fs'
    const of = (name) => readlinkSync('/proc/self/ns/' + name)
    export const GET = () => Response.json({ net: of('net'), pid: of('pid'), mnt: of('mnt') })`
  const contents = { ...functionOf('api/one', module), ...functionOf('api/other', module) }
  const { visit, folder } = await showFunctions(t, contents, { own: sandboxed('internet') })
  chmodSync(folder, 0o711)
  const answers = await Promise.all(['/api/one', '/api/other'].map((path) => visit(path)))
  const [one, other] = answers.map(({ text }) => JSON.parse(text))
  assert.equal(one.net, other.net)
  assert.notEqual(one.pid, other.pid)
  assert.notEqual(one.mnt, other.mnt)
})
