/** Events of deployments that were not built here, and runtime logs, which Berth does not have. docs/deployments.md. */

import type { Static } from 'typebox'
import type { Ctx, Input } from '../../context.ts'
import { stampToMs } from '../../platform/base/clock.ts'
import type { Row } from '../../platform/db/schema.ts'
import { Type } from '../../platform/schema/builder.ts'
import { OneOf, Timestamp } from '../../platform/schema/fields.ts'

const Text = Type.Optional(Type.String({ maxLength: 256 }))
/** Parameters of the CLI and the SDKs. `jsonLines` of `Route` handles `format`. */
export const EventsQuery = Type.Object({
  format: Type.Optional(Type.String({ maxLength: 20, description: '`lines`: one event a line instead of a list' })),
  direction: Type.Optional(OneOf('forward', 'backward')),
  limit: Type.Optional(Type.Integer({ minimum: -1, maximum: 10_000, description: '-1: all' })),
  since: Type.Optional(Timestamp),
  until: Type.Optional(Timestamp),
  name: Type.Optional(Type.String({ maxLength: 256, description: 'the events of one build' })),
  statusCode: Type.Optional(Type.String({ maxLength: 256, description: 'requests with this status: always empty' })),
  ...{ follow: Text, builds: Text, delimiter: Text },
})

const DeploymentEvent = Type.Object({
  id: Type.String(),
  deploymentId: Type.String(),
  created: Timestamp,
  date: Timestamp,
  serial: Type.String(),
  type: OneOf('deployment-state'),
  info: Type.Object({ type: OneOf('build'), name: OneOf('berth'), readyState: Type.String() }),
  text: Type.String(),
})

/** Returns the recorded states, oldest first, and where the build log is. The list ends even if a client follows it. */
export function listDeploymentEvents(
  _ctx: Ctx,
  row: Row<'deployment'>,
  { query }: Input<Static<typeof EventsQuery>>,
): Static<typeof DeploymentEvent>[] {
  const { direction, limit = -1, since = 0, until = Infinity, name, statusCode } = query
  if (name !== undefined || statusCode !== undefined) return []
  const events = eventsOf(row).filter(({ created }) => created >= since && created <= until)
  const ordered = direction === 'backward' ? events.toReversed() : events
  return limit === -1 ? ordered : ordered.slice(0, limit)
}

function eventsOf(row: Row<'deployment'>): Static<typeof DeploymentEvent>[] {
  const hasFiles = row.output_id !== null
  const begin = hasFiles ? 'The files were uploaded.' : 'The build system registered the deployment.'
  const steps: [number, string, string][] = [[stampToMs(row.created_stamp), 'QUEUED', begin]]
  const building = hasFiles ? 'The output was read.' : 'The build began.'
  if (row.building_at !== null) steps.push([row.building_at, 'BUILDING', building])
  const ended = row.ready_at ?? row.failed_at
  if (ended !== null) steps.push([ended, row.ready_state, `The deployment is ${row.ready_state}.`])
  const [lastAt, lastState] = steps.at(-1)!
  const place = hasFiles ? 'where it was built' : 'in the build system'
  steps.push([lastAt, lastState, `It was not built here: the log of the build is ${place}.`])
  return steps.map(([created, readyState, text], at) => ({
    id: `${row.id}-${at}`,
    deploymentId: row.id,
    created,
    date: created,
    serial: String(at),
    type: 'deployment-state',
    info: { type: 'build', name: 'berth', readyState },
    text,
  }))
}
