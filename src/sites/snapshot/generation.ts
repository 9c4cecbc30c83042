/** Which of two versions of the snapshot is newer. A version never changes what it holds, so an equal one needs no work. */
import { readVersion } from '../../delivery/protocol/snapshot-version.ts'

/**
 * What to do with the version that the control plane gives, where this is the current one (undefined: nothing is known yet). `older` must not be
 * applied: it is of a control plane that has not read the newest change. Another store counts as newer. Throws where `next` is no version.
 */
export function compareGeneration(current: string | undefined, next: string): 'apply' | 'same' | 'older' {
  const fresh = readVersion(next)
  if (fresh === undefined) throw new Error(`the control plane gave "${next.slice(0, 100)}", which is no version`)
  const known = current === undefined ? undefined : readVersion(current)
  if (known === undefined || known.store !== fresh.store) return 'apply'
  if (current === next) return 'same'
  if (known.instance === fresh.instance) return fresh.sequence > known.sequence ? 'apply' : 'older'
  return fresh.stamp >= known.stamp ? 'apply' : 'older'
}
