/**
 * The newest changes of the index, in the order in which this process applied them, for sites servers that ask what changed since. Pure and
 * bounded: whoever asks for more than it holds takes all. docs/deploying-sites.md: What the sites server knows.
 */

/** A change of a row of `edge_change`: `domain <name>`, `deployment <id>` or `project <id>`, and its stamp in the database. */
export type Change = { key: string; stamp: number }

/** Where a reader is. `sequence` counts the changes that one process applied, `stamp` is the newest of the database that they have. */
export type Place = { sequence: number; stamp: number }

export type ChangeRing = {
  /** Behind the newest change. */
  place(): Place
  add(changes: readonly Change[]): void
  /** All before is unknown: readers take all. */
  clear(place: { stamp: number; floor: number }): void
  /** The place of a reader that got here with another process, and has all up to a stamp. Undefined where changes behind it may be missing. */
  placeOf(stamp: number): Place | undefined
  /** The next different keys behind a place, at most so many, and the place behind them. Undefined where some are not held any more. */
  next(place: Place, most: number): { keys: string[]; place: Place } | undefined
}

const MOST = 50_000
const MAX_CHARACTERS = 4 * 1024 ** 2
/** It is cut down to this part of its bounds, so that cutting costs little for each change. */
const KEPT = 0.8

/** `before`: the sequence of the change before the first one. `floor`: all with a later stamp are here. */
type Held = { changes: Change[]; characters: number; before: number; floor: number; newest: number }

/** An empty ring. `overlapMs`: how much later than its stamp a change may become visible. */
export function openChangeRing(overlapMs: number, { most = MOST, mostCharacters = MAX_CHARACTERS } = {}): ChangeRing {
  const held: Held = { changes: [], characters: 0, before: 0, floor: 0, newest: 0 }
  return {
    place: () => ({ sequence: held.before + held.changes.length, stamp: held.newest }),
    add(added) {
      for (const change of added) {
        held.changes.push(change)
        held.characters += change.key.length
        held.newest = Math.max(held.newest, change.stamp)
      }
      if (held.changes.length > most || held.characters > mostCharacters) cut(held, most * KEPT, mostCharacters * KEPT)
    },
    clear({ stamp, floor }) {
      // Also for who had all of it.
      const before = held.before + held.changes.length + 1
      Object.assign(held, { changes: [], characters: 0, before, floor, newest: stamp })
    },
    placeOf(stamp) {
      const from = stamp - overlapMs
      if (from < held.floor || stamp > held.newest) return undefined
      const at = held.changes.findIndex((change) => change.stamp > from)
      return { sequence: held.before + (at === -1 ? held.changes.length : at), stamp }
    },
    next: (place, mostKeys) => next(held, place, mostKeys),
  }
}

function cut(held: Held, most: number, mostCharacters: number): void {
  let at = 0
  for (; held.changes.length - at > most || held.characters > mostCharacters; at++) {
    held.characters -= held.changes[at]!.key.length
    held.floor = Math.max(held.floor, held.changes[at]!.stamp)
  }
  held.changes = held.changes.slice(at)
  held.before += at
}

function next({ changes, before, newest }: Held, { sequence, stamp }: Place, most: number) {
  if (sequence < before) return undefined
  const keys = new Set<string>()
  let at = sequence - before
  let reached = stamp
  for (; at < changes.length; at++) {
    const change = changes[at]!
    if (keys.size >= most && !keys.has(change.key)) break
    // The one that changed last stands last.
    keys.delete(change.key)
    keys.add(change.key)
    reached = Math.max(reached, change.stamp)
  }
  // Behind the newest change everything is known, also what was noted before it.
  return { keys: [...keys], place: { sequence: before + at, stamp: at >= changes.length ? newest : reached } }
}
