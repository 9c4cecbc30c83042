/** What a start costs, as ratios to `node -e 0`. docs/sandbox.md: Cost. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { labSkipReason, openLab } from './lab.ts'

type Cost = { what: string; wallMs: number; processorMs: number }

test('a sandbox that enters a namespace costs much less than one that makes its own', {
  skip: labSkipReason(),
  timeout: 300_000,
}, async (t) => {
  const [, mount] = / (\S+) \S+ - cgroup2 /.exec(readFileSync('/proc/self/mountinfo', 'utf8')) ?? []
  if (mount === undefined) return t.skip('there is no control group of version 2 to measure with')
  const group = join(mount, `berth-costs-${process.pid}`)
  mkdirSync(group)
  t.after(() => rmdirSync(group))
  const lab = await openLab(t)
  const measured = ['sh', '-c', 'echo $$ > "$0/cgroup.procs"; exec "$@"', group]
  const [program, ...words] = lab.words(...measured, process.execPath, join(import.meta.dirname, 'costs.ts'), group)
  const { stdout, stderr } = spawnSync(program!, words, { encoding: 'utf8' })
  assert.notEqual(stdout, '', stderr)
  const costs: Cost[] = JSON.parse(stdout)
  const node = costs.find(({ what }) => what === 'node')!
  for (const { what, wallMs, processorMs } of costs) {
    const ratios = `${(processorMs / node.processorMs).toFixed(2)} of the processor, ${(wallMs / node.wallMs).toFixed(2)} of the time`
    t.diagnostic(`${what}: ${ratios} of node -e 0 (${processorMs.toFixed(1)} and ${wallMs.toFixed(1)} ms)`)
  }
  const processorOf = (name: string) => costs.find(({ what }) => what === name)!.processorMs
  assert.ok(2 * processorOf('entering a namespace') < processorOf('with network'))
})
