/** What a server feels while a sandbox next to it eats the processors of the machine. docs/threats.md; docs/sandbox.md: Limits. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { sandboxSkipReason } from '../sandbox/sandbox-world.ts'
import { canRun, skipReason } from '../support/programs.ts'
import { FULL, sayFigure } from './form.ts'
import { hasTwo, openProcessorGroup } from './processor-group.ts'

const skip =
  sandboxSkipReason() ||
  (canRun('python3', '--version') ? false : skipReason('python3', 'python3', 'what eats processors in sandboxes'))

/** The short form runs next to other work: it looks for a server that stands still. */
const MOST = FULL ? 2 : 20
/** What other work on the machine does is not there each time, and what the sandbox does is. */
const ROUNDS = 3

type Felt = { p50: number; p99: number; longest: number }
type Compared = { quiet: Felt; beside: Felt }

/** Runs test/sandbox/bystander.ts after the words of a shell. */
function compare(group: string, name: string, script: string, ofSandbox: readonly string[] = []): Compared {
  const program = [process.execPath, join(import.meta.dirname, '../sandbox/bystander.ts'), ...ofSandbox]
  const { stdout, stderr } = spawnSync('sh', ['-c', `${script} exec "$@"`, group, ...program], { encoding: 'utf8' })
  assert.notEqual(stdout, '', stderr)
  const { quiet, beside }: Compared = JSON.parse(stdout)
  const said = [quiet, beside].map(({ p50, p99, longest }) => [p50, p99, longest].map((ms) => ms.toFixed(2)).join(', '))
  sayFigure(`processor eaters in a sandbox, ${name}: p50, p99, longest ${said[1]} ms; quiet ${said[0]} ms`)
  return { quiet, beside }
}

/** Returns what compares with a processor group for the sandbox: its own of version 2, or one of version 1, which the sandbox does not make. */
function withGroup(t: TestContext): (() => Compared) | undefined {
  const group = openProcessorGroup(t)
  if (group === undefined) return undefined
  if (hasTwo) return () => compare(group, 'with its control group', 'echo $$ > "$0/cgroup.procs";')
  return () => compare(group, 'with a control group of version 1', '', [group])
}

test('a server hardly feels four eaters and a fork bomb in a sandbox with a processor group', {
  skip,
  timeout: 1_200_000,
}, (t) => {
  const run = withGroup(t)
  if (run === undefined) return t.skip('there are no processor groups for root')
  const felt: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const { quiet, beside } = run()
    felt.push(beside.p99 / quiet.p99)
    if (felt.at(-1)! <= MOST) return
  }
  assert.fail(`its p99 is ${felt.join(', ')} times as long`)
})

test('what a server feels of four eaters and a fork bomb in a sandbox without a processor group is printed', {
  skip: skip || (hasTwo && 'sandboxes have processor groups here'),
  timeout: 1_200_000,
}, () => {
  compare('', 'without a control group', '')
})
