/** Compares snapshot versions. The content of a version never changes, so an equal one needs no work. */
import { readVersion } from '../../delivery/protocol/snapshot-version.ts'

/**
 * Returns how to handle version `next` of the control plane. `current` is undefined before the first snapshot. `older` must not
 * be applied: that control plane has not read the newest change. Another database counts as newer. Throws if `next` is not a
 * version.
 */
export function compareGeneration(current: string | undefined, next: string): 'apply' | 'same' | 'older' {
  const fresh = readVersion(next)
  if (fresh === undefined) throw new Error(`the control plane gave "${next.slice(0, 100)}", which is not a version`)
  const stored = current === undefined ? undefined : readVersion(current)
  if (stored === undefined || stored.store !== fresh.store) return 'apply'
  if (current === next) return 'same'
  if (stored.instance === fresh.instance) return fresh.sequence > stored.sequence ? 'apply' : 'older'
  return fresh.stamp >= stored.stamp ? 'apply' : 'older'
}
