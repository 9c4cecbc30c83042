/**
 * The newest changes of the index, as this process applied them, for sites servers. Bounded: older versions get a full snapshot.
 * docs/deploying-sites.md: Data of the sites server.
 */

/** `key`: `domain <name>`, `deployment <id>` or `project <id>`. `stamp`: that of the database row. */
export type Change = { key: string; stamp: number }

/** Position of a reader. `sequence` counts changes applied by one process; `stamp` is their newest in the database. */
export type Place = { sequence: number; stamp: number }

export type ChangeRing = {
  /** Position after the newest change. */
  place(): Place
  add(changes: readonly Change[]): void
  /** Forgets all changes: readers need a full snapshot. */
  clear(place: { stamp: number; floor: number }): void
  /** Position of a reader from another process that has all up to a stamp. Undefined when later changes may be missing. */
  placeOf(stamp: number): Place | undefined
  /** The next distinct keys after a position, and the position after them. Undefined when some are no longer held. */
  next(place: Place, max: number): { keys: string[]; place: Place } | undefined
}

const MAX_CHANGES = 50_000
const MAX_CHARACTERS = 4 * 1024 ** 2
/** Trimming to this part of the limits makes it rare. */
const KEPT = 0.8

/** `before`: sequence before the first change. `floor`: all changes with a later stamp are held. */
type Held = { changes: Change[]; characters: number; before: number; floor: number; newest: number }

/** Creates an empty ring. `overlapMs`: maximum delay between a stamp and its visibility. */
export function createChangeRing(
  overlapMs: number,
  { max = MAX_CHANGES, maxCharacters = MAX_CHARACTERS } = {},
): ChangeRing {
  const held: Held = { changes: [], characters: 0, before: 0, floor: 0, newest: 0 }
  return {
    place: () => ({ sequence: held.before + held.changes.length, stamp: held.newest }),
    add(added) {
      for (const change of added) {
        held.changes.push(change)
        held.characters += change.key.length
        held.newest = Math.max(held.newest, change.stamp)
      }
      if (held.changes.length > max || held.characters > maxCharacters) cut(held, max * KEPT, maxCharacters * KEPT)
    },
    clear({ stamp, floor }) {
      // Also for readers that had everything.
      const before = held.before + held.changes.length + 1
      Object.assign(held, { changes: [], characters: 0, before, floor, newest: stamp })
    },
    placeOf(stamp) {
      const from = stamp - overlapMs
      if (from < held.floor || stamp > held.newest) return undefined
      const at = held.changes.findIndex((change) => change.stamp > from)
      return { sequence: held.before + (at === -1 ? held.changes.length : at), stamp }
    },
    next: (place, maxKeys) => next(held, place, maxKeys),
  }
}

function cut(held: Held, max: number, maxCharacters: number): void {
  let at = 0
  for (; held.changes.length - at > max || held.characters > maxCharacters; at++) {
    held.characters -= held.changes[at]!.key.length
    held.floor = Math.max(held.floor, held.changes[at]!.stamp)
  }
  held.changes = held.changes.slice(at)
  held.before += at
}

function next({ changes, before, newest }: Held, { sequence, stamp }: Place, max: number) {
  if (sequence < before) return undefined
  const keys = new Set<string>()
  let at = sequence - before
  let reached = stamp
  for (; at < changes.length; at++) {
    const change = changes[at]!
    if (keys.size >= max && !keys.has(change.key)) break
    // Keeps the order of the last change per key.
    keys.delete(change.key)
    keys.add(change.key)
    reached = Math.max(reached, change.stamp)
  }
  // The newest position also covers changes recorded before it.
  return { keys: [...keys], place: { sequence: before + at, stamp: at >= changes.length ? newest : reached } }
}
