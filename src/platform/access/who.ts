/** Types of the caller and the account. docs/architecture.md: Request lifecycle. */
import type { Actor } from '../base/actor.ts'
import type { Row } from '../db/schema.ts'
import type { Permission, Role } from '../permissions/roles.ts'
import type { Prefetched } from './prefetch.ts'

export type Account = Pick<Row<'account'>, 'id' | 'kind' | 'slug' | 'name' | 'email' | 'plan'> & {
  softBlocked: boolean
  paymentMissing: boolean
  addOns: string[]
  /** Whether new variables of production and preview are write-only. */
  sensitiveEnv: boolean
}

export type Caller = {
  actor: Actor
  account: Account
  /** Key of the fair queue. The accounts of one user share it. docs/limits.md: Rationale. */
  shareId: string
  userId: string
  role: Role
  permissions: ReadonlySet<Permission>
  /** The installation that calls; null: a user. */
  installationId: string | null
  /** The one team of a team token, or null. */
  tokenTeamId: string | null
  /** Expiry of the token, in ms; null: never. */
  tokenExpiresAt: number | null
  /** Visible projects; null: all of the account. */
  projectIds: string[] | null
  prefetched?: Prefetched
}
