/** State machine of a deployment with files. docs/deploying-sites.md: States. */
import type { ReadyState } from '../../platform/db/deployment-tables.ts'
import type { Row } from '../../platform/db/schema.ts'

export const DEPLOYMENT_EVENTS = [
  'lease_acquired',
  'build_started',
  'lease_expired',
  'output_uploaded',
  'output_stored',
  'failed',
  'canceled',
] as const
/** `output_uploaded`: a prebuilt deployment has all its files. `output_stored`: visitors can reach it. */
export type DeploymentEvent = (typeof DEPLOYMENT_EVENTS)[number]

type Moments = Partial<Pick<Row<'deployment'>, 'building_at' | 'ready_at' | 'failed_at'>>
type Transition = { to: ReadyState; moments?: (now: number) => Moments }

const FAILED: Transition = { to: 'ERROR', moments: (failed_at) => ({ failed_at }) }
const CANCELED: Transition = { to: 'CANCELED', moments: (failed_at) => ({ failed_at }) }
/** The next attempt starts again from the beginning. */
const REQUEUED: Transition = { to: 'QUEUED', moments: () => ({ building_at: null }) }
const BUILDING: Transition = { to: 'BUILDING', moments: (building_at) => ({ building_at }) }

/** TABLE state × event → next state and timestamps. Other events are ignored: final states stay, and late events of lost leases are dropped. */
const TRANSITIONS: Readonly<Record<ReadyState, Readonly<Partial<Record<DeploymentEvent, Transition>>>>> = {
  QUEUED: { lease_acquired: { to: 'INITIALIZING' }, output_uploaded: BUILDING, failed: FAILED, canceled: CANCELED },
  INITIALIZING: { build_started: BUILDING, lease_expired: REQUEUED, failed: FAILED, canceled: CANCELED },
  BUILDING: {
    output_stored: { to: 'READY', moments: (ready_at) => ({ ready_at }) },
    lease_expired: REQUEUED,
    failed: FAILED,
    canceled: CANCELED,
  },
  READY: {},
  ERROR: {},
  CANCELED: {},
}

/** Returns the columns that an event at `now` (ms) changes. Undefined if the event has no effect in this state. */
export function nextState(
  state: ReadyState,
  event: DeploymentEvent,
  now: number,
): ({ ready_state: ReadyState } & Moments) | undefined {
  const transition = TRANSITIONS[state][event]
  return transition && { ready_state: transition.to, ...transition.moments?.(now) }
}
