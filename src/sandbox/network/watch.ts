/** The rules of a sandbox that runs get the addresses and networks that the host gets later. docs/sandbox.md: Network. */
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import type { RunAs } from '../run-as.ts'
import { ENV, enter } from './chain.ts'
import { type HostNetwork, hostNetwork } from './host-addresses.ts'
import { addToRules } from './rules.ts'

/** `startMs`: for pasta to start the first process. What is not there by then is never there. */
const TIMES = { intervalMs: 2000, startMs: 10_000 }
const NFT_MS = 5000

/**
 * Adds new addresses and networks of the host to the rules of a network namespace every 2 s, until the returned function is called. `find`: a process
 * in it, once its rules are in force. Calls `fail` once where none appears within 10 s, or where an address cannot be added.
 */
export function watchAddresses(
  find: () => number | undefined,
  known: HostNetwork,
  runAs: RunAs,
  fail: () => void,
  { intervalMs, startMs } = TIMES,
): () => void {
  const added = new Set([...known.addresses, ...known.networks])
  const startedAt = performance.now()
  let [hasStarted, isBusy] = [false, false]
  const check = async () => {
    const pid = find()
    if (pid === undefined) {
      // Without its first process the sandbox ends on its own, with the exit code of its command.
      if (!hasStarted && performance.now() - startedAt > startMs) throw new Error('pasta started nothing')
      return
    }
    hasStarted = true
    const { addresses, networks } = hostNetwork()
    for (const [set, texts] of [
      ['host', addresses],
      ['network', networks],
    ] as const)
      for (const text of texts.filter((text) => !added.has(text))) {
        await inNamespace(pid, addToRules(set, text), runAs)
        added.add(text)
      }
  }
  const timer = setInterval(() => {
    if (isBusy) return
    isBusy = true
    check()
      .catch(() => {
        clearInterval(timer)
        fail()
      })
      .finally(() => {
        isBusy = false
      })
  }, intervalMs)
  return () => clearInterval(timer)
}

/** Returns the init script of a sandbox of pasta, once it has started bubblewrap. */
export function findInit(pasta: number): number | undefined {
  return childrenOf(pasta).find((child) => childrenOf(child).length > 0)
}

async function inNamespace(pid: number, change: readonly string[], runAs: RunAs): Promise<void> {
  const [program, ...words] = [...enter(pid), 'nft', ...change]
  await promisify(execFile)(program!, words, { ...runAs, cwd: '/', env: ENV, timeout: NFT_MS })
}

/** Returns the processes that the process started and that run. */
export function childrenOf(pid: number): number[] {
  try {
    const ids = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()
    return ids === '' ? [] : ids.split(' ').map(Number)
  } catch {
    return []
  }
}
