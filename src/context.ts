/** What an operation can use, as parameters: no globals, no decorators. */

import type { Logger } from 'pino'
import type { Config } from './config.ts'
import type { RefusalKey } from './errors.ts'
import type { EventName, EventPayload } from './events.ts'
import type { Metrics } from './metrics.ts'
import type { LastSeen } from './platform/access/last-seen.ts'
import type { Account, Caller } from './platform/access/who.ts'
import type { Adapters } from './platform/adapters/adapters.ts'
import type { Actor } from './platform/base/actor.ts'
import type { Backups } from './platform/base/backups.ts'
import type { Clock } from './platform/base/clock.ts'
import type { Cache } from './platform/cache/cache.ts'
import type { Db, Queries } from './platform/db/db.ts'
import type { Row } from './platform/db/schema.ts'
import type { FileStore } from './platform/files/file-store.ts'
import type { Limiter } from './platform/limiter/limiter.ts'
import type { Spend } from './platform/limiter/spending.ts'
import type { Live } from './platform/live/live.ts'
import type { SecretReads } from './platform/outbox/secret-reads.ts'
import type { Keyring } from './platform/secrets/keyring.ts'
import type { UnnamedProxies } from './platform/tls/unnamed-proxies.ts'
import type { Traces } from './platform/tracing/traces.ts'

/** Process-wide dependencies, opened once by main (or by a test's world). */
export type Deps = {
  config: Config
  db: Db
  /** Cache of callers and responses. Undefined on PostgreSQL, where other instances commit too. */
  cache: Cache | undefined
  clock: Clock
  adapters: Adapters
  /** Storage of uploaded files. */
  files: FileStore
  /** The root keys for sealed values. */
  keyring: Keyring
  log: Logger
  metrics: Metrics
  /** Undefined without a collector. docs/operations.md: Traces. */
  traces: Traces | undefined
  limits: Limiter
  operatorTokenHash: string
  /** Audit entries of decrypted values. platform/outbox/secret-reads.ts. */
  secretReads: SecretReads
  /** Open pages with live updates. platform/live/live.ts. */
  live: Live
  /** Proxies in front that no setting names. platform/tls/unnamed-proxies.ts. */
  unnamedProxies: UnnamedProxies
  /** Last use. platform/access/last-seen.ts. */
  lastSeen: LastSeen
  backups: Backups
  /** The public origin of the service, as `https://host`: BERTH_PUBLIC_URL, or the bound address. */
  origin(): string
  /** Wakes background work of this process before its next poll; optional. */
  wakeups: { mail(): void; deliveries(): void; timer(name: string): void; builds(): void }
  /** Feature callbacks of projects: src/project-hooks.ts. */
  projectHooks: readonly ProjectHooks[]
  /** Aborted once the service is asked to stop. */
  shutdownSignal: AbortSignal
}

export type { Account, Actor, Caller }

/** The account that receives an event. */
export type EventAccount = Pick<Account, 'id' | 'kind'>

/** The project of an event, and the only installation that may receive it. */
export type EventContext = {
  projectId?: string | undefined
  installationId?: string
  /** Of a variable: the installation that created it. Installations limited to their own variables receive only events of those. */
  createdBy?: string | null
  /** Of a deleted project: the installations that had it in their selection. */
  selectedBy?: string[]
}

/** The context of operator operations and timers. */
export type OperatorCtx = {
  actor: Actor
  /** The read connection for a GET, the transaction for everything else. */
  db: Queries
  /** The time of this operation, and its unique stamp. */
  now: number
  stamp: number
  deps: Deps
  /** Whether a sealed value was opened: responses that may contain decrypted values are not cached. */
  secrets?: { decrypted: boolean }
  /**
   * Emits an event in this transaction, for the account that receives it. An event that the route does not declare is a bug and throws. Its `user` is
   * null: operator and timers are not users.
   */
  emit<E extends EventName>(type: E, payload: EventPayload<E>, about: string | EventContext, owner: EventAccount): void
}

/** The context of account operations. */
export type Ctx = Omit<OperatorCtx, 'emit'> & {
  caller: Caller
  account: Account
  /** Consumes a rate limit, once for all retries of the transaction. */
  spend: Spend
  /** Counts variables against the limit of the account. Call it before the write. Refuses: rate_limited 429 (too many in the last minute). */
  countRows(rows: number): Promise<void>
  /** Records a decrypted variable with these targets in the response, for the audit log. */
  recordSecretRead(targets: readonly string[]): void
  /** As in OperatorCtx, with the caller as user. Without `owner` the caller's account receives it. `about`: a project by its id. */
  emit<E extends EventName>(type: E, payload: EventPayload<E>, about: string | EventContext, owner?: EventAccount): void
}

export type Params = Record<string, string>

/** The validated input: declared fields only. */
export type Input<Q = unknown, B = unknown> = {
  params: Params
  query: Q
  body: B
  /** Of a route with `fileBody`: the streamed body. */
  file?: IncomingFile | undefined
  /** The number of a `/v9` prefix; undefined without one. */
  version: number | undefined
  /** The `Authorization` header, for client authentication (RFC 6749, 2.3.1). */
  authorization?: string | undefined
  /** The address of such a client, to count its failures. */
  address?: string
  /** The `User-Agent` header, which selects event names: docs/webhooks.md: Rationale. */
  agent?: string | undefined
}

/**
 * A streamed body. `pieces` refuses: bad_request 400 (cut off), request_timeout 408 (too slow). `header`: a header's value; undefined where it is
 * absent or repeated. `gone`: aborted once the sender has disconnected.
 */
export type IncomingFile = {
  pieces: AsyncIterable<Buffer>
  header(name: string): string | undefined
  gone: AbortSignal
}

/** A precondition of `run`: it returns, or refuses with one of `refuses`. */
export type Guard<C, S> = ((ctx: C, subject: S, input: Input) => void | Promise<void>) & {
  refuses: readonly RefusalKey[]
}

/** Feature callbacks of projects, joined in src/project-hooks.ts. */
export type ProjectHooks = {
  /** Adds rows of the feature in the transaction that creates the project. */
  created?(ctx: Ctx, project: Row<'project'>): Promise<void>
  /** Returns the feature's fields of a project reply. */
  show?(ctx: Ctx, project: Row<'project'>): Promise<object>
  /** The same for a page of projects, by project id. */
  showPage?(ctx: Ctx, projects: readonly Row<'project'>[]): Promise<ReadonlyMap<string, object>>
  /** Deletes rows of the feature before the project. It may add receivers of the deletion to `about`. */
  remove?(ctx: Ctx, project: Row<'project'>, about: EventContext): Promise<void>
  /** Deletes what does not move, before the transfer. Endpoints limited to this project still receive its events. */
  leave?(ctx: OperatorCtx, project: Row<'project'>, from: EventAccount): Promise<void>
  /** Removes the project from data of the old account. */
  forget?(ctx: OperatorCtx, project: Row<'project'>, from: EventAccount): Promise<void>
  /** Moves data to the new account. `project`: its row before the transfer. */
  move?(ctx: OperatorCtx, project: Row<'project'>, to: EventAccount): Promise<void>
}
