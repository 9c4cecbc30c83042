/** What control groups stop, each with a control, on a machine that has them in version 2. docs/sandbox.md: Limits. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { sandboxSkipReason } from './sandbox-world.ts'

const [, mount] = / (\S+) \S+ - cgroup2 /.exec(readFileSync('/proc/self/mountinfo', 'utf8')) ?? []

function skipReason(): string | false {
  const enabled = mount === undefined ? '' : readFileSync(join(mount, 'cgroup.subtree_control'), 'utf8')
  if (process.getuid?.() === 0 && ['memory', 'pids', 'cpu'].every((name) => enabled.includes(name)))
    return sandboxSkipReason()
  const said = 'there are no controllers of version 2 for root, so nothing is known of the control groups of sandboxes'
  console.error(`SKIPPED: ${said}`)
  return said
}

test('memory, files in memory and processes end at the control group of a sandbox', {
  skip: skipReason(),
  timeout: 600_000,
}, (t) => {
  const group = join(mount!, `berth-test-${process.pid}`)
  mkdirSync(group)
  t.after(() => {
    rmdirSync(join(group, 'service'))
    rmdirSync(group)
  })
  const words = ['-c', 'echo $$ > "$0/cgroup.procs"; exec "$@"', group, process.execPath]
  const { stdout, stderr } = spawnSync('sh', [...words, join(import.meta.dirname, 'in-group.ts')], { encoding: 'utf8' })
  assert.notEqual(stdout, '', stderr)
  const seen = JSON.parse(stdout)
  assert.deepEqual(seen.controllers, ['memory', 'pids', 'cpu'])
  for (const name of ['memory', 'file', 'emptyFiles']) assert.equal(seen[name].ranOutOfMemory, true, name)
  assert.equal(seen.memoryControl.output, 'all\n')
  assert.equal(seen.fileControl.output, 'written\n')
  assert.ok(Number(seen.forks.output) < 60, seen.forks.output)
  assert.match(seen.inside.output, /^0::\/$/m, 'the command does not see where it is')
  assert.deepEqual(seen.left, ['service'])
})
