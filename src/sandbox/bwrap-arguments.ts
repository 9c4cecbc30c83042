/** The command line of bubblewrap for a policy. Each flag was tried: docs/sandbox.md. */
import type { Policy } from './policy.ts'

/** Bubblewrap reads its options and the seccomp filter from descriptors. On a command line any user of the machine could read the variables. */
export const [OPTIONS_DESCRIPTOR, FILTER_DESCRIPTOR] = [3, 4]
/** Never root, and not a user of the host. On the host, the command's files belong to the user of the sandbox. */
const USER_ID = '1000'
/** Where the work directory is inside. */
export const INSIDE_WORK = '/work'

/** Where read-only mounts of a policy are. So no path of the host hides one of the sandbox. */
const HOST = '/host'

/** Returns the inner path of a read-only mount. Pure. */
export function insideOf(path: string): string {
  return `${HOST}${path}`
}

/** Returns the options and the command of `bwrap` for a policy. `own`: the sandbox's own files, path inside → path of the host. Pure. */
export function bwrapArguments(
  policy: Policy,
  own: Readonly<Record<string, string>> = {},
): { options: string[]; command: string[] } {
  const { command, env, workDirectory, readOnly, readOnlyAt = {}, currentDirectory, limits, network } = policy
  const options = [
    ...namespaces(),
    // With a network, bubblewrap keeps the namespace of pasta, which has the rules.
    ...(network === 'none' ? ['--unshare-net'] : []),
    ...['--clearenv', ...Object.entries(env).flatMap(([name, value]) => ['--setenv', name, value])],
    ...system(limits),
    ...Object.entries(own).flatMap(([inside, outside]) => ['--ro-bind', outside, inside]),
    ...Object.entries(readOnlyAt).flatMap(([place, path]) => ['--ro-bind', path, place]),
    ...readOnly.flatMap((path) => ['--ro-bind', path, insideOf(path)]),
    ...(workDirectory === undefined ? [] : ['--bind', workDirectory, INSIDE_WORK]),
    // After all mounts: bubblewrap's own `/` and `/dev` are writable and as large as half the memory.
    ...['/dev/pts', '/dev', '/'].flatMap((path) => ['--remount-ro', path]),
    ...['--chdir', currentDirectory, '--seccomp', String(FILTER_DESCRIPTOR)],
  ]
  return { options, command: [...limited(limits), ...command] }
}

function namespaces(): string[] {
  return [
    '--unshare-user',
    '--unshare-pid',
    '--unshare-ipc',
    '--unshare-uts',
    '--unshare-cgroup',
    // No nested namespace, so no capability in one.
    '--disable-userns',
    ...['--uid', USER_ID, '--gid', USER_ID, '--cap-drop', 'ALL'],
    // No terminal of the host to type into.
    '--new-session',
    '--die-with-parent',
  ]
}

function system({ tmpBytes, sharedMemoryBytes }: Policy['limits']): string[] {
  return [
    ...['--ro-bind', '/usr', '/usr'],
    ...['bin', 'sbin', 'lib', 'lib64'].flatMap((name) => ['--symlink', `usr/${name}`, `/${name}`]),
    ...['--ro-bind-try', '/etc/ssl/certs', '/etc/ssl/certs'],
    ...['--proc', '/proc', '--dev', '/dev'],
    // The machine has 4,096 pseudo terminals, and keeps 1,024 for itself. One sandbox would take the rest.
    ...['--tmpfs', '/dev/pts'],
    ...['--size', String(tmpBytes), '--tmpfs', '/tmp'],
    ...['--size', String(sharedMemoryBytes), '--tmpfs', '/dev/shm'],
  ]
}

/** All sandboxes of a user share both. Timers count as signals, of which a machine with 1 GiB has 4,000. The queues have 819,200 bytes. */
const [WAITING_SIGNALS, MESSAGE_QUEUE_BYTES] = [1024, 204_800]

/** Set within the user namespace, so that processes are counted per sandbox, not per user. */
function limited(limits: Policy['limits']): string[] {
  return [
    'prlimit',
    `--nproc=${limits.processes}`,
    `--nofile=${limits.openFiles}`,
    `--fsize=${limits.fileBytes}`,
    `--as=${limits.addressSpaceBytes}`,
    '--core=0',
    `--sigpending=${WAITING_SIGNALS}`,
    `--msgqueue=${MESSAGE_QUEUE_BYTES}`,
    '--',
  ]
}
