/** Log lines and requests as events: `vercel logs` from 64 on. docs/functions.md: Log. */
import type { Static } from 'typebox'
import type { Ctx, Input } from '../../context.ts'
import { environmentName } from '../../model/environment.ts'
import { findProject } from '../../model/project.ts'
import { chunks } from '../../platform/db/chunks.ts'
import type { Queries } from '../../platform/db/db.ts'
import type { Row } from '../../platform/db/schema.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { Type } from '../../platform/schema/builder.ts'
import { Nullable, OneOf } from '../../platform/schema/fields.ts'
import { type Fields, readFilter } from './filter.ts'
import { type FoundLine, readLines } from './read-lines.ts'
import { LOG_BUDGET } from './store-lines.ts'

const MAX_EVENTS = 1000
const Id = Type.String({ maxLength: 100 })
const Time = Type.String({ maxLength: 40 })

export const EventsBody = Type.Object({
  event: OneOf('vercel.log', 'vercel.proxy_response'),
  scope: Type.Object({
    ownerId: Type.Optional(Id),
    projectIds: Type.Array(Id, { minItems: 1, maxItems: 1, description: 'one project' }),
  }),
  timeRange: Type.Object({ start: Time, end: Time }),
  select: Type.Optional(Type.Array(Id, { maxItems: 100, description: 'fields of an event; all when not given' })),
  filter: Type.Optional(Type.String({ maxLength: 2000, description: 'such as `level:error AND requestPath:/api/*`' })),
  order: Type.Optional(OneOf('desc')),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_EVENTS, description: '100 when not given' })),
  cursor: Type.Optional(Id),
})
type EventsBody = Static<typeof EventsBody>

export const Events = Type.Object({
  events: Type.Array(Type.Object({}, { additionalProperties: true })),
  pagination: Type.Object({ hasMore: Type.Boolean(), nextCursor: Nullable(Type.String()) }),
})

/** TABLE fields by event, which `select` and `filter` name. */
const FIELDS: Readonly<Record<EventsBody['event'], (of: Described) => Fields>> = {
  'vercel.log': ({ line, ...of }) => ({
    ...placeOf({ line, ...of }),
    domain: line.host,
    level: line.level,
    message: line.text,
    truncated: false,
    isSystemLog: false,
    source: 'function',
    stream: line.level === 'info' ? 'stdout' : 'stderr',
    runtime: 'nodejs',
  }),
  'vercel.proxy_response': ({ line, ...of }) => ({
    ...placeOf({ line, ...of }),
    requestHostname: line.host,
    route: line.path,
    httpStatus: line.status,
    cacheResult: 'MISS',
    // `vercel logs requests` leaves out those of another type.
    pathType: 'func',
  }),
}

type Described = { line: FoundLine; projectId: string; environment: string; branch: string }

function placeOf({ line, projectId, environment, branch }: Described): Fields {
  const { deploymentId, requestId, method, path } = line
  return { projectId, deploymentId, environment, branch, requestId, requestMethod: method, requestPath: path }
}

function knownOf(event: EventsBody['event']): ReadonlySet<string> {
  const none = { rowId: '', date: 0, level: 'info', text: '', host: '', status: 0 } as const
  const line = { ...none, deploymentId: '', requestId: '', method: '', path: '' }
  return new Set(Object.keys(FIELDS[event]({ line, projectId: '', environment: '', branch: '' })))
}

/** Lists log lines, or the requests of functions, newest first. Refuses: bad_request 400 (time, filter), not_found 404. */
export async function listLogEvents(
  ctx: Ctx,
  _: undefined,
  { body }: Input<unknown, EventsBody>,
): Promise<Static<typeof Events>> {
  const { event, filter = '', limit = 100, cursor, select, scope, timeRange } = body
  const project = await findProject(ctx, { idOrName: scope.projectIds[0]! })
  const since = Math.max(timeOf(timeRange.start, 'start'), ctx.now - LOG_BUDGET.retentionMs)
  const until = timeOf(timeRange.end, 'end')
  const holds = readFilter(filter, knownOf(event))
  if ('sentence' in holds) refuse('bad_request', holds.sentence)
  const shown = await deploymentsOf(ctx.db, project)
  const fieldsOf = (line: FoundLine) => {
    const { environment = '', branch = '' } = shown.get(line.deploymentId) ?? {}
    return FIELDS[event]({ line, projectId: project.id, environment, branch })
  }
  const requests = new Set<string>()
  const isFirst = ({ requestId }: FoundLine) => requestId !== '' && !requests.has(requestId) && requests.add(requestId)
  const counts = (line: FoundLine) => (event === 'vercel.log' ? line.text !== '' : isFirst(line) !== false)
  const { lines, next } = await readLines(ctx.db, {
    ...{ projectId: project.id, since, until, max: limit, before: cursor },
    accepts: (line) => holds(fieldsOf(line)) && counts(line),
  })
  const events = lines.map((line) => {
    const fields = Object.entries(fieldsOf(line)).filter(([name]) => select === undefined || select.includes(name))
    return { timestamp: new Date(line.date).toISOString(), ...Object.fromEntries(fields) }
  })
  return { events, pagination: { hasMore: next !== undefined, nextCursor: next ?? null } }
}

function timeOf(text: string, field: 'start' | 'end'): number {
  const time = Date.parse(text)
  if (Number.isNaN(time))
    refuse('bad_request', `Invalid request: \`timeRange.${field}\` should be a time such as 2026-11-28T12:00:00Z.`)
  return time
}

type Shown = Map<string, { environment: string; branch: string }>

/** Environment and branch of the deployments that wrote lines. */
async function deploymentsOf(db: Queries, project: Row<'project'>): Promise<Shown> {
  const rows = await db.selectFrom('runtime_log').select('deployment_id').where('project_id', '=', project.id).execute()
  const shown: Shown = new Map()
  for (const ids of chunks([...new Set(rows.map(({ deployment_id }) => deployment_id))])) {
    const some = db.selectFrom('deployment').select(['id', 'target', 'custom_environment_id', 'git_branch'])
    for (const deployment of await some.where('id', 'in', ids).execute())
      shown.set(deployment.id, {
        environment: environmentName(project, deployment),
        branch: deployment.git_branch ?? '',
      })
  }
  return shown
}
