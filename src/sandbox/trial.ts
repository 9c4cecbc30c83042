/** Whether this machine can run sandboxes, found by starting one. docs/sandbox.md: A sandbox that does not start. */
import type { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { createBwrapSandbox } from './bwrap-sandbox.ts'
import { explainFailure } from './explain-failure.ts'
import { unlimited } from './limits/control-group.ts'
import { sharedWatches } from './limits/epoll-watches.ts'
import { udpRules, unmapped } from './network/udp.ts'
import { DEFAULT_LIMITS, type Network } from './policy.ts'
import type { RunAs } from './run-as.ts'

const TIMEOUT_MS = 5000
/** Of what the programs say. */
const MAX_CHARACTERS = 10_000

/** `unlimited`: what of this machine the sandboxes can use up, and what they cannot use, as a sentence without a period. */
export type Trial = { works: true; unlimited: string | undefined } | { works: false; sentence: string }

/** Runs `true` in a sandbox below `parent`, through all of its programs. Returns within 5 s whether that works, else why not and what to do. */
export async function trySandbox(options: { parent: string; runAs: RunAs; network: Network }): Promise<Trial> {
  try {
    const failure = await failureOf(options)
    if (failure !== undefined) return { works: false, sentence: failure }
    const { runAs, network } = options
    const ports = network === 'none' ? undefined : unmapped(await udpRules(runAs))
    const used = [await unlimited(), sharedWatches(), ports].filter((text) => text !== undefined)
    return { works: true, unlimited: used.length === 0 ? undefined : used.join(', and ') }
  } catch (error) {
    return { works: false, sentence: explainFailure((error as Error).message) }
  }
}

async function failureOf({ parent, runAs, network }: Parameters<typeof trySandbox>[0]): Promise<string | undefined> {
  const sandbox = createBwrapSandbox(parent, runAs)
  try {
    const { workDirectory, insideWork } = await sandbox.prepare()
    sandbox.start({
      command: ['true'],
      env: { PATH: '/usr/bin' },
      workDirectory,
      readOnly: [],
      network,
      currentDirectory: insideWork,
      limits: DEFAULT_LIMITS,
    })
    const output = readOutput(sandbox.output())
    const exit = await Promise.race([sandbox.wait(), sleep(TIMEOUT_MS, undefined, { ref: false })])
    if (exit === undefined) return `it does not start within ${TIMEOUT_MS / 1000} s`
    return exit.code === 0 ? undefined : explainFailure(await output)
  } finally {
    await sandbox.destroy()
  }
}

async function readOutput(stream: Readable): Promise<string> {
  let text = ''
  for await (const chunk of stream) text = (text + chunk).slice(-MAX_CHARACTERS)
  return text
}
