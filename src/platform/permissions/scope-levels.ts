/** Scopes as levels: `none`, `read` or `read-write`. Requested and granted levels are compared per scope. */

/** Returns every scope once, at its highest level, sorted, so that equal sets are equal lists. */
export function normalizeScopes(scopes: readonly string[]): string[] {
  return fromLevels(levelsOf(scopes))
}

/** Returns the requested part of a grant: each scope at the lower of the two levels. */
export function intersectScopes(granted: readonly string[], requested: readonly string[]): string[] {
  const limit = levelsOf(requested)
  const levels = [...levelsOf(granted)].map(
    ([scope, level]) => [scope, Math.min(level, limit.get(scope) ?? 0)] as const,
  )
  return fromLevels(new Map(levels))
}

/** Returns the requested scopes above the granted level. */
export function addedScopes(requested: readonly string[], granted: readonly string[]): string[] {
  const has = levelsOf(granted)
  return fromLevels(new Map([...levelsOf(requested)].filter(([scope, level]) => level > (has.get(scope) ?? 0))))
}

const LEVELS = ['none', 'read', 'read-write']

function levelsOf(scopes: readonly string[]): Map<string, number> {
  const levels = new Map<string, number>()
  for (const grant of scopes) {
    const [level = '', scope = ''] = grant.split(':')
    levels.set(scope, Math.max(levels.get(scope) ?? 0, LEVELS.indexOf(level)))
  }
  return levels
}

function fromLevels(levels: ReadonlyMap<string, number>): string[] {
  const granted = [...levels].filter(([, level]) => level > 0)
  return granted.map(([scope, level]) => `${LEVELS[level]}:${scope}`).sort()
}
