/** What an operation may touch, handed to it: no globals, no decorators. */

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

/** What the process has, opened once by main (or by a test's world). */
export type Deps = {
  config: Config
  db: Db
  /** Who acts and answers, as they were read; undefined where others commit too. */
  cache: Cache | undefined
  clock: Clock
  adapters: Adapters
  /** The bytes of files that accounts upload. */
  files: FileStore
  /** The root keys that seal what must not be read from the database. */
  keyring: Keyring
  log: Logger
  metrics: Metrics
  /** Undefined: nobody collects them. docs/operations.md: Traces. */
  traces: Traces | undefined
  limits: Limiter
  operatorTokenHash: string
  /** Who was given clear values. platform/outbox/secret-reads.ts. */
  secretReads: SecretReads
  /** Open pages that hear of changes. platform/live/live.ts. */
  live: Live
  /** Proxies in front that no setting names. platform/tls/unnamed-proxies.ts. */
  unnamedProxies: UnnamedProxies
  /** Who was here. platform/access/last-seen.ts. */
  lastSeen: LastSeen
  /** Backups that this instance makes and keeps. */
  backups: Backups
  /** How people and proxies reach the service, as `https://host`: BERTH_PUBLIC_URL, or the address that is bound. */
  origin(): string
  /** Tells who works in the background, should that run in this process, to look now rather than at the next turn. Only hints. */
  wakeups: { mail(): void; deliveries(): void; timer(name: string): void }
  /** What features do when a project is created, shown, removed or moved: src/project-hooks.ts. */
  projectHooks: readonly ProjectHooks[]
  /** Aborted once the service is asked to stop. */
  shutdownSignal: AbortSignal
}

export type { Account, Actor, Caller }

/** The account that an event is told to. */
export type EventAccount = Pick<Account, 'id' | 'kind'>

/** What else an event is of: the project, and the installation that alone of all may hear it. */
export type EventContext = {
  projectId?: string | undefined
  installationId?: string
  /** Of a variable: the installation that made it. Those who see their own variables only hear of their own only. */
  createdBy?: string | null
  /** Of a project that is gone: the installations that had it in their selection. */
  selectedBy?: string[]
}

/** What the operator's operations and timers may touch. */
export type OperatorCtx = {
  actor: Actor
  /** The read connection for a GET, the transaction for everything else. */
  db: Queries
  /** The one clock reading of this operation, and its unique stamp. */
  now: number
  stamp: number
  deps: Deps
  /** Whether a sealed value was opened: an answer that may hold one in clear is not remembered. */
  secrets?: { opened: boolean }
  /**
   * Puts an event in the outbox of this transaction, for the account that hears it. An event that the route does not
   * declare is a bug and throws. Its `user` is null: the operator and the timers are no user.
   */
  emit<E extends EventName>(type: E, payload: EventPayload<E>, about: string | EventContext, owner: EventAccount): void
}

/** What the operations of an account may touch. */
export type Ctx = Omit<OperatorCtx, 'emit'> & {
  caller: Caller
  account: Account
  /** Takes of a limit, once however often the transaction runs. */
  spend: Spend
  /** Counts variables against the limit of the account. Call it before they are written. Refuses: rate_limited 429, when the account wrote too many in the last minute. */
  countRows(rows: number): Promise<void>
  /** Notes that the answer holds the clear value of a variable with these targets: the audit log names who was given it. */
  recordSecretRead(targets: readonly string[]): void
  /** As an operator's; without `owner` the caller's account hears it, and who the caller is. `about`: a project by its id. */
  emit<E extends EventName>(type: E, payload: EventPayload<E>, about: string | EventContext, owner?: EventAccount): void
}

export type Params = Record<string, string>

/** What the caller sent, validated: declared fields only. */
export type Input<Q = unknown, B = unknown> = {
  params: Params
  query: Q
  body: B
  /** Of a route with `fileBody`: what is sent, to be read as it comes. */
  file?: IncomingFile | undefined
  /** The number of a `/v9` that the path began with; undefined without one. */
  version: number | undefined
  /** The `Authorization` header, for a client that proves itself by it (RFC 6749, 2.3.1). */
  authorization?: string | undefined
  /** Where such a client asks from: what its failures are counted by. */
  address?: string
  /** The `User-Agent` header. Only the names of events follow from it: docs/webhooks.md: Why. */
  agent?: string | undefined
}

/**
 * A body that is read as it comes. `pieces` refuses: bad_request 400 (cut off), request_timeout 408 (too slow). `header`: what a header says; undefined
 * where it is absent or given twice. `gone`: aborted once the sender has left.
 */
export type IncomingFile = {
  pieces: AsyncIterable<Buffer>
  header(name: string): string | undefined
  gone: AbortSignal
}

/** A statement that must hold before `run`: it returns, or refuses with one of `refuses`. */
export type Guard<C, S> = ((ctx: C, subject: S, input: Input) => void | Promise<void>) & {
  refuses: readonly RefusalKey[]
}

/** What a feature does when a project is created, shown, removed or moved. The rows are joined in src/project-hooks.ts. */
export type ProjectHooks = {
  /** Adds what the feature keeps of a new project, in the transaction that creates it. */
  created?(ctx: Ctx, project: Row<'project'>): Promise<void>
  /** What the feature adds to the answer of a project. */
  show?(ctx: Ctx, project: Row<'project'>): Promise<object>
  /** The same for each project of a page, by the id of the project. */
  showPage?(ctx: Ctx, projects: readonly Row<'project'>[]): Promise<ReadonlyMap<string, object>>
  /** Removes what the feature keeps of a project, before the row of the project goes. It may add to `about`: who hears that the project is gone. */
  remove?(ctx: Ctx, project: Row<'project'>, about: EventContext): Promise<void>
  /** Takes away what stays behind, before the project moves. Endpoints of this project alone still hear its events. */
  leave?(ctx: OperatorCtx, project: Row<'project'>, from: EventAccount): Promise<void>
  /** Takes the project out of what the account that it leaves has of it. */
  forget?(ctx: OperatorCtx, project: Row<'project'>, from: EventAccount): Promise<void>
  /** Takes what moves along to the new account. `project`: its row as it was before. */
  move?(ctx: OperatorCtx, project: Row<'project'>, to: EventAccount): Promise<void>
}
