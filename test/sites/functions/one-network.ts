/** Runs in the lab of test/sandbox/lab.ts: what two functions of a project share. */
import assert from 'node:assert/strict'
import { chmodSync } from 'node:fs'
import { test } from 'node:test'
import { functionOf, showFunctions } from './function-site.ts'
import { sandboxed } from './sandboxed.ts'

test('the functions of a project have one network namespace', async (t) => {
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
