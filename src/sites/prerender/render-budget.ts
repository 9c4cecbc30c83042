/** How many bytes may be in memory for others, such as pages in progress. docs/prerendering.md: Rendering. */

/** Bytes in memory, in all and of one account. */
export type RenderBudget = {
  take(account: string, bytes: number): boolean
  giveBack(account: string, bytes: number): void
}

/** Creates a budget. No account has more than it leaves to others, so that a few of them cannot take all. */
export function createRenderBudget(maxBytes: number, ofAccount: number): RenderBudget {
  const held = new Map<string, number>()
  let total = 0
  return {
    take(account, bytes) {
      const own = (held.get(account) ?? 0) + bytes
      if (own > ofAccount || own > maxBytes - total - bytes) return false
      held.set(account, own)
      total += bytes
      return true
    },
    giveBack(account, bytes) {
      const own = (held.get(account) ?? 0) - bytes
      if (own > 0) held.set(account, own)
      else held.delete(account)
      total -= bytes
    },
  }
}
