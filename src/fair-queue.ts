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
export function openFairQueue<T>(): FairQueue<T> {
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
