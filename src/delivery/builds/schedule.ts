/** Which build is next. docs/building.md: Queue. */

export type WaitingBuild = { deploymentId: string; accountId: string; isProduction: boolean; queuedAt: number }

/** What an account has running, and when its last build started (ms; 0: none did). */
export type AccountLoad = { running: number; lastStartedAt: number }

/**
 * Returns the next build: of the account below its limit with the fewest running builds, and of those the one that waits longest for
 * its turn. Production comes first within an account, then the oldest. Undefined: none may start.
 */
export function chooseBuild(
  waiting: readonly WaitingBuild[],
  loads: ReadonlyMap<string, AccountLoad>,
  { perAccount }: { perAccount: number },
): WaitingBuild | undefined {
  const heads = new Map<string, WaitingBuild>()
  for (const build of waiting) {
    const head = heads.get(build.accountId)
    if (head === undefined || orderWithin(build, head) < 0) heads.set(build.accountId, build)
  }
  const loadOf = (build: WaitingBuild) => loads.get(build.accountId) ?? { running: 0, lastStartedAt: 0 }
  return [...heads.values()]
    .filter((build) => loadOf(build).running < perAccount)
    .sort((one, other) => {
      const [a, b] = [loadOf(one), loadOf(other)]
      return a.running - b.running || a.lastStartedAt - b.lastStartedAt || orderWithin(one, other)
    })[0]
}

function orderWithin(one: WaitingBuild, other: WaitingBuild): number {
  const production = Number(other.isProduction) - Number(one.isProduction)
  return production || one.queuedAt - other.queuedAt || (one.deploymentId < other.deploymentId ? -1 : 1)
}
