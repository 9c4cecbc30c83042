/** A queue in which owners take turns: an owner with many items waits behind its own items, and nobody else does. */
export type FairQueue<T> = {
  size(): number
  sizeOf(owner: string): number
  push(owner: string, item: T): void
  /** Takes an item out of the queue, wherever it stands. */
  remove(owner: string, item: T): void
  /** Takes the first item of the owner whose turn it is. With `may`, of the first owner for which it says true. */
  shift(may?: (owner: string) => boolean): T | undefined
}

/** An empty queue. */
export function createFairQueue<T>(): FairQueue<T> {
  /** In the order of their turns. */
  const owners = new Map<string, T[]>()
  let size = 0
  return {
    size: () => size,
    sizeOf: (owner) => owners.get(owner)?.length ?? 0,
    push(owner, item) {
      size++
      const own = owners.get(owner)
      if (own === undefined) owners.set(owner, [item])
      else own.push(item)
    },
    remove(owner, item) {
      const own = owners.get(owner) ?? []
      const at = own.indexOf(item)
      if (at === -1) return
      own.splice(at, 1)
      size--
      if (own.length === 0) owners.delete(owner)
    },
    shift(may = () => true) {
      for (const [owner, own] of owners) {
        if (!may(owner)) continue
        const item = own.shift()!
        size--
        owners.delete(owner)
        // The next turn of this owner comes after those of all others.
        if (own.length > 0) owners.set(owner, own)
        return item
      }
      return undefined
    },
  }
}

/** A fair queue whose owners are paths: those that share the beginning of a path take turns among themselves, as one owner towards others. */
export type PathQueue<T> = {
  /** How many items wait whose path begins so. */
  sizeOf(path: readonly string[]): number
  push(path: readonly string[], item: T): void
  remove(path: readonly string[], item: T): void
  shift(): T | undefined
}

/** An empty queue for paths of so many parts. */
export function createPathQueue<T>(parts: number): PathQueue<T> {
  if (parts === 0) return openList()
  /** One entry for each item below the name. */
  const turns = createFairQueue<string>()
  const below = new Map<string, PathQueue<T>>()
  const left = (name: string) => {
    if (turns.sizeOf(name) === 0) below.delete(name)
  }
  return {
    sizeOf: ([name, ...rest]) => (name === undefined ? turns.size() : (below.get(name)?.sizeOf(rest) ?? 0)),
    push([name = '', ...rest], item) {
      turns.push(name, name)
      below.getOrInsertComputed(name, () => createPathQueue<T>(parts - 1)).push(rest, item)
    },
    remove([name = '', ...rest], item) {
      turns.remove(name, name)
      below.get(name)?.remove(rest, item)
      left(name)
    },
    shift() {
      const name = turns.shift()
      if (name === undefined) return undefined
      const item = below.get(name)!.shift()
      left(name)
      return item
    },
  }
}

/** The items of one path, in their order. */
function openList<T>(): PathQueue<T> {
  const items: T[] = []
  return {
    sizeOf: () => items.length,
    push: (_, item) => void items.push(item),
    remove(_, item) {
      const at = items.indexOf(item)
      if (at !== -1) items.splice(at, 1)
    },
    shift: () => items.shift(),
  }
}
