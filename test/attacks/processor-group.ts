/** Control groups with processors, for tests of what sandboxes take. docs/sandbox.md: Limits. */
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { DEFAULT_LIMITS } from '../../src/sandbox/policy.ts'

const MOUNTS = readFileSync('/proc/self/mountinfo', 'utf8')
const [, two] = / (\S+) \S+ - cgroup2 /.exec(MOUNTS) ?? []
const [, one] = / (\S+) \S+ - cgroup \S+ (?:\S+,)?cpu(?:,\S+)?$/m.exec(MOUNTS) ?? []
const [, own] = /^\d+:(?:\S+,)?cpu(?:,\S+)?:(\S+)$/m.exec(readFileSync('/proc/self/cgroup', 'utf8')) ?? []
const ofOne = one === undefined || own === undefined ? undefined : join(one, own)

/** Whether sandboxes make groups with processors for themselves here. */
export const hasTwo = two !== undefined && /\bcpu\b/.test(readFileSync(join(two, 'cgroup.subtree_control'), 'utf8'))

/**
 * Makes a group for a test: one of version 2, in which sandboxes make their own, or one of version 1 with the share of a sandbox. Undefined where
 * root has none.
 */
export function openProcessorGroup(t: TestContext): string | undefined {
  const base = hasTwo ? two : ofOne
  if (process.getuid?.() !== 0 || base === undefined) return undefined
  const group = join(base, `berth-test-${process.pid}-${Math.random().toString(36).slice(2)}`)
  mkdirSync(group)
  t.after(() => {
    // Version 2 has the process in a group within.
    if (existsSync(join(group, 'service'))) rmdirSync(join(group, 'service'))
    rmdirSync(group)
  })
  if (hasTwo) return group
  // What a weight of 100 is in version 1.
  const shares = Math.round((1024 * DEFAULT_LIMITS.processorWeight) / 100)
  writeFileSync(join(group, 'cpu.shares'), String(shares), { flag: 'r+' })
  return group
}
