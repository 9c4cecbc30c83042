/** A sandbox for tests, run by a user who is not root. docs/testing.md. */
import { spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { bwrapArguments } from '../../src/sandbox/bwrap-arguments.ts'
import { createBwrapSandbox } from '../../src/sandbox/bwrap-sandbox.ts'
import { holdNamespace } from '../../src/sandbox/network/held-namespace.ts'
import { networkRules } from '../../src/sandbox/network/rules.ts'
import { DEFAULT_LIMITS, type Policy } from '../../src/sandbox/policy.ts'
import { skipReason } from '../support/programs.ts'
import { RUN_AS } from './run-as.ts'

/** Why the tests are skipped: bubblewrap is missing, or user namespaces are closed. */
export function sandboxSkipReason(): string | false {
  const words = [
    '--user',
    '--map-current-user',
    '--pid',
    '--fork',
    'bwrap',
    '--unshare-user',
    '--ro-bind',
    '/',
    '/',
    'true',
  ]
  const { status } = spawnSync('unshare', words, { stdio: 'ignore', ...RUN_AS })
  return status === 0 ? false : skipReason('bwrap', 'bubblewrap', 'the sandbox')
}

export type Change = (words: ReturnType<typeof bwrapArguments>) => ReturnType<typeof bwrapArguments>

type More = {
  /** Leaves out a layer, as a control. */
  change?: Change
  rulesOf?: typeof networkRules
  /** Enters a namespace that was held before, instead of one of its own. */
  isHeld?: boolean
}

/** Runs a shell script in a sandbox. Returns its output and exit code. */
export async function runInSandbox(script: string, policy: Partial<Policy> = {}, more: More = {}) {
  const { change = (words) => words, rulesOf = networkRules, isHeld = false } = more
  const parent = mkdtempSync(join(tmpdir(), 'berth-sandbox-'))
  chmodSync(parent, 0o755)
  const { network = 'none' } = policy
  const held = isHeld && network !== 'none'
  const namespace = held ? await holdNamespace({ parent, runAs: RUN_AS, network, rulesOf }) : undefined
  const sandbox = createBwrapSandbox(parent, RUN_AS, {
    argumentsOf: (...given) => change(bwrapArguments(...given)),
    rulesOf,
    ...(namespace !== undefined && { namespace }),
  })
  try {
    const { workDirectory } = await sandbox.prepare()
    sandbox.start({
      command: ['sh', '-c', script],
      env: { PATH: '/usr/bin:/usr/sbin' },
      workDirectory,
      readOnly: [],
      network,
      currentDirectory: '/work',
      limits: DEFAULT_LIMITS,
      ...policy,
    })
    const [output, exit] = await Promise.all([text(sandbox.output()), sandbox.wait()])
    return { output, ...exit }
  } finally {
    await sandbox.destroy()
    await namespace?.close()
    rmSync(parent, { recursive: true, force: true })
  }
}

/** Leaves out words of the options, with what follows each. */
export function without(...left: readonly (readonly string[])[]): Change {
  return ({ options, command }) => {
    let rest = options
    for (const words of left) {
      const at = rest.findIndex((_, from) => words.every((word, index) => rest[from + index] === word))
      if (at < 0) throw new Error(`no ${words.join(' ')} to leave out`)
      rest = [...rest.slice(0, at), ...rest.slice(at + words.length)]
    }
    return { options: rest, command }
  }
}
