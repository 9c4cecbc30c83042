/** The build cache of one build: restored before it, saved once it is deployed. docs/runner.md: Build cache. */
import { cacheKeysOf, skipsCache } from '../cache/cache-key.ts'
import type { Build } from './build.ts'

/** Packing may wait for a slow disk, and a runner has other builds. */
const SAVE_MS = 5 * 60_000

/** TABLE what came of it → line of the log. */
const LINES = {
  restored: 'Restored the build cache.',
  none: 'There is no build cache yet.',
  failed: 'The build cache could not be restored and is removed.',
} as const

/** Unpacks the cache of an earlier build, and says in the log what came of it. Throws the reason of `signal`. */
export async function restoreCache(build: Build, signal: AbortSignal): Promise<void> {
  const { tools, lease, node, workspace, log } = build
  if (skipsCache(lease)) return log.line('stdout', 'The build cache is not used, as the deployment asks.')
  log.line('stdout', LINES[await tools.cache.restore(cacheKeysOf(lease, node), workspace!, signal)])
}

/** Packs while the sandbox's directory is still there. Never throws. */
export async function saveCache({ tools, lease, node, workspace }: Build, ending: AbortSignal): Promise<void> {
  const signal = AbortSignal.any([ending, AbortSignal.timeout(SAVE_MS)])
  await tools.cache.save(cacheKeysOf(lease, node), workspace!, signal)
}
