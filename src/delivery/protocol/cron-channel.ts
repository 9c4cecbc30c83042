/** What sites servers ask the control plane for cron jobs. docs/functions.md: Cron jobs. */
import type { Static } from 'typebox'
import { Type } from '../../platform/schema/builder.ts'
import { Nullable } from '../../platform/schema/fields.ts'
import { jsonReader } from '../../platform/schema/json-reader.ts'

/** POST: leases runs that are due. */
export const CRON_LEASE_PATH = '/sites/v1/crons/lease'
/** POST: the result of a run. */
export const CRON_RESULT_PATH = '/sites/v1/crons/results'

/**
 * `host`: the URL of its own of the deployment. `isSecure`: visitors come by https; missing from control planes of before. `secret`: its CRON_SECRET; null:
 * it has none. `owner`: of the account, who takes turns.
 */
export type CronRun = {
  id: string
  host: string
  isSecure?: boolean
  path: string
  schedule: string
  secret: string | null
  owner: string
}

/** Runs of one lease. */
export const MAX_CRON_RUNS = 10
/** Runs that a sites server has at once. Others wait at the control plane. */
export const CRONS_AT_ONCE = 32
/** Those of one owner. */
export const CRONS_OF_OWNER = 8
/** Bytes of a lease, and of a result. */
export const MAX_LEASE_BYTES = 8192
export const MAX_RESULT_BYTES = 2048
export const MAX_FAULT = 300

/** `status` null: no response came, and `fault` says why. */
const CronResult = Type.Object({
  id: Type.String({ minLength: 1, maxLength: 50 }),
  status: Nullable(Type.Integer({ minimum: 100, maximum: 999 })),
  fault: Nullable(Type.String({ maxLength: MAX_FAULT })),
})
export type CronResult = Static<typeof CronResult>

const CronLease = Type.Object({
  running: Type.Optional(Type.Object({}, { additionalProperties: { type: 'integer' } })),
})
/** `running`: owner → runs that the sites server has. */
export type CronLease = { running?: Readonly<Record<string, number>> }

/** Parses a result. Returns a message if it is invalid. */
export const readCronResult = jsonReader(CronResult, 'The result of a cron job')

/** Parses the request of a lease. Returns a message if it is invalid. */
export const readCronLease = jsonReader(Type.Unsafe<CronLease>(CronLease), 'The lease of cron jobs')
