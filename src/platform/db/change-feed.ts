/** Change feed: every commit invalidates the topics that it changed. Caches and subscribers use only this feed. docs/architecture.md: Caching. */

/** Receives database events for the metrics. */
export type StoreObserver = {
  committed(writes: number, ms: number): void
  /** A transaction failed to serialize and is retried. */
  serializationFailure(): void
  /** A statement finished or failed. `since`: of `performance.now()`. Undefined: not measured. */
  statement: ((sql: string, since: number, error?: unknown) => void) | undefined
}

/**
 * `project <id>`: a project and its contents. `projects <account id>`: the list of an account. `account <id>`: its members and permissions.
 * `endpoints`, `invitations`, `domains`, `variables`: lists of an account. `sessions <user id>`. `edge <key>`: a row of `edge_change`.
 */
export type TopicKind =
  | 'project'
  | 'projects'
  | 'account'
  | 'endpoints'
  | 'invitations'
  | 'domains'
  | 'variables'
  | 'sessions'
  | 'edge'
export type Topic = `${TopicKind} ${string}`
/** `all`: anything may have changed. */
export type ChangedTopics = readonly Topic[] | 'all'

/** Topics with a known version. Above it, all topics count as changed. */
const KNOWN = 20_000

export type ChangeFeed = {
  /** The current version. Read it before you read data. */
  version(): number
  /** Whether none of these changed since the version. False also where that is unknown. */
  isUnchanged(topics: readonly Topic[], since: number): boolean
  /** Invalidates the topics of a commit, at once (`onInvalidate`). On PostgreSQL soon after the commit. */
  invalidate(changed: ChangedTopics): void
  /** Notifies subscribers (`onChange`). Call it after the commit. */
  notify(changed: ChangedTopics): void
  /** Calls `listener` synchronously with the commit, to evict cached items of these topics. */
  onInvalidate(listener: (changed: ChangedTopics) => void): void
  /**
   * Calls `listener` after each commit of this process, and on PostgreSQL soon after each commit of any instance. Missed notifications are reported as
   * `all`.
   */
  onChange(listener: (changed: ChangedTopics) => void): void
}

/** Creates an empty change feed. */
export function createChangeFeed(): ChangeFeed {
  const raised = new Map<Topic, number>()
  const remembering: ((changed: ChangedTopics) => void)[] = []
  const waiting: ((changed: ChangedTopics) => void)[] = []
  let now = 0
  let lastVersion = 0
  return {
    version: () => now,
    isUnchanged: (topics, since) => since >= lastVersion && topics.every((topic) => (raised.get(topic) ?? 0) <= since),
    invalidate(changed) {
      now++
      if (changed === 'all' || raised.size + changed.length > KNOWN) {
        raised.clear()
        lastVersion = now
      }
      if (changed !== 'all') for (const topic of changed) raised.set(topic, now)
      for (const listener of remembering) listener(changed)
    },
    notify(changed) {
      for (const listener of waiting) listener(changed)
    },
    onInvalidate: (listener) => void remembering.push(listener),
    onChange: (listener) => void waiting.push(listener),
  }
}
