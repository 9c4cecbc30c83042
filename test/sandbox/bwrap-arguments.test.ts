/** The command line of the sandbox, as a pure function of the policy. docs/sandbox.md. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bwrapArguments } from '../../src/sandbox/bwrap-arguments.ts'
import { DEFAULT_LIMITS, type Policy } from '../../src/sandbox/policy.ts'

const POLICY: Policy = {
  command: ['node', 'build.js'],
  env: { PATH: '/usr/bin', TOKEN: 'secret' },
  workDirectory: '/var/lib/berth/runs/1/work',
  readOnly: ['/var/lib/berth/node-22'],
  network: 'none',
  currentDirectory: '/work',
  limits: DEFAULT_LIMITS,
}

test('only what the policy names is writable, and it is mounted before the rest becomes read-only', () => {
  const { options } = bwrapArguments(POLICY)
  const writable = options.flatMap((word, at) => (word === '--bind' ? [options.slice(at + 1, at + 3)] : []))
  assert.deepEqual(writable, [['/var/lib/berth/runs/1/work', '/work']])
  assert.ok(options.lastIndexOf('--ro-bind') < options.indexOf('--remount-ro'))
  assert.ok(options.indexOf('--bind') < options.indexOf('--remount-ro'))
  assert.deepEqual(
    options.flatMap((word, at) => (word === '--remount-ro' ? [options[at + 1]] : [])),
    ['/dev/pts', '/dev', '/'],
  )
  const without = bwrapArguments({ ...POLICY, workDirectory: undefined }).options
  assert.equal(without.includes('--bind'), false)
})

test('the environment is what the policy says, and stands in no command line', () => {
  const { options, command } = bwrapArguments(POLICY)
  assert.ok(options.indexOf('--clearenv') < options.indexOf('--setenv'))
  const set = options.flatMap((word, at) => (word === '--setenv' ? [options.slice(at + 1, at + 3)] : []))
  assert.deepEqual(set, [
    ['PATH', '/usr/bin'],
    ['TOKEN', 'secret'],
  ])
  assert.equal(command.join(' ').includes('secret'), false)
})

test('limits are set within the namespace of the user, in front of the command', () => {
  const { options, command } = bwrapArguments(POLICY)
  assert.deepEqual(command, [
    'prlimit',
    '--nproc=256',
    '--nofile=4096',
    '--fsize=2147483648',
    '--as=274877906944',
    '--core=0',
    '--sigpending=1024',
    '--msgqueue=204800',
    '--',
    'node',
    'build.js',
  ])
  for (const mount of ['/tmp', '/dev/shm']) assert.equal(options[options.indexOf(mount) - 2]! > '0', true, mount)
})

test("read-only mounts are below a directory of their own, and files in /etc are the sandbox's own", () => {
  const { options } = bwrapArguments(POLICY, { '/etc/hosts': '/var/lib/berth/runs/1/own/hosts' })
  const mounted = options.flatMap((word, at) => (word === '--ro-bind' ? [options.slice(at + 1, at + 3)] : []))
  assert.deepEqual(mounted, [
    ['/usr', '/usr'],
    ['/var/lib/berth/runs/1/own/hosts', '/etc/hosts'],
    ['/var/lib/berth/node-22', '/host/var/lib/berth/node-22'],
  ])
})

test('without network there is a network namespace of its own, and with network that of the rules is kept', () => {
  const isAlone = (network: Policy['network']) =>
    bwrapArguments({ ...POLICY, network }).options.includes('--unshare-net')
  assert.deepEqual([isAlone('none'), isAlone('internet'), isAlone({ allow: ['10.0.0.1'] })], [true, false, false])
})
