/** The programs around bubblewrap, which make its network. docs/sandbox.md: Network. */
import { INIT_SCRIPT } from '../init-script.ts'

/** What the first process needs: files of the host, and how many characters of options it reads from standard input. */
type Start = { rules: string | undefined; filter: string; optionsLength: number }

/** Returns the command that makes the namespaces and executes bubblewrap in them. `dnsAddress`: undefined for a sandbox without network. Pure. */
export function chainAround(dnsAddress: string | undefined, start: Start, bwrap: readonly string[]): string[] {
  const { rules, filter, optionsLength } = start
  const init = ['sh', '-c', INIT_SCRIPT, 'init', rules ?? '', filter, String(optionsLength), ...bwrap]
  return dnsAddress === undefined ? [...withoutNetwork(), ...init] : [...pasta(dnsAddress), ...init]
}

function withoutNetwork(): string[] {
  return ['unshare', '--user', '--map-current-user', '--pid', '--fork', '--kill-child', '--']
}

/** Copies packets between a network namespace and sockets of an ordinary user. */
function pasta(dnsAddress: string): string[] {
  return [
    'pasta',
    // Stays in the foreground, in the process group that `destroy` ends, and prints errors only.
    ...['--foreground', '--quiet'],
    // The address and the routes of the host.
    '--config-net',
    // No port of the sandbox is open on the host, and no port of the host's loopback in the sandbox.
    ...['-t', 'none', '-u', 'none', '-T', 'none', '-U', 'none'],
    // Otherwise the address of the gateway reaches the host itself.
    '--no-map-gw',
    ...['--dns-forward', dnsAddress],
    '--',
  ]
}
