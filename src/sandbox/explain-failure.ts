/** Why a sandbox does not start, and what the operator can do. docs/sandbox.md: A sandbox that does not start. */

/** TABLE programs of the sandbox, and the package of Debian and Ubuntu that has each. */
const PACKAGES: Readonly<Record<string, string>> = {
  bwrap: 'bubblewrap',
  pasta: 'passt',
  nft: 'nftables',
  unshare: 'util-linux',
  nsenter: 'util-linux',
  prlimit: 'util-linux',
  base64: 'coreutils',
  head: 'coreutils',
}

const MISSING = [
  /spawn (?:\S*\/)?(\w+) ENOENT/,
  /(?:^|[\s:])(\w+): (?:command )?not found/m,
  /execvp (\w+): No such file or directory/,
]

const SYSCTLS = 'user.max_user_namespaces and user.max_net_namespaces'

/** TABLE what a program says, and what it means. The first row that matches counts. */
const CAUSES: readonly (readonly [says: RegExp, sentence: string])[] = [
  [
    /open.*\btun\b/i,
    'its user cannot open /dev/net/tun: run `chmod 0666 /dev/net/tun`, and add the udev rule `KERNEL=="tun", MODE="0666"` so that it stays so after a restart',
  ],
  [
    /setting up uid map: Operation not permitted/,
    'the service was started without the right to change ids: remove NoNewPrivileges from its unit, or no_new_privs from what starts it',
  ],
  [
    /uid[ _]?map.*Permission denied|apparmor/i,
    'AppArmor keeps rights from user namespaces, as Ubuntu 24.04 does: add the profiles for bwrap and pasta of docs/sandbox.md to /etc/apparmor.d and load them with `apparmor_parser -r`',
  ],
  [
    /max_\*_namespaces exceeded|(?:user namespace|clone|unshare failed|new namespace.*): No space left on device/,
    `the kernel allows no more namespaces: raise the sysctls ${SYSCTLS}`,
  ],
  [
    /No permissions to create new namespace|(?:user namespace|clone|unshare failed): Operation not permitted/,
    'unprivileged user namespaces are off: set the sysctl kernel.unprivileged_userns_clone to 1 where it exists; a container needs a seccomp profile that allows them',
  ],
  [
    /external (?:routable )?interface/i,
    'the host has no network interface with a default route, and sandboxes with network use that route',
  ],
  [
    /(?:cannot open|can't open|Could not open|source path|chdir).*Permission denied/i,
    'its user cannot reach the directory of the sandbox: make every directory above it searchable for that user with `chmod o+x`',
  ],
  [
    /nft|netlink|Could not process rule/i,
    'nftables refuses the rules: load the kernel modules nf_tables, nft_reject_inet and nf_reject_ipv6 with `modprobe`',
  ],
]

/** Not a reason: what pasta prints on a machine without a log daemon. */
const NOISE = /^Failed to send \d+ bytes to syslog$/

/** Returns what the output of a sandbox that did not start means, and what to do, as one sentence without a period. Pure. */
export function explainFailure(output: string): string {
  const lines = output
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !NOISE.test(line))
  const text = lines.join('\n')
  const program = MISSING.map((says) => says.exec(text)?.[1]).find((name) => name !== undefined && name in PACKAGES)
  if (program !== undefined)
    return `the program ${program} is missing: install the package ${PACKAGES[program]} (apt-get install ${PACKAGES[program]})`
  const cause = CAUSES.find(([says]) => says.test(text))?.[1]
  if (cause !== undefined) return cause
  return lines.length === 0 ? 'a program of it ended without a message' : `a program of it said: ${lines.at(-1)}`
}
