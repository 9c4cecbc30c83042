/** Whether the kernel maps UDP ports for sandboxes, found by loading the rules once. docs/sandbox.md: UDP ports of the host. */
import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import type { RunAs } from '../run-as.ts'
import { ENV } from './chain.ts'
import { networkRules, type UdpRules } from './rules.ts'

const TRIAL_MS = 10_000
const MODULES = 'nf_conntrack, nft_ct, nft_limit, nft_connlimit, nft_chain_nat and nft_masq'

let found: Promise<UdpRules> | undefined

/** Returns which rules for UDP the kernel takes. Loads them in a namespace of their own, once for this process. */
export function udpRules(runAs: RunAs): Promise<UdpRules> {
  found ??= tryRules(networkRules({ addresses: [], networks: [] }, '203.0.113.253'), runAs)
  return found
}

/** Returns `resolver` where `nft` or the kernel refuses the rules. Where anything else fails, a sandbox does not start and says why. */
export async function tryRules(rules: string, runAs: RunAs): Promise<UdpRules> {
  const words = ['--user', '--map-root-user', '--net', '--', 'nft', '-f', '-']
  const nft = spawn('unshare', words, { ...runAs, cwd: '/', env: ENV, timeout: TRIAL_MS })
  nft.on('error', () => {})
  nft.stdin.on('error', () => {})
  nft.stdin.end(rules)
  const said = await text(nft.stderr)
  return said.includes('Error: ') ? 'resolver' : 'mapped'
}

/** Returns what sandboxes cannot do with these rules and what to do, as a sentence without a period, or undefined where they can do all. Pure. */
export function unmapped(udp: UdpRules): string | undefined {
  if (udp === 'mapped') return undefined
  return `sandboxes send UDP to the resolver alone, because the kernel cannot map its ports: load the modules ${MODULES} with \`modprobe\` and restart the service`
}
