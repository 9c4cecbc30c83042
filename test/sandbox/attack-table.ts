/** Attacks from inside a sandbox, each with the layer that stops it. docs/sandbox.md. */
import { type Change, without } from './sandbox-world.ts'

/** A system call by its number on x86_64: prints its name of the error, or OK. */
const call = (...words: readonly (number | string)[]) =>
  `python3 -c "
import ctypes, errno
c = ctypes.CDLL(None, use_errno=True)
r = c.syscall(${words.join(', ')})
print('OK' if r >= 0 else errno.errorcode[ctypes.get_errno()])"`

const FILTER: Change = without(['--seccomp', '4'])
const FILTER_AND_NAMESPACES: Change = without(['--seccomp', '4'], ['--disable-userns'])

export type Attack = { what: string; script: string; stopped: RegExp; control: Change; succeeds: RegExp }

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
    what: 'writes more into /tmp than it may',
    script: 'head -c 300000000 /dev/zero > /tmp/x && echo written',
    stopped: /No space left on device/,
    control: without(['--size', String(256 * 1024 * 1024)]),
    succeeds: /^written$/m,
  },
  {
    what: 'writes more into the shared memory than it may',
    script: 'head -c 100000000 /dev/zero > /dev/shm/x && echo written',
    stopped: /No space left on device/,
    control: without(['--size', String(64 * 1024 * 1024)]),
    succeeds: /^written$/m,
  },
  {
    what: 'starts processes without end',
    script:
      'python3 -c "\nimport os, time\nn = 0\ntry:\n  while n < 400:\n    if os.fork() == 0: time.sleep(20)\n    n += 1\nexcept OSError: pass\nprint(n)"',
    stopped: /^(1\d\d|2[0-4]\d|25[0-5])$/m,
    control: ({ options, command }) => ({ options, command: command.filter((word) => !word.startsWith('--nproc')) }),
    succeeds: /^400$/m,
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
    what: 'keeps more signals waiting than its part of those of the user',
    script: `python3 -c "
import ctypes, os, signal
signal.pthread_sigmask(signal.SIG_BLOCK, [40])
c, n = ctypes.CDLL(None), 0
while n < 3000 and c.sigqueue(os.getpid(), 40, None) == 0: n += 1
print(n)"`,
    stopped: /^1024$/m,
    control: ({ options, command }) => ({ options, command: command.filter((word) => !word.startsWith('--sigp')) }),
    succeeds: /^3000$/m,
  },
  {
    what: 'opens more message queues than its part of those of the user',
    script: `python3 -c "
import ctypes
c, n = ctypes.CDLL(None), 0
while c.syscall(240, b'queue%d' % n, 0x42, 0o600, 0) >= 0: n += 1
print(n)"`,
    stopped: /^2$/m,
    control: ({ options, command }) => ({ options, command: command.filter((word) => !word.startsWith('--msgq')) }),
    succeeds: /^[3-9]$/m,
  },
  {
    what: 'reads a file of the host',
    script: 'ls /var/lib && echo read',
    stopped: /No such file or directory/,
    control: ({ options, command }) => ({ options: ['--ro-bind', '/var/lib', '/var/lib', ...options], command }),
    succeeds: /^read$/m,
  },
]
