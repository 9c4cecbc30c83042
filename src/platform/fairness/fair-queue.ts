/** A round-robin queue: the items of an owner wait only behind other owners' next items and their own. */
export type FairQueue<T> = {
  size(): number
  sizeOf(owner: string): number
  push(owner: string, item: T): void
  remove(owner: string, item: T): void
  /** Removes and returns the first item of the next owner. With `may`, of the next owner for which it returns true. */
  shift(may?: (owner: string) => boolean): T | undefined
}

/** Creates an empty queue. */
export function createFairQueue<T>(): FairQueue<T> {
  /** In round-robin order. */
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
        // The owner moves behind all others.
        if (own.length > 0) owners.set(owner, own)
        return item
      }
      return undefined
    },
  }
}

/** A fair queue with paths as owners: paths with a common prefix share the turns of that prefix. */
export type PathQueue<T> = {
  /** Number of items below a path. */
  sizeOf(path: readonly string[]): number
  push(path: readonly string[], item: T): void
  remove(path: readonly string[], item: T): void
  shift(): T | undefined
}

/** Returns an empty queue for paths with this number of parts. */
export function createPathQueue<T>(parts: number): PathQueue<T> {
  if (parts === 0) return createList()
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

function createList<T>(): PathQueue<T> {
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
