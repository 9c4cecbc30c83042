/** Who acts, and for which account. Types alone. docs/architecture.md: Life of a request. */
import type { Actor } from '../base/actor.ts'
import type { Row } from '../db/schema.ts'
import type { Permission, Role } from '../permissions/roles.ts'
import type { Prefetched } from './prefetch.ts'

/** The account that a request acts for. */
export type Account = Pick<Row<'account'>, 'id' | 'kind' | 'slug' | 'name' | 'plan'> & {
  softBlocked: boolean
  paymentMissing: boolean
  addOns: string[]
  /** Whether every variable of production and preview is made write-only. */
  sensitiveEnv: boolean
}

export type Caller = {
  actor: Actor
  account: Account
  /** Whose turns its requests take: the accounts that one person holds share theirs. docs/limits.md: Why. */
  shareId: string
  userId: string
  role: Role
  permissions: ReadonlySet<Permission>
  /** The installation of an integration that acts; null: a person. */
  installationId: string | null
  /** The one team the token is bound to, or null. */
  tokenTeamId: string | null
  /** When the token ends by itself, in ms; null: never. */
  tokenExpiresAt: number | null
  /** The projects that exist for this token; null: all of the account. */
  projectIds: string[] | null
  /** A project that was read together with who acts. */
  prefetched?: Prefetched
}
