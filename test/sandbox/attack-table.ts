/** Attacks from inside a sandbox, each with the layer that stops it. docs/sandbox.md. */
import { DENIED } from '../../src/sandbox/seccomp.ts'
import { type Attack, LIMIT_ATTACKS, python } from './limit-attacks.ts'
import { type Change, without } from './sandbox-world.ts'

/** A system call by its number on x86_64: prints its name of the error, or OK. */
const call = (...words: readonly (number | string)[]) =>
  `python3 -c "
import ctypes, errno
c = ctypes.CDLL(None, use_errno=True)
r = c.syscall(${words.join(', ')})
print('OK' if r >= 0 else errno.errorcode[ctypes.get_errno()])"`

/** Prints the calls of the table that the kernel does not refuse with EPERM. Each is made without arguments, in a process of its own. */
const EVERY_DENIED_CALL = python(`import ctypes, errno, os
c = ctypes.CDLL(None, use_errno=True)
made = []
for name, number in ${JSON.stringify(Object.fromEntries(Object.entries(DENIED).map(([name, [number]]) => [name, number])))}.items():
  child = os.fork()
  if child == 0: os._exit(1 if c.syscall(number, 0, 0, 0, 0, 0, 0) >= 0 or ctypes.get_errno() != errno.EPERM else 0)
  if os.waitpid(child, 0)[1] != 0: made.append(name)
print('made', *made)`)

const FILTER: Change = without(['--seccomp', '4'])
const FILTER_AND_NAMESPACES: Change = without(['--seccomp', '4'], ['--disable-userns'])

/** The processes of the host, in the place of its own. */
const WITH_HOST_PROCESSES: Change = ({ options, command }) => ({
  options: options.flatMap((word, at) => {
    if (word === '--unshare-pid') return []
    return word === '--proc' ? ['--ro-bind', options[at + 1]!] : [word]
  }),
  command,
})

/** TABLE what a command inside may try → what stops it, and what it gives without that layer. */
export const ATTACKS: readonly Attack[] = [
  {
    what: 'reads the keyring of the kernel',
    script: call(250, 0, -3, 0),
    stopped: /^EPERM$/m,
    control: FILTER,
    succeeds: /^OK$/m,
  },
  {
    what: 'opens a socket to the hypervisor',
    script: call(41, 40, 1, 0),
    stopped: /^EAFNOSUPPORT$/m,
    control: FILTER,
    succeeds: /^OK$/m,
  },
  {
    what: 'sets a ring of the kernel up',
    script: call(425, 0, 0),
    stopped: /^EPERM$/m,
    control: FILTER,
    succeeds: /^(?!EPERM)\w+$/m,
  },
  {
    what: 'traces another process',
    script: call(101, 0, 0, 0, 0),
    stopped: /^EPERM$/m,
    control: FILTER,
    succeeds: /^OK$/m,
  },
  {
    what: 'talks to the packet filter of the kernel',
    script: call(41, 16, 3, 12),
    stopped: /^EPERM$/m,
    control: FILTER,
    succeeds: /^OK$/m,
  },
  {
    what: 'types into a terminal',
    script: call(16, 0, '0x5412', "b'x'"),
    stopped: /^EPERM$/m,
    control: FILTER,
    // The kernel looked at it: standard input is not a terminal here.
    succeeds: /^ENOTTY$/m,
  },
  {
    what: 'makes a 32-bit call',
    script: `python3 -c "
import ctypes, mmap
code = mmap.mmap(-1, 4096, prot=7)
code.write(bytes([0xb8, 20, 0, 0, 0, 0xcd, 0x80, 0xc3]))
print('OK' if ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))() > 0 else 'refused')"`,
    stopped: /Bad system call|SIGSYS/,
    control: FILTER,
    succeeds: /^OK$/m,
  },
  {
    what: 'becomes root in a namespace of its own',
    script: call(272, '0x10000000'),
    stopped: /^EPERM$/m,
    control: FILTER_AND_NAMESPACES,
    succeeds: /^OK$/m,
  },
  {
    what: 'fills the memory behind /',
    script: 'head -c 1000000 /dev/zero > /x && echo written',
    stopped: /Read-only file system/,
    control: without(['--remount-ro', '/']),
    succeeds: /^written$/m,
  },
  {
    what: 'fills the memory behind /dev',
    script: 'head -c 1000000 /dev/zero > /dev/x && echo written',
    stopped: /Read-only file system/,
    control: without(['--remount-ro', '/dev']),
    succeeds: /^written$/m,
  },
  {
    what: 'takes contexts of asynchronous input and output, of which the machine has a number',
    script: call(206, 1, 'ctypes.byref(ctypes.c_ulong())'),
    stopped: /^EPERM$/m,
    control: FILTER,
    succeeds: /^OK$/m,
  },
  {
    what: 'reaches the hypervisor by a pair of sockets',
    script: call(53, 40, 1, 0, '(ctypes.c_int * 2)()'),
    stopped: /^EAFNOSUPPORT$/m,
    control: FILTER,
    // The kernel created both.
    succeeds: /^(ENOTSUP|EOPNOTSUPP)$/m,
  },
  {
    what: 'makes a socket of another protocol than TCP, UDP and ICMP',
    script: call(41, 2, 1, 262),
    stopped: /^EPROTONOSUPPORT$/m,
    control: FILTER,
    succeeds: /^OK$/m,
  },
  {
    what: 'takes pseudo terminals, of which the machine has a number',
    script: `python3 -c "import os; os.openpty(); print('OK')"`,
    stopped: /FileNotFoundError|out of pty devices/,
    control: without(['--tmpfs', '/dev/pts'], ['--remount-ro', '/dev/pts']),
    succeeds: /^OK$/m,
  },
  {
    what: 'makes a call that the filter denies',
    script: EVERY_DENIED_CALL,
    stopped: /^made$/m,
    control: FILTER,
    succeeds: /^made (?=.*\bkeyctl\b)(?=.*\bptrace\b)(?=.*\bunshare\b)/m,
  },
  {
    what: 'types into a terminal by a number whose high bits the kernel does not read',
    script: call(16, 0, 'ctypes.c_ulong(0x100005412)', "b'x'"),
    stopped: /^EPERM$/m,
    control: FILTER,
    succeeds: /^ENOTTY$/m,
  },
  {
    what: 'makes a socket of packets',
    script: call(41, 17, 3, 0),
    stopped: /^EAFNOSUPPORT$/m,
    control: FILTER,
    // The kernel was asked: a capability is missing too.
    succeeds: /^EPERM$/m,
  },
  {
    what: 'sees the processes of the host',
    script: `grep -ls 'exe[c] 7<&0' /proc/[0-9]*/cmdline >/dev/null && echo seen || echo hidden`,
    stopped: /^hidden$/m,
    control: WITH_HOST_PROCESSES,
    succeeds: /^seen$/m,
  },
  {
    what: 'reads a file of the host',
    script: 'ls /var/lib && echo read',
    stopped: /No such file or directory/,
    control: ({ options, command }) => ({ options: ['--ro-bind', '/var/lib', '/var/lib', ...options], command }),
    succeeds: /^read$/m,
  },
  ...LIMIT_ATTACKS,
]
