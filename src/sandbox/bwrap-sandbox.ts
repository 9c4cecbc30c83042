/** A sandbox of bubblewrap, without rights of root. docs/sandbox.md. */
import { chown, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { bwrapArguments, INSIDE_WORK, insideOf, OPTIONS_DESCRIPTOR } from './bwrap-arguments.ts'
import { chainAround } from './network/chain.ts'
import { forwardAddress, hostAddresses, hostGateways } from './network/host-addresses.ts'
import { networkRules } from './network/rules.ts'
import { watchAddresses } from './network/watch.ts'
import { type OwnFiles, writeOwnFiles } from './own-files.ts'
import type { Network, Policy } from './policy.ts'
import { type ProcessGroup, startGroup } from './process-group.ts'
import type { RunAs } from './run-as.ts'
import { createRunDirectory, removeRunDirectory } from './run-directory.ts'
import type { Sandbox } from './sandbox.ts'

const ENV = { PATH: '/usr/bin:/bin:/usr/sbin:/sbin' }

/** What tests leave out of a layer. */
type Layers = { argumentsOf: typeof bwrapArguments; rulesOf: typeof networkRules }
const ALL: Layers = { argumentsOf: bwrapArguments, rulesOf: networkRules }

/** Creates a sandbox whose directory lies below `parent`. Throws as root without `runAs`. `layers`: tests change one. */
export function createBwrapSandbox(parent: string, runAs: RunAs, layers = ALL): Sandbox {
  if (runAs === undefined && process.getuid?.() === 0) throw new Error('a sandbox never runs as root')
  let directory: string | undefined
  let group: ProcessGroup | undefined
  return {
    async prepare() {
      directory = await createRunDirectory(parent)
      const workDirectory = join(directory, 'work')
      await mkdir(workDirectory, { mode: 0o700 })
      if (runAs !== undefined) await chown(workDirectory, runAs.uid, runAs.gid)
      return { workDirectory, insideWork: INSIDE_WORK }
    },
    inside: insideOf,
    start(policy) {
      if (directory === undefined || group !== undefined) throw new Error('a sandbox is prepared and started once')
      const network = networkOf(policy.network, layers)
      const files = writeOwnFiles(join(directory, 'own'), network)
      group = startGroup({
        ...commandLine(policy, files, network?.dnsAddress, layers),
        env: ENV,
        directory: '/',
        runAs,
      })
      if (network !== undefined) watch(group, network.known, runAs)
    },
    output: () => startedOf(group).output,
    pid: () => startedOf(group).pid,
    wait: async () => startedOf(group).ended,
    async destroy() {
      group?.kill()
      await group?.ended.catch(() => {})
      if (directory !== undefined) await removeRunDirectory(directory)
    },
  }
}

function startedOf(group: ProcessGroup | undefined): ProcessGroup {
  if (group === undefined) throw new Error('the sandbox was not started')
  return group
}

type OwnNetwork = { dnsAddress: string; rules: string; known: string[] }

function networkOf(network: Network, { rulesOf }: Layers): OwnNetwork | undefined {
  if (network === 'none') return undefined
  const [addresses, gateways, dnsAddress] = [hostAddresses(), hostGateways(), forwardAddress()]
  const rules = rulesOf(addresses, gateways, dnsAddress, network === 'internet' ? [] : network.allow)
  return { dnsAddress, rules, known: [...addresses, ...gateways] }
}

function commandLine(policy: Policy, files: OwnFiles, dnsAddress: string | undefined, { argumentsOf }: Layers) {
  const { options, command } = argumentsOf(policy, files.mounts)
  const input = Buffer.from(options.join('\0')).toString('base64')
  const { filter, rules } = files
  const bwrap = ['bwrap', '--args', String(OPTIONS_DESCRIPTOR), '--', ...command]
  return { words: chainAround(dnsAddress, { rules, filter, optionsLength: input.length }, bwrap), input }
}

/** A sandbox whose rules cannot follow the addresses of the host ends. */
function watch(group: ProcessGroup, known: readonly string[], runAs: RunAs): void {
  if (group.pid === undefined) return
  const stop = watchAddresses(group.pid, known, runAs, group.kill)
  group.ended.then(stop, stop)
}
