/**
 * What has changed: every commit raises the stamps of the subjects that it changed. What is remembered, and whoever waits for changes,
 * hears of them here and nowhere else. docs/architecture.md: What is remembered.
 */

/** Hears what the store does, for the figures. */
export type StoreObserver = {
  /** So many writes were made durable together, in so many milliseconds. */
  committed(writes: number, ms: number): void
  /** A transaction lost a race and is run again. */
  serializationFailure(): void
  /** A statement was answered, or failed. `since`: of `performance.now()`. Undefined: nobody wants to know. */
  statement: ((sql: string, since: number, error?: unknown) => void) | undefined
}

/**
 * `project <id>`: a project and what is in it. `projects <account id>`: the list of an account. `account <id>`: who may do what in it.
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

/** So many subjects are known with their stamps. Beyond it they are all taken as changed by whoever is just reading. */
const KNOWN = 20_000

export type ChangeFeed = {
  /** The stamp of now. Take it before you read. */
  version(): number
  /** Whether none of these has changed since the stamp. False also where that is not known any more. */
  isUnchanged(subjects: readonly Topic[], since: number): boolean
  /** Raises the stamps of what a commit changes, at once for those who remember (`onRaise`). On PostgreSQL soon after the commit. */
  invalidate(changed: ChangedTopics): void
  /** Tells those who wait (`onChange`). Call it after the commit. */
  notify(changed: ChangedTopics): void
  /** Calls `listener` in the turn of the commit: what it remembers of these is over. */
  onInvalidate(listener: (changed: ChangedTopics) => void): void
  /**
   * Calls `listener` after each commit of this process, and on PostgreSQL soon after each commit of any instance. What may have been missed
   * there is told as `all`.
   */
  onChange(listener: (changed: ChangedTopics) => void): void
}

/** Nothing has changed yet, and nobody listens. */
export function createChangeFeed(): ChangeFeed {
  const raised = new Map<Topic, number>()
  const remembering: ((changed: ChangedTopics) => void)[] = []
  const waiting: ((changed: ChangedTopics) => void)[] = []
  let now = 0
  let known = 0
  return {
    version: () => now,
    isUnchanged: (subjects, since) =>
      since >= known && subjects.every((subject) => (raised.get(subject) ?? 0) <= since),
    invalidate(changed) {
      now++
      if (changed === 'all' || raised.size + changed.length > KNOWN) {
        raised.clear()
        known = now
      }
      if (changed !== 'all') for (const subject of changed) raised.set(subject, now)
      for (const listener of remembering) listener(changed)
    },
    notify(changed) {
      for (const listener of waiting) listener(changed)
    },
    onInvalidate: (listener) => void remembering.push(listener),
    onChange: (listener) => void waiting.push(listener),
  }
}
