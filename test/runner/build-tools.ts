/** What a runner has of its own, for tests: tools that are there, and a log that is silent. */
import { pino } from 'pino'
import type { BuildTools } from '../../src/runner/build/build.ts'
import type { BuildCache } from '../../src/runner/cache/build-cache.ts'
import { openProcessTable } from '../../src/runner/resources/processes.ts'
import type { ScriptedSandbox } from './scripted-sandbox.ts'

const NO_CACHE: BuildCache = { restore: async () => 'none', save: async () => {} }

/** `tool`: what the installation of a tool fails with. */
export function toolsOf(
  sandbox: ScriptedSandbox,
  { tool, limits, cache = NO_CACHE }: { tool?: Error; limits?: Partial<BuildTools['limits']>; cache?: BuildCache } = {},
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
    cache,
    ...{ network: 'none', passed: {}, certificates: undefined, builder: 'vercel@1.2.3' },
    log: pino({ level: 'silent' }),
  }
}
