/** The programs around bubblewrap, which make its network. docs/sandbox.md: Network. */
import { HOLD_SCRIPT, INIT_SCRIPT } from '../init-script.ts'

/** The environment of the programs around a command. */
export const ENV = { PATH: '/usr/bin:/bin:/usr/sbin:/sbin' }

/** What the first process needs: files of the host, and how many characters of options it reads from standard input. */
type Start = { rules: string | undefined; filter: string; optionsLength: number }

/** The network namespace of a sandbox: an empty one, one of its own, or one that a process of the host holds. */
export type Namespace = { kind: 'empty' } | { kind: 'own'; dnsAddress: string } | { kind: 'held'; holder: number }

/** Returns the command that makes the namespaces and executes bubblewrap in them. Pure. */
export function chainAround(namespace: Namespace, start: Start, bwrap: readonly string[]): string[] {
  const { rules, filter, optionsLength } = start
  const init = ['sh', '-c', INIT_SCRIPT, 'init', rules ?? '', filter, String(optionsLength), ...bwrap]
  if (namespace.kind === 'own') return [...pasta(namespace.dnsAddress), ...init]
  if (namespace.kind === 'held') return [...enter(namespace.holder), ...processNamespace(), ...init]
  return [...processNamespace('--user', '--map-root-user'), ...init]
}

/** Returns the command that makes a namespace with the rules of a file and holds it, until its standard input ends. Pure. */
export function holdingChain(dnsAddress: string, rules: string): string[] {
  return [...pasta(dnsAddress), 'sh', '-c', HOLD_SCRIPT, 'hold', rules]
}

/** Returns the words before a command that runs it in the network namespace of a process, as the same user, who owns it. Pure. */
export function enter(pid: number): string[] {
  return ['nsenter', '-t', String(pid), '--user', '--net', '--preserve-credentials']
}

function processNamespace(...more: readonly string[]): string[] {
  return ['unshare', ...more, '--pid', '--fork', '--kill-child', '--']
}

/** Copies packets between a network namespace and sockets of an ordinary user. */
function pasta(dnsAddress: string): string[] {
  return [
    'pasta',
    // Stays in the foreground, in the process group that `destroy` ends, and prints errors only.
    ...['--foreground', '--quiet'],
    // The address and the routes of the host.
    '--config-net',
    // No port that a sandbox listens at is open on the host, and no port of the host's loopback in the sandbox. UDP sends from ports of the host: docs/sandbox.md: Network.
    ...['-t', 'none', '-u', 'none', '-T', 'none', '-U', 'none'],
    // Otherwise the address of the gateway reaches the host itself.
    '--no-map-gw',
    ...['--dns-forward', dnsAddress],
    '--',
  ]
}
