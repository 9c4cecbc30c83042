/** What an operation may touch, handed to it: no globals, no decorators. */
import type { Logger } from 'pino'
import type { LastSeen } from './access/last-seen.ts'
import type { Ahead } from './access/read-ahead.ts'
import type { Adapters } from './adapters/adapters.ts'
import type { Backups } from './backup/kept-backups.ts'
import type { Clock } from './clock.ts'
import type { Config } from './config.ts'
import type { Db, Queries } from './db/db.ts'
import type { Row } from './db/schema.ts'
import type { RefusalKey } from './errors.ts'
import type { EventName, EventPayload } from './events.ts'
import type { Limiter } from './limiter/limiter.ts'
import type { Live } from './live/live.ts'
import type { Memory } from './memory.ts'
import type { Metrics } from './metrics.ts'
import type { OnProject } from './model/on-project.ts'
import type { Reveals } from './outbox/reveals.ts'
import type { Permission, Role } from './permissions/roles.ts'
import type { Keyring } from './secrets/keyring.ts'
import type { Traces } from './tracing/traces.ts'

/** What the process has, opened once by main (or by a test's world). */
export type Deps = {
  config: Config
  db: Db
  /** Who acts and answers, as they were read; undefined where others commit too. */
  memory: Memory | undefined
  clock: Clock
  adapters: Adapters
  /** The root keys that seal what must not be read from the database. */
  keyring: Keyring
  log: Logger
  metrics: Metrics
  /** Undefined: nobody collects them. docs/operations.md: Traces. */
  traces: Traces | undefined
  limits: Limiter
  operatorTokenHash: string
  /** Who was given clear values. outbox/reveals.ts. */
  reveals: Reveals
  /** Open pages that hear of changes. live/live.ts. */
  live: Live
  /** Who was here. access/last-seen.ts. */
  lastSeen: LastSeen
  /** Backups that this instance makes and keeps. */
  backups: Backups
  /** How people and proxies reach the service, as `https://host`: BERTH_PUBLIC_URL, or the address that is bound. */
  origin(): string
  /** Tells who works in the background, should that run in this process, to look now rather than at the next turn. Only hints. */
  wakeups: { mail(): void; deliveries(): void; timer(name: string): void }
  /** What features do when a project is shown, removed or moved: src/on-project.ts. */
  onProject: readonly OnProject[]
  /** Aborted once the service is asked to stop. */
  stopping: AbortSignal
}

/** Who acts, as the audit log names them. */
export type Actor = {
  /** `integration`: an installation, by its token. `client`: an app that proves itself by its secret. */
  kind: 'user' | 'operator' | 'timer' | 'integration' | 'client'
  id: string
  tokenId: string | null
}

/** The account that a request acts for. */
export type Account = Pick<Row<'account'>, 'id' | 'kind' | 'slug' | 'name' | 'plan'> & {
  softBlocked: boolean
  paymentMissing: boolean
  addOns: string[]
  /** Whether every variable of production and preview is made write-only. */
  sensitiveEnv: boolean
}

/** The account that an event is told to. */
export type EventOwner = Pick<Account, 'id' | 'kind'>

export type Who = {
  actor: Actor
  account: Account
  userId: string
  role: Role
  permissions: ReadonlySet<Permission>
  /** The installation of an integration that acts; null: a person. */
  installationId: string | null
  /** The one team the token is bound to, or null. */
  tokenTeamId: string | null
  /** When the token ends by itself, in ms; null: never. */
  tokenEndsAt: number | null
  /** The projects that exist for this token; null: all of the account. */
  projectIds: string[] | null
  /** A project that was read together with who acts. */
  ahead?: Ahead
}

/** What else an event is of: the project, and the installation that alone of all may hear it. */
export type EventAbout = {
  projectId?: string | undefined
  installationId?: string
  /** Of a variable: the installation that made it. Those who see their own variables only hear of their own only. */
  madeBy?: string | null
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
  clear?: { opened: boolean }
  /**
   * Puts an event in the outbox of this transaction, for the account that hears it. An event that the route does not
   * declare is a bug and throws. Its `user` is null: the operator and the timers are no user.
   */
  emit<E extends EventName>(type: E, payload: EventPayload<E>, about: string | EventAbout, owner: EventOwner): void
}

/** What the operations of an account may touch. */
export type Ctx = Omit<OperatorCtx, 'emit'> & {
  who: Who
  account: Account
  /** Counts variables against the limit of the account. Call it before they are written. Refuses: rate_limited 429, when the account wrote too many in the last minute. */
  countRows(rows: number): Promise<void>
  /** Notes that the answer holds the clear value of a variable with these targets: the audit log names who was given it. */
  reveal(targets: readonly string[]): void
  /** As an operator's; without `owner` the caller's account hears it, and who the caller is. `about`: a project by its id. */
  emit<E extends EventName>(type: E, payload: EventPayload<E>, about: string | EventAbout, owner?: EventOwner): void
}

export type Params = Record<string, string>

/** What the caller sent, validated: declared fields only. */
export type Input<Q = unknown, B = unknown> = {
  params: Params
  query: Q
  body: B
  /** The number of a `/v9` that the path began with; undefined without one. */
  version: number | undefined
  /** The `Authorization` header, for a client that proves itself by it (RFC 6749, 2.3.1). */
  authorization?: string | undefined
  /** Where such a client asks from: what its failures are counted by. */
  address?: string
  /** The `User-Agent` header. Only the names of events follow from it: docs/webhooks.md: Why. */
  agent?: string | undefined
}

/** A statement that must hold before `run`: it returns, or refuses with one of `refuses`. */
export type Guard<C, S> = ((ctx: C, subject: S, input: Input) => void | Promise<void>) & {
  refuses: readonly RefusalKey[]
}
