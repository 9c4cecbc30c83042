/** What a runner has of its own, for tests: tools that are there, and a log that is silent. */
import { pino } from 'pino'
import type { BuildTools } from '../../src/runner/build/build.ts'
import { openProcessTable } from '../../src/runner/resources/processes.ts'
import type { ScriptedSandbox } from './scripted-sandbox.ts'

/** `tool`: what the installation of a tool fails with. */
export function toolsOf(
  sandbox: ScriptedSandbox,
  { tool, limits }: { tool?: Error; limits?: Partial<BuildTools['limits']> } = {},
): BuildTools {
  const install = async (unit: string) => {
    if (tool !== undefined) throw tool
    return `/tools/${unit}`
  }
  return {
    createSandbox: () => sandbox,
    toolchain: { install, installAhead: async () => {}, registry: async () => 'https://registry.example/' },
    limits: { memoryBytes: 2 ** 50, diskBytes: 2 ** 50, files: 2 ** 30, ...limits },
    processes: openProcessTable(),
    ...{ network: 'none', passed: {}, certificates: undefined, builder: 'vercel@1.2.3' },
    log: pino({ level: 'silent' }),
  }
}
