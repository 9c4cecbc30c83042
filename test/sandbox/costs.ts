/** Runs in the lab of test/sandbox/lab.ts: prints what each kind of start costs, as JSON. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createSandbox } from '../../src/sandbox/create.ts'
import { DEFAULT_LIMITS, type Policy } from '../../src/sandbox/policy.ts'
import type { Sandbox } from '../../src/sandbox/sandbox.ts'
import { openSandboxSpace } from '../../src/sandbox/space/space.ts'
import { RUN_AS } from './run-as.ts'

const ROUNDS = 20
const NODE = dirname(dirname(process.execPath))
const parent = mkdtempSync(join(tmpdir(), 'berth-sandbox-'))
chmodSync(parent, 0o755)
const space = await openSandboxSpace('sandboxed', parent, RUN_AS, 'internet')
const alone = () => createSandbox('sandboxed', parent, RUN_AS)
const node = ['/bin/sh', '-c', `exec /host${NODE}/bin/node -e 0`] as const

/** TABLE what is started → how. */
const STARTS: Readonly<Record<string, () => Promise<void>>> = {
  node: async () => void (await once(spawn(process.execPath, ['-e', '0'], { stdio: 'ignore' }), 'exit')),
  'without network': () => run(alone(), ['true'], 'none'),
  'with network': () => run(alone(), ['true'], 'internet'),
  'entering a namespace': () => run(space.createSandbox(), ['true'], 'internet'),
  'node without network': () => run(alone(), node, 'none'),
  'node with network': () => run(alone(), node, 'internet'),
  'node entering a namespace': () => run(space.createSandbox(), node, 'internet'),
}

async function run(sandbox: Sandbox, command: Policy['command'], network: Policy['network']): Promise<void> {
  await sandbox.prepare()
  sandbox.start({
    command,
    env: { PATH: '/usr/bin' },
    workDirectory: undefined,
    readOnly: [NODE],
    network,
    currentDirectory: '/tmp',
    limits: DEFAULT_LIMITS,
  })
  sandbox.output().resume()
  const { code } = await sandbox.wait()
  if (code !== 0) throw new Error(`it ended with ${code}`)
  await sandbox.destroy()
}

/** Processor time of this process and all that it started, in ms: the control group that the test made holds nothing else. */
function processorMs(): number {
  const [, usage] = /^usage_usec (\d+)$/m.exec(readFileSync(join(process.argv[2]!, 'cpu.stat'), 'utf8'))!
  return Number(usage) / 1000
}

const costs = []
for (const [what, start] of Object.entries(STARTS)) {
  await start()
  const times: number[] = []
  const before = processorMs()
  for (let round = 0; round < ROUNDS; round++) {
    const startedAt = performance.now()
    await start()
    times.push(performance.now() - startedAt)
  }
  const wallMs = times.sort((a, b) => a - b)[ROUNDS / 2]!
  costs.push({ what, wallMs, processorMs: (processorMs() - before) / ROUNDS })
}
console.log(JSON.stringify(costs))
await space.close()
rmSync(parent, { recursive: true, force: true })
