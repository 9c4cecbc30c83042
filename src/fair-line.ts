/** A line in which owners take turns: who brings much waits behind its own, and nobody else does. */
export type FairLine<T> = {
  size(): number
  sizeOf(owner: string): number
  push(owner: string, item: T): void
  /** It waits no more. */
  remove(owner: string, item: T): void
  /** The first of the owner whose turn it is; of those that `may` go, when it is said. */
  shift(may?: (owner: string) => boolean): T | undefined
}

/** Nobody stands in it yet. */
export function openFairLine<T>(): FairLine<T> {
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
        // Behind all others now.
        if (own.length > 0) owners.set(owner, own)
        return item
      }
      return undefined
    },
  }
}
