/**
 * Versions of what sites servers know, as text. The stamp is the database's, so that every control plane over it can go on from it; the sequence
 * counts within one process of a control plane, where the order of changes is exact. docs/deploying-sites.md: What the sites server knows.
 */

/** `store`: which database. `stamp`: its newest change. `instance`: the process that wrote it. `sequence`: how many changes that has applied. */
export type SnapshotVersion = { store: string; stamp: number; instance: string; sequence: number }

/** A version as text. */
export function writeVersion({ store, stamp, instance, sequence }: SnapshotVersion): string {
  return `${store}.${stamp}.${instance}.${sequence}`
}

/** A version of such a text; undefined where it is none. */
export function readVersion(text: string): SnapshotVersion | undefined {
  const [, store, stamp, instance, sequence] = /^(\w{8})\.(\d{1,15})\.(\w{8})\.(\d{1,15})$/.exec(text) ?? []
  if (store === undefined) return undefined
  return { store, stamp: Number(stamp), instance: instance!, sequence: Number(sequence) }
}
