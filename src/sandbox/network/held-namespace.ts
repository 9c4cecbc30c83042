/** A network namespace that sandboxes enter one after another. docs/sandbox.md: A namespace for several sandboxes. */
import { basename, join } from 'node:path'
import { explainFailure } from '../explain-failure.ts'
import { HELD } from '../init-script.ts'
import { type ControlGroup, controlGroups } from '../limits/control-group.ts'
import { writeOwnFiles } from '../own-files.ts'
import { DEFAULT_LIMITS, type Network } from '../policy.ts'
import { type ProcessGroup, startGroup } from '../process-group.ts'
import type { RunAs } from '../run-as.ts'
import { createRunDirectory, removeRunDirectory } from '../run-directory.ts'
import { ENV, holdingChain } from './chain.ts'
import { forwardAddress, hostNetwork } from './host-addresses.ts'
import { networkRules } from './rules.ts'
import { udpRules } from './udp.ts'
import { childrenOf, watchAddresses } from './watch.ts'

const START_MS = 10_000
const MAX_CHARACTERS = 10_000

/** Of pasta alone, which copies what its sandboxes send. */
const LIMITS = { ...DEFAULT_LIMITS, memoryBytes: 256 * 1024 * 1024 }

export type HeldNamespace = {
  network: Exclude<Network, 'none'>
  dnsAddress: string
  /** A process in it. Throws once the namespace has ended. */
  holder(): number
  /** Ends the group with the namespace. */
  endWith(group: ProcessGroup): void
  /** Resolves once pasta has ended, for whatever reason: everything in the namespace is being ended, and nothing else starts there. */
  lost: Promise<void>
  /** Ends it and everything in it. May be called more than once. */
  close(): Promise<void>
}

type Options = { parent: string; runAs: RunAs; network: HeldNamespace['network']; rulesOf?: typeof networkRules }

/** Opens a namespace whose files lie below `parent`. Throws where it does not start within 10 s, with what to do. Its rules follow the addresses of the host. */
export async function holdNamespace(options: Options): Promise<HeldNamespace> {
  const { parent, runAs, network, rulesOf = networkRules } = options
  const [host, dnsAddress] = [hostNetwork(), forwardAddress()]
  const rules = rulesOf(host, dnsAddress, network === 'internet' ? [] : network.allow, await udpRules(runAs))
  const directory = await createRunDirectory(parent)
  let controlGroup: ControlGroup | undefined
  const remove = async () => {
    try {
      await controlGroup?.remove()
    } finally {
      await removeRunDirectory(directory)
    }
  }
  let pasta: ProcessGroup
  try {
    const files = writeOwnFiles(join(directory, 'own'), { dnsAddress, rules })
    controlGroup = (await controlGroups())?.create(basename(directory), LIMITS)
    pasta = startGroup({ words: holdingChain(dnsAddress, files.rules!), env: ENV, directory: '/', runAs, controlGroup })
  } catch (error) {
    await remove().catch(() => {})
    throw error
  }
  const groups = new Set<ProcessGroup>()
  // What cannot be removed now is removed at the next start.
  const ended = endOf(pasta, groups, remove).catch(() => {})
  const failure = await failureOf(pasta)
  const [holder] = pasta.pid === undefined ? [] : childrenOf(pasta.pid)
  if (failure !== undefined || holder === undefined) {
    pasta.kill()
    await ended
    throw new Error(failure ?? 'pasta started nothing')
  }
  const stop = watchAddresses(() => holder, host, runAs, pasta.kill)
  pasta.ended.then(stop, stop)
  return { network, dnsAddress, ...handleOf(pasta, groups, holder, ended) }
}

/** Ends everything in the namespace once pasta has ended. */
async function endOf(
  pasta: ProcessGroup,
  groups: ReadonlySet<ProcessGroup>,
  remove: () => Promise<void>,
): Promise<void> {
  await pasta.ended.catch(() => {})
  for (const group of groups) group.kill()
  await Promise.allSettled([...groups].map((group) => group.ended))
  await remove()
}

function handleOf(pasta: ProcessGroup, groups: Set<ProcessGroup>, holder: number, ended: Promise<void>) {
  let hasEnded = false
  const end = () => {
    hasEnded = true
  }
  return {
    lost: pasta.ended.then(end, end),
    holder() {
      if (hasEnded) throw new Error('the network namespace has ended')
      return holder
    },
    endWith(group: ProcessGroup) {
      groups.add(group)
      const forget = () => groups.delete(group)
      group.ended.then(forget, forget)
    },
    async close() {
      pasta.kill()
      await ended
    },
  }
}

/** Returns why the namespace is not held, as a sentence, or undefined once it is. */
async function failureOf(pasta: ProcessGroup): Promise<string | undefined> {
  let text = ''
  const { promise, resolve } = Promise.withResolvers<string | undefined>()
  const late = setTimeout(resolve, START_MS, `it does not start within ${START_MS / 1000} s`)
  pasta.output.on('data', (data) => {
    text = (text + data).slice(-MAX_CHARACTERS)
    if (text.split('\n').includes(HELD)) resolve(undefined)
  })
  pasta.output.once('end', () => resolve(explainFailure(text)))
  pasta.ended.catch((error) => resolve(explainFailure((error as Error).message)))
  return promise.finally(() => clearTimeout(late))
}
