/** What the seccomp filter decides, by executing it: on both architectures, without a kernel. docs/sandbox.md. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DENIED, seccompFilter } from '../../src/sandbox/seccomp.ts'

const [X86_64, AARCH64, I386] = [0xc000003e, 0xc00000b7, 0x40000003]
const [ALLOW, KILL] = [0x7fff0000, 0x80000000]
const [EPERM, ENOSYS, EPROTONOSUPPORT, EAFNOSUPPORT] = [1, 38, 93, 97].map((number) => 0x00050000 | number)

type Call = { architecture?: number; call: number; words?: readonly number[] }

/** Executes classic BPF over struct seccomp_data, as seccomp(2) describes it. */
function decide({ architecture = X86_64, call, words = [] }: Call): number {
  const data = Buffer.alloc(64)
  data.writeUInt32LE(call, 0)
  data.writeUInt32LE(architecture, 4)
  for (const [index, word] of words.entries()) data.writeUInt32LE(word >>> 0, 16 + 8 * index)
  const program = seccompFilter()
  let loaded = 0
  for (let at = 0; at < program.length / 8; at++) {
    const [code, value] = [program.readUInt16LE(at * 8), program.readUInt32LE(at * 8 + 4)]
    const jump = (isTrue: boolean) => program.readUInt8(at * 8 + (isTrue ? 2 : 3))
    if (code === 0x20) loaded = data.readUInt32LE(value)
    else if (code === 0x15) at += jump(loaded === value)
    else if (code === 0x25) at += jump(loaded > value)
    else if (code === 0x35) at += jump(loaded >= value)
    else if (code === 0x45) at += jump((loaded & value) !== 0)
    else if (code === 0x05) at += value
    else if (code === 0x06) return value
    else assert.fail(`instruction ${code}`)
  }
  return assert.fail('the program has no end')
}

test('every denied call is denied on both architectures, and nothing outside the table is', () => {
  for (const [name, numbers] of Object.entries(DENIED))
    for (const [column, architecture] of [X86_64, AARCH64].entries()) {
      const call = numbers[column as 0 | 1]
      if (call !== null) assert.equal(decide({ architecture, call }), EPERM, `${name} on ${architecture.toString(16)}`)
    }
  const denied = new Set(Object.values(DENIED).map(([call]) => call))
  const conditional = new Set([16, 41, 53, 56, 135, 435])
  for (let call = 0; call <= 462; call++)
    if (!denied.has(call) && !conditional.has(call)) assert.equal(decide({ call }), ALLOW, String(call))
})

test('new namespaces are denied, and new processes are not', () => {
  const [SIGCHLD, NEWUSER, NEWNET] = [17, 0x10000000, 0x40000000]
  for (const [architecture, call] of [
    [X86_64, 56],
    [AARCH64, 220],
  ] as const) {
    assert.equal(decide({ architecture, call, words: [SIGCHLD] }), ALLOW)
    assert.equal(decide({ architecture, call, words: [SIGCHLD | NEWUSER] }), EPERM)
    assert.equal(decide({ architecture, call, words: [NEWNET] }), EPERM)
    assert.equal(decide({ architecture, call: 435 }), ENOSYS, 'clone3: its flags lie in memory')
  }
})

test('sockets are of the network and of this machine, and never of the hypervisor or of packets', () => {
  const [UNIX, INET, INET6, NETLINK, PACKET, ALG, VSOCK] = [1, 2, 10, 16, 17, 38, 40]
  for (const family of [UNIX, INET, INET6]) assert.equal(decide({ call: 41, words: [family, 1, 0] }), ALLOW)
  for (const family of [PACKET, ALG, VSOCK]) assert.equal(decide({ call: 41, words: [family, 1, 0] }), EAFNOSUPPORT)
  assert.equal(decide({ call: 41, words: [NETLINK, 3, 0] }), ALLOW, 'routes, which the C library reads')
  assert.equal(decide({ call: 41, words: [NETLINK, 3, 12] }), EPERM, 'netfilter')
})

test('sockets of the network are of TCP, UDP and ICMP, and another protocol makes the kernel load no module', () => {
  const [TCP, UDP, ICMP, ICMPV6, SCTP, UDPLITE, MPTCP] = [6, 17, 1, 58, 132, 136, 262]
  for (const [architecture, call] of [
    [X86_64, 41],
    [AARCH64, 198],
  ] as const)
    for (const family of [2, 10]) {
      for (const protocol of [0, TCP, UDP, ICMP, ICMPV6])
        assert.equal(decide({ architecture, call, words: [family, 1, protocol] }), ALLOW)
      for (const protocol of [SCTP, UDPLITE, MPTCP])
        assert.equal(decide({ architecture, call, words: [family, 1, protocol] }), EPROTONOSUPPORT, String(protocol))
    }
})

test('a pair of sockets is of this machine: the kernel creates both before it says that another family has no pairs', () => {
  for (const [architecture, call] of [
    [X86_64, 53],
    [AARCH64, 199],
  ] as const) {
    assert.equal(decide({ architecture, call, words: [1, 1, 0] }), ALLOW)
    for (const family of [2, 10, 16, 17, 30, 38, 40])
      assert.equal(decide({ architecture, call, words: [family, 1, 0] }), EAFNOSUPPORT, String(family))
  }
})

test('what the machine has a number of is not there: contexts of asynchronous input and output', () => {
  for (const [x86_64, aarch64] of [
    [206, 0],
    [209, 2],
    [333, 292],
  ] as const) {
    assert.equal(decide({ call: x86_64 }), EPERM)
    assert.equal(decide({ architecture: AARCH64, call: aarch64 }), EPERM)
  }
})

test('a terminal cannot be typed into, and a personality cannot be changed', () => {
  const [TIOCSTI, TIOCLINUX, TIOCGWINSZ] = [0x5412, 0x541c, 0x5413]
  assert.equal(decide({ call: 16, words: [0, TIOCSTI] }), EPERM)
  assert.equal(decide({ call: 16, words: [0, TIOCLINUX] }), EPERM)
  assert.equal(decide({ call: 16, words: [0, TIOCGWINSZ] }), ALLOW)
  assert.equal(decide({ call: 135, words: [0] }), ALLOW)
  assert.equal(decide({ call: 135, words: [0xffffffff] }), ALLOW, 'the query')
  assert.equal(decide({ call: 135, words: [0x0040000] }), EPERM, 'ADDR_NO_RANDOMIZE')
})

test('calls of another architecture end the process, and calls that are newer than the table do not exist', () => {
  assert.equal(decide({ architecture: I386, call: 1 }), KILL)
  assert.equal(decide({ call: 0x40000000 + 39 }), ENOSYS, 'x32')
  assert.equal(decide({ call: 463 }), ENOSYS)
  assert.equal(decide({ architecture: AARCH64, call: 463 }), ENOSYS)
})
