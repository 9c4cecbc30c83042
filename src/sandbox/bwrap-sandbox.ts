/** A sandbox of bubblewrap, without rights of root. docs/sandbox.md. */
import { chown, mkdir } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { bwrapArguments, INSIDE_WORK, insideOf, OPTIONS_DESCRIPTOR } from './bwrap-arguments.ts'
import { type ControlGroup, type ControlGroups, controlGroups } from './limits/control-group.ts'
import { chainAround, ENV, type Namespace } from './network/chain.ts'
import type { HeldNamespace } from './network/held-namespace.ts'
import { forwardAddress, type HostNetwork, hostNetwork } from './network/host-addresses.ts'
import { networkRules, type UdpRules } from './network/rules.ts'
import { udpRules } from './network/udp.ts'
import { findInit, watchAddresses } from './network/watch.ts'
import { type OwnFiles, writeOwnFiles } from './own-files.ts'
import type { Network, Policy } from './policy.ts'
import { type ProcessGroup, startedOf, startGroup } from './process-group.ts'
import type { RunAs } from './run-as.ts'
import { createRunDirectory, removeRunDirectory } from './run-directory.ts'
import type { Sandbox } from './sandbox.ts'

/** Tests leave something out of a layer. */
export type Layers = { argumentsOf?: typeof bwrapArguments; rulesOf?: typeof networkRules }

type Options = Layers & {
  /** Which sandboxes with network enter, instead of one of their own. */
  namespace?: HeldNamespace
}

/** Creates a sandbox whose directory lies below `parent`. Throws as root without `runAs`. */
export function createBwrapSandbox(parent: string, runAs: RunAs, options: Options = {}): Sandbox {
  if (runAs === undefined && process.getuid?.() === 0) throw new Error('a sandbox never runs as root')
  let directory: string | undefined
  let group: ProcessGroup | undefined
  let groups: ControlGroups | undefined
  let controlGroup: ControlGroup | undefined
  let udp: UdpRules | undefined
  return {
    async prepare() {
      groups = await controlGroups()
      udp = await udpRules(runAs)
      directory = await createRunDirectory(parent)
      const workDirectory = join(directory, 'work')
      await mkdir(workDirectory, { mode: 0o700 })
      if (runAs !== undefined) await chown(workDirectory, runAs.uid, runAs.gid)
      return { workDirectory, insideWork: INSIDE_WORK }
    },
    inside: insideOf,
    mounted: (place) => place,
    start(policy) {
      if (directory === undefined || group !== undefined) throw new Error('a sandbox is prepared and started once')
      const network = networkOf(policy.network, options, udp)
      const files = writeOwnFiles(join(directory, 'own'), network)
      controlGroup = groups?.create(basename(directory), policy.limits)
      const command = commandLine(policy, files, network, options)
      group = startGroup({ ...command, env: ENV, directory: '/', runAs, controlGroup })
      options.namespace?.endWith(group)
      if (network?.host !== undefined) watch(group, network.host, runAs)
    },
    output: () => startedOf(group).output,
    pid: () => startedOf(group).pid,
    async wait() {
      const exit = await startedOf(group).ended
      return controlGroup?.ranOutOfMemory() ? { ...exit, ranOutOfMemory: true } : exit
    },
    async destroy() {
      group?.kill()
      await group?.ended.catch(() => {})
      try {
        await controlGroup?.remove()
      } finally {
        if (directory !== undefined) await removeRunDirectory(directory)
      }
    },
  }
}

/** Without rules and the host where they are in force already. */
type OwnNetwork = { namespace: Namespace; dnsAddress: string; rules: string | undefined; host?: HostNetwork }

function networkOf(
  network: Network,
  { namespace: held, rulesOf = networkRules }: Options,
  udp: UdpRules | undefined,
): OwnNetwork | undefined {
  if (network === 'none') return undefined
  if (held !== undefined) {
    if (!isDeepStrictEqual(network, held.network)) throw new Error('the network of the policy is not that of its space')
    const { dnsAddress } = held
    return { namespace: { kind: 'held', holder: held.holder() }, dnsAddress, rules: undefined }
  }
  const [host, dnsAddress] = [hostNetwork(), forwardAddress()]
  const rules = rulesOf(host, dnsAddress, network === 'internet' ? [] : network.allow, udp)
  return { namespace: { kind: 'own', dnsAddress }, dnsAddress, rules, host }
}

function commandLine(
  policy: Policy,
  files: OwnFiles,
  network: OwnNetwork | undefined,
  { argumentsOf = bwrapArguments }: Options,
) {
  const { options, command } = argumentsOf(policy, files.mounts)
  const input = Buffer.from(options.join('\0')).toString('base64')
  const { filter, rules } = files
  const bwrap = ['bwrap', '--args', String(OPTIONS_DESCRIPTOR), '--', ...command]
  const start = { rules, filter, optionsLength: input.length }
  return { words: chainAround(network?.namespace ?? { kind: 'empty' }, start, bwrap), input }
}

/** A sandbox whose rules cannot follow the addresses of the host ends. */
function watch(group: ProcessGroup, host: HostNetwork, runAs: RunAs): void {
  const { pid } = group
  if (pid === undefined) return
  const stop = watchAddresses(() => findInit(pid), host, runAs, group.kill)
  group.ended.then(stop, stop)
}
