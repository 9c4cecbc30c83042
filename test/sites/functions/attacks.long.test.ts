/** Attacks from inside a deployed function, each with a control: without the layer that stops it, it succeeds. docs/sandbox.md; docs/functions.md. */
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { chmodSync, readdirSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { INOTIFY_INSTANCES } from '../../../src/sandbox/init-script.ts'
import { ATTACKS } from '../../sandbox/attack-table.ts'
import { type Lab, labSkipReason, openLab } from '../../sandbox/lab.ts'
import { ADDRESSES, probe, type Reach, readProbe } from '../../sandbox/lab-addresses.ts'
import type { Attack } from '../../sandbox/limit-attacks.ts'
import { attempts, EHOSTUNREACH, GET_ADDRESS, lastAttempts } from '../../sandbox/new-address.ts'
import { processesWith } from '../../sandbox/processes.ts'
import { RUN_AS } from '../../sandbox/run-as.ts'
import { type Change, sandboxSkipReason, without } from '../../sandbox/sandbox-world.ts'
import { eventually } from '../../support/eventually.ts'
import { canRun, skipReason } from '../../support/programs.ts'
import { functionOf, showFunctions } from './function-site.ts'
import { RUN, runInside, sandboxedWith } from './run-inside.ts'

const PYTHON = '/usr/bin/python3'
const skip =
  sandboxSkipReason() ||
  (canRun(PYTHON, '--version') ? false : skipReason('python3', 'python3', 'attacks in functions'))

const FILE = '/var/task/index.mjs'

/** Its code can be written: the mount, and the mode of the copy. */
const WRITABLE: Change = ({ options, command }) => {
  const changed = options.map((word, at) => {
    if (word !== '--ro-bind' || options[at + 2] !== '/var/task') return word
    const folder = options[at + 1]!
    chmodSync(folder, 0o777)
    for (const name of readdirSync(folder)) chmodSync(join(folder, name), 0o666)
    return '--bind'
  })
  return { options: changed, command }
}

/** TABLE what a function may try with its code, which functions of the deployment share. */
const ON_CODE: readonly Attack[] = [
  {
    what: 'changes its code',
    script: `echo '//' >> ${FILE} && echo changed`,
    stopped: /Permission denied|Read-only file system/,
    control: WRITABLE,
    succeeds: /^changed$/m,
  },
  {
    what: 'gets a hard link to its code',
    script: `for to in /tmp/mine /var/task/mine; do ln ${FILE} $to && echo linked; done`,
    stopped: /Invalid cross-device link[\s\S]*(Read-only file system|Operation not permitted)/,
    control: WRITABLE,
    succeeds: /^linked$/m,
  },
  {
    what: 'plants a socket where the host looks names up',
    script: `${PYTHON} -c "import socket; socket.socket(socket.AF_UNIX).bind('/var/task/planted'); print('planted')"`,
    stopped: /Read-only file system/,
    control: WRITABLE,
    succeeds: /^planted$/m,
  },
]

async function attack(t: TestContext, script: string, change?: Change): Promise<string> {
  const { visit } = await showFunctions(t, functionOf('api/run', RUN), { own: sandboxedWith(change) })
  return runInside(visit, script)
}

for (const { what, script, stopped, control, succeeds } of [...ATTACKS, ...ON_CODE])
  test(`no function ${what}`, { skip, timeout: 300_000 }, async (t) => {
    assert.match(await attack(t, script), stopped)
    assert.match(await attack(t, script, control), succeeds, 'the control')
  })

/** TABLE what a function does to its own process → what its visitor gets, and why, as its log says. `bad`: its code. */
const ON_ITSELF: readonly { what: string; bad: string; status: number; code?: string; says?: RegExp }[] = [
  {
    what: 'spins',
    bad: 'for (;;);',
    status: 504,
    code: 'FUNCTION_INVOCATION_TIMEOUT',
    says: /Task timed out after 2 seconds/,
  },
  {
    what: 'closes its output',
    bad: "closeSync(1); closeSync(2); console.log('nowhere'); return new Response('closed')",
    status: 200,
  },
  {
    what: 'sends signals to all that it sees, and to itself',
    bad: `for (const pid of [1, -1, process.pid]) try { process.kill(pid, 'SIGKILL') } catch {}
  await new Promise(() => {})`,
    status: 500,
    code: 'FUNCTION_INVOCATION_FAILED',
    says: /The process ended with (?:signal SIGKILL|exit code 137)/,
  },
  {
    what: 'imports native code that is not a module',
    bad: `process.dlopen({ exports: {} }, process.report.getReport().sharedObjects.find((path) => /libc\\.so/.test(path)))`,
    status: 500,
    code: 'FUNCTION_INVOCATION_FAILED',
    says: /did not self-register/,
  },
  {
    what: 'crashes in native code',
    bad: 'process.abort()',
    status: 500,
    code: 'FUNCTION_INVOCATION_FAILED',
    says: /The process ended with (?:signal SIGABRT|exit code 134)/,
  },
]

for (const { what, bad, status, code, says } of ON_ITSELF)
  test(`a function that ${what}: its visitor gets ${code ?? 'an answer'}, and it and others answer the next visitors`, {
    skip,
    timeout: 300_000,
  }, async (t) => {
    const module = `import { closeSync } from 'node:fs'
export async function GET(request) {
  if (!request.url.endsWith('bad')) return new Response('good')
  ${bad}
}`
    const contents = { ...functionOf('api/it', module, { maxDuration: 2 }), ...functionOf('api/other', module) }
    const { visit, control } = await showFunctions(t, contents, { own: sandboxedWith() })
    assert.equal((await visit('/api/other')).text, 'good')
    const reply = await visit('/api/it?bad')
    assert.deepEqual([reply.status, reply.headers['x-vercel-error']], [status, code])
    assert.equal((await visit('/api/other')).text, 'good')
    await eventually(async () => (await visit('/api/it')).text === 'good')
    const texts = () => control.lines.map(({ text }) => text).join('\n')
    if (says !== undefined) await eventually(() => says.test(texts()))
  })

test('no function reaches a service of the host, neither by its address nor by an abstract socket', {
  skip,
  timeout: 300_000,
}, async (t) => {
  let reached = 0
  const answer = () => createServer((socket) => socket.end(String(++reached)))
  const [server, abstract] = [answer(), answer()]
  const name = `berth-test-function-${process.pid}`
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  await new Promise<void>((resolve) => abstract.listen(`\0${name}`, resolve))
  t.after(() => server.close())
  t.after(() => abstract.close())
  const { port } = server.address() as { port: number }
  const script = connecting(`(socket.AF_INET, ('127.0.0.1', ${port})), (socket.AF_UNIX, chr(0) + '${name}')`)
  assert.equal(await attack(t, script), 'ConnectionRefusedError\nConnectionRefusedError\n')
  assert.equal(reached, 0)
  assert.equal(await attack(t, script, without(['--unshare-net'])), 'reached\nreached\n', 'the control')
})

/** Prints for each address whether something answers. */
function connecting(addresses: string): string {
  return `${PYTHON} -c "
import socket
for family, address in (${addresses}):
  s = socket.socket(family)
  s.settimeout(5)
  try:
    s.connect(address)
    s.recv(1)
    print('reached')
  except OSError as error: print(type(error).__name__)"`
}

test('no function uses up what the kernel counts for the user of all functions', {
  skip,
  timeout: 300_000,
}, async (t) => {
  const count = `import ctypes
held = 0
while held < 1000 and ctypes.CDLL(None).inotify_init() >= 0: held += 1
print(held, flush=True)`
  const { visit } = await showFunctions(
    t,
    { ...functionOf('api/run', RUN), ...functionOf('api/other', RUN) },
    { own: sandboxedWith() },
  )
  const held = Number(await runInside(visit, `${PYTHON} -c "${count}\nimport time; time.sleep(60)" & sleep 2`))
  assert.ok(held > 0 && held <= INOTIFY_INSTANCES, `one holds ${held}`)
  const other = Number(await runInside(visit, `${PYTHON} -c "${count}"`, '/api/other'))
  assert.ok(other > 0 && other <= INOTIFY_INSTANCES, `the other gets ${other}`)
  const outside = spawnSync(PYTHON, ['-c', count], { encoding: 'utf8', cwd: '/', ...RUN_AS })
  assert.ok(Number(outside.stdout) > INOTIFY_INSTANCES, 'the control: the user has more')
})

/** TABLE files that set the kernel of all. */
const KERNEL = ['/proc/sys/kernel/core_pattern', '/proc/sys/vm/drop_caches', '/proc/sys/fs/inotify/max_user_instances']

test('no function opens what sets the kernel', { skip, timeout: 300_000 }, async (t) => {
  const script = KERNEL.map((file) => `(: >> ${file}) 2>/dev/null && echo opened || echo refused`).join('\n')
  assert.equal(await attack(t, script), 'refused\n'.repeat(KERNEL.length))
  if (process.getuid?.() !== 0) return
  const outside = spawnSync('sh', ['-c', script], { encoding: 'utf8' })
  assert.equal(outside.stdout, 'opened\n'.repeat(KERNEL.length), 'the control: root outside')
})

test('nothing that a function leaves behind outlives it, in a session of its own and without signals', {
  skip,
  timeout: 300_000,
}, async (t) => {
  for (const [isSandboxed, seconds] of [
    [true, '81001.5'],
    [false, '81002.5'],
  ] as const) {
    const own = isSandboxed ? sandboxedWith() : {}
    const { visit, site } = await showFunctions(t, functionOf('api/run', RUN), { own })
    await runInside(visit, `trap '' HUP INT TERM; (setsid sleep ${seconds} >/dev/null 2>&1 &)`)
    await eventually(() => processesWith(seconds).length === 1)
    await site.stop()
    if (isSandboxed) await eventually(() => processesWith(seconds).length === 0)
    else {
      const left = processesWith(seconds)
      for (const pid of left) process.kill(pid, 'SIGKILL')
      assert.equal(left.length, 1, 'the control: a plain process')
    }
  }
})

/** Runs a script in a function on the host of the lab. */
async function inFunction(lab: Lab, rules: 'all' | 'none', script: string): Promise<string> {
  const [program, ...words] = lab.words(process.execPath, join(import.meta.dirname, 'in-lab.ts'), 'probe', rules)
  const child = spawn(program!, words, { stdio: ['pipe', 'pipe', 'inherit'] })
  child.stdin.end(script)
  return text(child.stdout)
}

test('a function with network reaches public addresses and DNS, and nothing of the host or of a private network', {
  skip: labSkipReason(),
  timeout: 600_000,
}, async (t) => {
  const lab = await openLab(t)
  const linkLocal = /fe80[\w:]+/.exec(lab.onHost('ip -6 addr show dev h0 scope link'))?.[0]
  const script = probe(ADDRESSES.map(([, address, port]) => [address.replace('LINK_LOCAL', `${linkLocal}%h0`), port]))
  const reachedBy = (...who: Reach[]) => ADDRESSES.filter(([, , , reach]) => who.includes(reach)).map(([what]) => what)
  const probed = async (rules: 'all' | 'none') => {
    const said = await inFunction(lab, rules, script)
    return { ...readProbe(said), said }
  }
  const open = await probed('none')
  assert.deepEqual(open.tcp, reachedBy('sandboxed', 'without rules'), `the control without rules: ${open.said}`)
  assert.equal(open.icmp, 'reached', 'the control without rules')
  assert.notDeepEqual(lab.arrived(), [])
  const kept = await probed('all')
  assert.deepEqual([kept.tcp, kept.udp], [reachedBy('sandboxed'), reachedBy('sandboxed')], kept.said)
  assert.deepEqual([kept.icmp, kept.abstract], ['refused', 'refused'])
  assert.deepEqual(lab.arrived(), [], 'the services of the host see nothing')
})

test('an address that the host gets while a function runs is closed', {
  skip: labSkipReason(),
  timeout: 600_000,
}, async (t) => {
  for (const [rules, expected] of [
    ['all', EHOSTUNREACH],
    ['none', 'reached'],
  ] as const) {
    const lab = await openLab(t)
    const running = inFunction(lab, rules, attempts())
    await eventually(() => processesWith(attempts()).length > 0)
    lab.onHost(GET_ADDRESS)
    assert.deepEqual(lastAttempts(await running), new Set([expected]), rules === 'none' ? 'the control' : rules)
  }
})
