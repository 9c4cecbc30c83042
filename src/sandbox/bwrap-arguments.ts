/** The command line of bubblewrap for a policy. Each flag was tried: docs/sandbox.md. */
import type { Policy } from './policy.ts'

/** Bubblewrap reads its options and the seccomp filter from pipes. On a command line every user of the machine would read the variables. */
export const [OPTIONS_DESCRIPTOR, FILTER_DESCRIPTOR] = [3, 4]
/** Never root, and not a user of the host: what the command creates belongs to the user of the sandbox outside. */
const USER_ID = '1000'

/** Returns the options and the command of `bwrap` for a policy without network. Pure. */
export function bwrapArguments(policy: Policy): { options: string[]; command: string[] } {
  const { command, env, workDirectory, readOnly, currentDirectory, limits } = policy
  const options = [
    ...namespaces(),
    ...['--clearenv', ...Object.entries(env).flatMap(([name, value]) => ['--setenv', name, value])],
    ...system(limits),
    ...Object.entries(readOnly).flatMap(([inside, outside]) => ['--ro-bind', outside, inside]),
    ...(workDirectory === undefined ? [] : ['--bind', workDirectory, '/work']),
    // After all mounts: bubblewrap's own `/` and `/dev` are writable and as large as half the memory.
    ...['--remount-ro', '/dev', '--remount-ro', '/'],
    ...['--chdir', currentDirectory, '--seccomp', String(FILTER_DESCRIPTOR)],
  ]
  return { options, command: [...limited(limits), ...command] }
}

function namespaces(): string[] {
  return [
    '--unshare-user',
    '--unshare-pid',
    '--unshare-net',
    '--unshare-ipc',
    '--unshare-uts',
    '--unshare-cgroup',
    // No namespace within it, so no capability within one.
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
    ...['--size', String(tmpBytes), '--tmpfs', '/tmp'],
    ...['--size', String(sharedMemoryBytes), '--tmpfs', '/dev/shm'],
  ]
}

/** Set within the user namespace, so that processes are counted for this sandbox alone and not for all of the user. */
function limited(limits: Policy['limits']): string[] {
  return [
    'prlimit',
    `--nproc=${limits.processes}`,
    `--nofile=${limits.openFiles}`,
    `--fsize=${limits.fileBytes}`,
    `--as=${limits.addressSpaceBytes}`,
    '--core=0',
    '--',
  ]
}
