/**
 * Versions of the snapshot as text. The stamp comes from the database, so every control plane on it can continue. The sequence
 * counts changes within one process, where their order is exact. docs/deploying-sites.md: Data of the sites server.
 */

/** `store`: the database. `stamp`: its newest change. `instance`: the process that wrote it. `sequence`: changes applied by it. */
export type SnapshotVersion = { store: string; stamp: number; instance: string; sequence: number }

/** Formats a version. */
export function writeVersion({ store, stamp, instance, sequence }: SnapshotVersion): string {
  return `${store}.${stamp}.${instance}.${sequence}`
}

/** Parses a version. Returns undefined if it is invalid. */
export function readVersion(text: string): SnapshotVersion | undefined {
  const [, store, stamp, instance, sequence] = /^(\w{8})\.(\d{1,15})\.(\w{8})\.(\d{1,15})$/.exec(text) ?? []
  if (store === undefined) return undefined
  return { store, stamp: Number(stamp), instance: instance!, sequence: Number(sequence) }
}
