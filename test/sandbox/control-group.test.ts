/** Where the control group of a process is. docs/sandbox.md: Limits. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ownGroup, unlimited } from '../../src/sandbox/limits/control-group.ts'

const ROOT = '30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n'
const BOUND = '812 801 0:26 /docker/7f /sys/fs/cgroup rw,nosuid - cgroup2 cgroup rw\n'
const VERSION_1 = '31 30 0:27 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n'

test('the group of a process is found below where version 2 is mounted', () => {
  assert.equal(ownGroup(ROOT, '0::/system.slice/berth.service\n'), '/sys/fs/cgroup/system.slice/berth.service')
  assert.equal(ownGroup(VERSION_1 + ROOT, '3:cpu:/x\n0::/\n'), '/sys/fs/cgroup')
  assert.equal(ownGroup(BOUND, '0::/docker/7f/one\n'), '/sys/fs/cgroup/one')
  assert.equal(ownGroup(BOUND, '0::/docker/7fff\n'), undefined, 'it lies outside of what is mounted')
  assert.equal(ownGroup(VERSION_1, '3:cpu:/x\n0::/\n'), undefined)
  assert.equal(ownGroup(ROOT, '3:cpu:/x\n'), undefined)
})

test('what nothing limits is reported, and how to limit it', async () => {
  const create = () => assert.fail()
  assert.match(
    (await unlimited(Promise.resolve(undefined)))!,
    /memory, the sum of .* and processor time .*Delegate=yes/,
  )
  const some = Promise.resolve({ controllers: ['memory', 'pids'] as const, create })
  assert.match((await unlimited(some))!, /^nothing limits processor time of sandboxes/)
  const all = Promise.resolve({ controllers: ['memory', 'pids', 'cpu'] as const, create })
  assert.equal(await unlimited(all), undefined)
})
