/** What an operation may touch, handed to it: no globals, no decorators. */
import type { Logger } from 'pino'
import type { Permission, Role } from './access/roles.ts'
import type { Clock } from './clock.ts'
import type { Config } from './config.ts'
import type { Db, Queries } from './db/db.ts'
import type { Row } from './db/schema.ts'
import type { EventName, EventPayload } from './events.ts'
import type { Outside } from './outside/outside.ts'

/** What the process has, opened once by main (or by a test's world). */
export type Deps = {
  config: Config
  db: Db
  clock: Clock
  outside: Outside
  log: Logger
  operatorTokenHash: string
  /** Aborted once the service is asked to stop. */
  stopping: AbortSignal
}

/** Who acts, as the audit log names them. */
export type Actor = { kind: 'user' | 'operator' | 'timer'; id: string; tokenId: string | null }

/** The account that a request acts for. */
export type Account = Pick<Row<'account'>, 'id' | 'kind' | 'slug' | 'name' | 'plan'> & {
  softBlocked: boolean
  paymentMissing: boolean
  addOns: string[]
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
  configurationId: string | null
  /** The one team the token is bound to, or null. */
  tokenTeamId: string | null
  /** The projects that exist for this token; null: all of the account. */
  projectIds: string[] | null
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
}

/** What the operations of an account may touch. */
export type Ctx = OperatorCtx & {
  who: Who
  account: Account
  /**
   * Puts an event in the outbox of this transaction. An event that the route does not declare is a bug and throws.
   * `owner` is the account that hears it when that is not the caller's; it is not told who the caller was.
   */
  emit<E extends EventName>(type: E, payload: EventPayload<E>, projectId?: string, owner?: EventOwner): void
}
