import { type AttentionItem, KINDS, type Kind, MAX_REPORTED, type Section } from './schema.ts'

export type Tally = {
  add(kind: Kind, item: AttentionItem): void
  /** Marks kinds whose scan reached its limit. */
  isPartial(...kinds: Kind[]): void
  sections(): Section[]
}

/** Keeps a surplus, so that items are not sorted after each one. */
const MAX_KEPT = 4 * MAX_REPORTED

/** Counts open items by kind and keeps the oldest of each. */
export function createTally(): Tally {
  const found = new Map<Kind, { count: number; items: AttentionItem[] }>()
  const partial = new Set<Kind>()
  return {
    add(kind, item) {
      const group = found.get(kind) ?? { count: 0, items: [] }
      group.count++
      group.items.push(item)
      if (group.items.length >= MAX_KEPT) group.items = longest(group.items)
      found.set(kind, group)
    },
    isPartial(...kinds) {
      for (const kind of kinds) partial.add(kind)
    },
    sections: () =>
      (Object.keys(KINDS) as Kind[])
        .filter((kind) => found.has(kind) || partial.has(kind))
        .map((kind) => {
          const { count, items } = found.get(kind) ?? { count: 0, items: [] }
          return { kind, title: KINDS[kind], count, partial: partial.has(kind), items: longest(items) }
        }),
  }
}

/** Items without a known start come first. */
function longest(items: readonly AttentionItem[]): AttentionItem[] {
  return items.toSorted((a, b) => (a.since ?? 0) - (b.since ?? 0)).slice(0, MAX_REPORTED)
}
