/** One tenant's function against another's on one sites server, each with a control that succeeds. docs/functions.md; docs/data-cache.md. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { labSkipReason, openLab } from '../../sandbox/lab.ts'
import { type Change, sandboxSkipReason, without } from '../../sandbox/sandbox-world.ts'
import { eventually } from '../../support/eventually.ts'
import { canRun, skipReason } from '../../support/programs.ts'
import { SITE } from '../visitors/control-plane.ts'
import { functionOf } from './function-site.ts'
import { sandboxedWith } from './run-inside.ts'
import { connectTo, LISTEN, ONE_ID, OTHER, OTHER_ID, showTenants } from './tenants.ts'

const PYTHON = '/usr/bin/python3'
const skip = sandboxSkipReason() || (canRun(PYTHON, '--version') ? false : skipReason('python3', 'python3', 'tenants'))

/** Both sockets of the function, as its launcher was given them. */
const OWN_SOCKETS = `${PYTHON} -c "
import json
for pid in range(1, 40):
  try: words = open('/proc/%d/cmdline' % pid).read().split(chr(0))
  except OSError: continue
  for word in words:
    if word.startswith('{'):
      options = json.loads(word)
      print(options['socket'], options['cache'])
      raise SystemExit"`

/** All sockets of the sites server are mounted. */
const ALL_SOCKETS: Change = ({ options, command }) => {
  const at = options.findIndex((word, from) => options[from - 1] === '--ro-bind' && /\/s\/\w+$/.test(word))
  const folder = dirname(options[at]!)
  const end = options.indexOf('--remount-ro')
  return { options: [...options.slice(0, end), '--ro-bind', folder, `/host${folder}`, ...options.slice(end)], command }
}

test('no function reaches a socket of another tenant, not that of its data cache either', {
  skip,
  timeout: 300_000,
}, async (t) => {
  for (const [change, expected] of [
    [undefined, 'FileNotFoundError\n'],
    [ALL_SOCKETS, 'reached\n'],
  ] as const) {
    const { one, other } = await showTenants(t, sandboxedWith(change))
    await other('true')
    const sockets = (await one(OWN_SOCKETS)).trim().split(' ')
    assert.equal(sockets.length, 2)
    for (const socket of sockets) {
      assert.equal(await one(connectTo(socket)), 'reached\n', 'its own')
      assert.equal(await other(connectTo(socket)), expected, change === undefined ? socket : 'the control')
    }
  }
})

test('no function reaches what one of another tenant listens at: a port of loopback, a name of a socket', {
  skip,
  timeout: 300_000,
}, async (t) => {
  for (const [change, expected] of [
    [undefined, 'ConnectionRefusedError\nConnectionRefusedError\n'],
    [without(['--unshare-net']), 'reached\nreached\n'],
  ] as const) {
    const { one, other } = await showTenants(t, sandboxedWith(change))
    await one(LISTEN)
    assert.equal(await one(connectTo()), 'reached\nreached\n', 'its own')
    assert.equal(await other(connectTo()), expected, change === undefined ? 'another' : 'the control')
  }
})

test('functions with network reach those of their project on loopback, and none of another tenant', {
  skip: labSkipReason(),
  timeout: 600_000,
}, async (t) => {
  const lab = await openLab(t)
  const [program, ...words] = lab.words(process.execPath, join(import.meta.dirname, 'in-lab.ts'), 'tenants')
  const { stdout, stderr } = spawnSync(program!, words, { encoding: 'utf8' })
  const [refused, reached] = ['ConnectionRefusedError\nConnectionRefusedError\n', 'reached\nreached\n']
  assert.deepEqual(JSON.parse(stdout), { same: reached, other: refused }, stderr)
})

const SEGMENT = 71_230_001
/** Leaves a file in both places that can be written, and a segment of shared memory. */
const LEAVE = `echo left > /tmp/left; echo left > /dev/shm/left; ${PYTHON} -c "
import ctypes
print('made' if ctypes.CDLL(None).shmget(${SEGMENT}, 4096, 0o1666) >= 0 else 'none')"`
/** Says which of them are there, and removes the segment. */
const FIND = `for file in /tmp/left /dev/shm/left; do [ -e $file ] && echo found || echo nothing; done; ${PYTHON} -c "
import ctypes
c = ctypes.CDLL(None)
segment = c.shmget(${SEGMENT}, 4096, 0)
print('nothing' if segment < 0 else 'found')
c.shmctl(segment, 0, None)"`

/** Both places are directories of the host, and shared memory is that of the host. */
function sharedAt(folder: string): Change {
  return ({ options, command }) => ({
    options: options.flatMap((word, at) => {
      if (word === '--unshare-ipc' || word === '--size' || options[at - 1] === '--size') return []
      const isShared = word === '--tmpfs' && ['/tmp', '/dev/shm'].includes(options[at + 1]!)
      return isShared ? ['--bind', folder] : [word]
    }),
    command,
  })
}

test('no function finds what one of another tenant left: files, a segment of shared memory', {
  skip,
  timeout: 300_000,
}, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-shared-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  chmodSync(folder, 0o777)
  for (const [change, expected] of [
    [undefined, 'nothing'],
    [sharedAt(folder), 'found'],
  ] as const) {
    const { one, other } = await showTenants(t, sandboxedWith(change))
    assert.equal(await one(LEAVE), 'made\n')
    assert.equal(await other(FIND), `${expected}\n`.repeat(3), change === undefined ? 'another' : 'the control')
    if (change === undefined) assert.equal(await one(FIND), 'found\n'.repeat(3), 'its own')
  }
})

const CACHE = `export async function GET(request) {
  const { cache } = globalThis[Symbol.for('@vercel/request-context')].get()
  const params = new URL(request.url).searchParams
  if (params.has('value')) await cache.set('k', params.get('value'), { tags: ['a'] })
  if (params.has('expire')) await cache.expireTag('a')
  return Response.json(await cache.get('k') ?? null)
}`

test('no function reads, replaces or purges what one of another tenant cached', {
  skip,
  timeout: 300_000,
}, async (t) => {
  const { site } = await showTenants(t, sandboxedWith(), functionOf('api/cache', CACHE))
  const ask = async (host: string, query = '') => JSON.parse((await site.visit(host, `/api/cache${query}`)).text)
  assert.equal(await ask(SITE, '?value=of-the-one'), 'of-the-one')
  assert.equal(await ask(OTHER), null)
  assert.equal(await ask(OTHER, '?value=of-the-other'), 'of-the-other')
  assert.equal(await ask(OTHER, '?expire'), null, 'the control: the other has purged its own')
  assert.equal(await ask(SITE), 'of-the-one')
  assert.equal(await ask(SITE, '?expire'), null, 'the control')
})

const FORGE = `export function GET(request) {
  const params = new URL(request.url).searchParams
  const id = params.get('id') ?? request.headers.get('x-vercel-id')
  const { writeSync } = process.getBuiltinModule('node:fs')
  writeSync(1, '\\u001eo ' + id + ' ' + JSON.stringify(params.get('text')) + '\\n')
  return new Response(id)
}`

test('no function writes into the log of another tenant, or reads of its requests there', {
  skip,
  timeout: 300_000,
}, async (t) => {
  const { site, control } = await showTenants(t, sandboxedWith(), functionOf('api/forge', FORGE))
  const own = await site.visit(SITE, '/api/forge?text=own')
  const id = String(own.headers['x-vercel-id'])
  await site.visit(OTHER, `/api/forge?text=forged&id=${encodeURIComponent(id)}`)
  const line = (text: string) => control.lines.find((one) => one.text === text)
  await eventually(async () => line('own') !== undefined && line('forged') !== undefined)
  const facts = (text: string) => [line(text)!.deploymentId, line(text)!.requestId, line(text)!.host, line(text)!.path]
  assert.deepEqual(
    facts('own'),
    [ONE_ID, id, SITE, '/api/forge'],
    'the control: an own line has the facts of its request',
  )
  assert.deepEqual(facts('forged'), [OTHER_ID, id, '', ''])
})

const HANG = `let held = 0
export const GET = (request) => new URL(request.url).searchParams.has('hang') ? new Promise(() => { held++ }) : new Response(String(held))`

test('a tenant whose functions hold all requests that it may have leaves those of others theirs', {
  skip,
  timeout: 600_000,
}, async (t) => {
  const hang = functionOf('api/hang', HANG, { maxDuration: 120 })
  const { site, other } = await showTenants(t, sandboxedWith(), hang)
  await other('true')
  const left = Array.from({ length: 256 }, () => site.visit(OTHER, '/api/hang?hang').catch(() => undefined))
  const isThrottled = async () =>
    (await site.visit(OTHER, '/api/hang')).headers['x-vercel-error'] === 'FUNCTION_THROTTLED'
  await eventually(isThrottled)
  const reply = await site.visit(SITE, '/api/hang')
  assert.deepEqual([reply.status, reply.text], [200, '0'])
  assert.ok(await isThrottled(), 'the control: its own are refused')
  await site.stop()
  await Promise.all(left)
})
