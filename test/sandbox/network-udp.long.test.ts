/** What a command with network does to UDP ports of the host and of other sandboxes. docs/sandbox.md: UDP ports of the host. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { type TestContext, test } from 'node:test'
import { MAX_CONNECTIONS, networkRules } from '../../src/sandbox/network/rules.ts'
import { tryRules } from '../../src/sandbox/network/udp.ts'
import { eventually } from '../support/eventually.ts'
import { type Lab, labSkipReason, openLab, type Rules } from './lab.ts'
import { RUN_AS } from './run-as.ts'

const skip = labSkipReason()
const timeout = 300_000
const NODE = dirname(dirname(process.execPath))
const WITHOUT_MAP: Rules = { without: 'masquerade' }

/** Starts a program for the test, and collects its lines. */
async function collect(t: TestContext, [program, ...words]: readonly string[]): Promise<string[]> {
  const child = spawn(program!, words, { stdio: ['ignore', 'pipe', 'inherit'] })
  t.after(() => child.kill('SIGKILL'))
  const lines: string[] = []
  const reader = createInterface({ input: child.stdout })
  reader.on('line', (line) => lines.push(line))
  await once(reader, 'line')
  return lines
}

/** What test/sandbox/lab-udp.ts gets. */
async function openServer(t: TestContext, lab: Lab) {
  const lines = await collect(t, lab.internetWords(process.execPath, join(import.meta.dirname, 'lab-udp.ts')))
  return { received: () => lines.slice(1).map((line): { text: string; port: number } => JSON.parse(line)) }
}

const python = (script: string) => `python3 - <<'END'
import socket, time
def bound(port):
  s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
  s.bind(('0.0.0.0', port))
  s.settimeout(1)
  return s
def received(s):
  try: return s.recv(100).decode()
  except OSError: return 'nothing'
${script}
END
`

/** Sends from the same port for some seconds, one datagram after another, each answered or not. */
const VICTIM = python(`s = bound(40000)
for n in range(16):
  s.sendto(b'victim %d' % n, ('192.88.7.7', 7777))
  until = time.time() + 0.5
  while time.time() < until: print(n, received(s))`)

/** Sends once and keeps all that comes. */
const THIEF = python(`s = bound(40000)
s.sendto(b'thief', ('192.88.7.7', 7777))
for n in range(6): print(received(s))`)

test('no sandbox gets the answers to another one that chose the same UDP port', { skip, timeout }, async (t) => {
  const lab = await openLab(t)
  const server = await openServer(t, lab)
  const stolen = async (rules: Rules) => {
    const before = server.received().length
    const victim = lab.inSandbox(VICTIM, {}, { rules })
    await eventually(() => server.received().length > before + 1)
    const thief = await lab.inSandbox(THIEF, {}, { rules })
    await victim
    return thief.output.split('\n').filter((line) => line.includes('victim'))
  }
  assert.notDeepEqual(await stolen(WITHOUT_MAP), [], 'the control')
  assert.deepEqual(await stolen('all'), [])
})

/** Binds the port of the host that its datagrams come from, where it can, and waits there too. */
const LISTENER = python(`first = bound(40000)
first.sendto(b'first', ('192.88.7.7', 7777))
answer = received(first)
print(answer)
try: second = bound(int(answer.split()[1]))
except OSError: second = bound(40001)
first.sendto(b'second', ('192.88.7.7', 7777))
for n in range(2): print(received(first), received(second))`)

test('no datagram that is not an answer arrives in a sandbox', { skip, timeout }, async (t) => {
  const lab = await openLab(t)
  await openServer(t, lab)
  const arrives = async (rules: Rules) => {
    const { output } = await lab.inSandbox(LISTENER, {}, { rules })
    assert.match(output, /answer \d+ first\n.*answer \d+ second/s)
    return output.includes('unsolicited')
  }
  assert.equal(await arrives('all'), false)
  // Newer pasta connects its sockets.
  if (!(await arrives('none'))) return t.skip('this pasta keeps out what is not an answer, so there is no control')
  assert.equal(await arrives({ without: 'ct state !=' }), true, 'the control')
})

/** Takes two ports at which services listen, or are going to. */
const TAKER = python(`first, second = bound(5353), bound(8125)
for s in first, second: s.sendto(b'taker', ('192.88.7.7', 7777))
for n in range(8): print(received(first), received(second))`)

test('a service of the host keeps its datagrams, and binds a UDP port that a command sends from', {
  skip,
  timeout,
}, async (t) => {
  const lab = await openLab(t)
  const server = await openServer(t, lab)
  const shared = 's.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)'
  const listen = `import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); ${shared}; s.bind(('0.0.0.0', 5353)); print('ready', flush=True)
while True: print(s.recv(100).decode(), flush=True)`
  const service = await collect(t, lab.words('python3', '-c', listen))
  const bind = `python3 -c "import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).bind(('0.0.0.0', 8125))" && echo bound || echo taken`
  const tried = async (rules: Rules) => {
    const [got, sent] = [service.length, server.received().length]
    const taker = lab.inSandbox(TAKER, {}, { rules })
    await eventually(() => server.received().length === sent + 2)
    const second = lab.onHost(bind).trim()
    const send = `import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'for the host', ('198.51.100.2', 5353))`
    await collect(t, lab.internetWords('python3', '-c', `${send}; print('sent')`))
    await taker
    return { second, service: service.slice(got) }
  }
  assert.deepEqual(await tried('all'), { second: 'bound', service: ['for the host'] })
  const control = await tried(WITHOUT_MAP)
  assert.equal(control.second, 'taken', 'the control')
  t.diagnostic(
    `the service gets ${control.service.length === 0 ? 'nothing' : control.service} where the command chose its port`,
  )
})

/** Sends to a different port each time, for some seconds. Says so once many are there, and prints how many connections the kernel keeps. */
const FLOOD = python(`s = bound(40000)
s.sendto(b'first', ('192.88.7.7', 7777))
until = time.time() + 12
sent = kept = 0
while time.time() < until or sent < 50000:
  try:
    s.sendto(b'x', ('192.88.7.7', 10000 + sent % 50000))
    kept += 1
  except OSError: pass
  sent += 1
  if sent == 20000: s.sendto(b'many', ('192.88.7.7', 7777))
print(open('/proc/sys/net/netfilter/nf_conntrack_count').read().strip(), sent - kept)`)

const LOOK_UP = `for n in $(seq 20); do getent ahostsv4 good.test | grep -q 192.88.7.7 && echo found; done`

/** Prints how many of 200 look-ups at a time were answered, by threads that each have a socket, and by one socket. */
const LOOK_UPS = (node: string) => `python3 - <<'END'
import socket
from concurrent.futures import ThreadPoolExecutor
def look_up(n): return socket.getaddrinfo('good.test', 80, socket.AF_INET)[0][4][0]
with ThreadPoolExecutor(100) as threads: print(list(threads.map(look_up, range(200))).count('192.88.7.7'))
END
/host${node}/bin/node -e "
const { resolve4 } = require('node:dns').promises
Promise.all(Array.from({ length: 200 }, () => resolve4('good.test'))).then((all) => console.log(all.filter(([ip]) => ip === '192.88.7.7').length))"
`

test('a flood of UDP connections is bounded, and another sandbox looks names up', { skip, timeout }, async (t) => {
  const lab = await openLab(t)
  const server = await openServer(t, lab)
  const kept = async (without?: string) => {
    const before = server.received().length
    const flood = lab.inSandbox(FLOOD, {}, without === undefined ? {} : { rules: { without } })
    await eventually(() => server.received().length > before + 1)
    const other = await lab.inSandbox(LOOK_UP)
    const [count, refused] = (await flood).output.split(' ').map(Number)
    t.diagnostic(`without ${without ?? 'nothing'}: ${count} connections are kept, ${refused} packets were refused`)
    return { count: count!, other: other.output }
  }
  const { count, other } = await kept()
  assert.ok(count <= MAX_CONNECTIONS, String(count))
  assert.equal(other, 'found\n'.repeat(20))
  assert.ok((await kept('limit rate')).count <= MAX_CONNECTIONS)
  assert.ok((await kept('ct count')).count > MAX_CONNECTIONS, 'the control')
})

for (const rules of ['all', 'resolver'] as const)
  test(`200 look-ups at once are answered with the rules ${rules}`, { skip, timeout }, async (t) => {
    const lab = await openLab(t)
    for (const isHeld of [false, true]) {
      const { output } = await lab.inSandbox(LOOK_UPS(NODE), { readOnly: [NODE] }, { rules, isHeld })
      assert.equal(output, '200\n200\n')
    }
  })

/** Asks the resolver from a port that it chose, and sends to a public server. */
const SENDER = python(`resolver = open('/etc/resolv.conf').read().split()[1]
question = bytes.fromhex('000101000001000000000000') + b'\\x04good\\x04test\\x00\\x00\\x01\\x00\\x01'
for port in 5353, 40000:
  s = bound(port)
  for address in (resolver, 53), ('192.88.7.7', 7777):
    try:
      s.sendto(question, address)
      print(port, len(s.recv(100)) > 0)
    except OSError as error: print(port, error)`)

test('where the kernel maps no ports, UDP is for the resolver alone and from no port of a service', {
  skip,
  timeout,
}, async (t) => {
  const lab = await openLab(t)
  await openServer(t, lab)
  const all = await lab.inSandbox(SENDER)
  assert.equal(all.output, '5353 True\n5353 True\n40000 True\n40000 True\n', 'the control')
  const { output } = await lab.inSandbox(SENDER, {}, { rules: 'resolver' })
  const refused = '[Errno 1] Operation not permitted'
  assert.equal(output, `5353 ${refused}\n5353 ${refused}\n40000 True\n40000 ${refused}\n`)
  const probed = await lab.inSandbox(LISTENER, {}, { rules: 'resolver' })
  assert.doesNotMatch(probed.output, /unsolicited|answer/)
})

test('rules that the kernel refuses are found before a sandbox starts', { skip, timeout }, async () => {
  const rules = networkRules({ addresses: [], networks: [] }, '203.0.113.253')
  assert.equal(await tryRules(rules, RUN_AS), 'mapped')
  assert.equal(await tryRules(rules.replace('nat hook postrouting', 'nat hook forward'), RUN_AS), 'resolver')
})
