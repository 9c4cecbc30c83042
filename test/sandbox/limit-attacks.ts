/** Attacks on the limits of a sandbox, each with the limit that stops it. docs/sandbox.md: Limits. */
import { type Change, without } from './sandbox-world.ts'

export type Attack = { what: string; script: string; stopped: RegExp; control: Change; succeeds: RegExp }

/** A program of Python as the input of a shell. */
export const python = (text: string) => `python3 - <<'END'\n${text}\nEND\n`

/** Leaves out a limit of the command. */
const unlimited =
  (name: string): Change =>
  ({ options, command }) => ({ options, command: command.filter((word) => !word.startsWith(`--${name}=`)) })

/** TABLE what a command inside may use up → what stops it, and what it gets without that limit. */
export const LIMIT_ATTACKS: readonly Attack[] = [
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
    control: unlimited('nproc'),
    succeeds: /^400$/m,
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
    control: unlimited('sigpending'),
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
    control: unlimited('msgqueue'),
    succeeds: /^[3-9]$/m,
  },
  {
    what: 'opens ten thousand sockets',
    script: python(`import socket
held = []
try:
  while len(held) < 10000: held.append(socket.socket(socket.AF_UNIX))
except OSError: pass
print(len(held))`),
    stopped: /^40\d\d$/m,
    control: unlimited('nofile'),
    succeeds: /^10000$/m,
  },
  {
    what: 'makes a file that is larger than it may be',
    script: python(`try: open('/tmp/x', 'w').truncate(3 << 30); print('OK')
except OSError as error: print(error.strerror)`),
    stopped: /^File too large$/m,
    control: unlimited('fsize'),
    succeeds: /^OK$/m,
  },
  {
    what: 'reserves more memory than it may',
    script: python(`import mmap
try: mmap.mmap(-1, 300 << 30, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000, 0); print('OK')
except OSError as error: print(error.strerror)`),
    stopped: /^Cannot allocate memory$/m,
    control: unlimited('as'),
    succeeds: /^OK$/m,
  },
]
