/** The log of a build for clients, as flat lines: a list, or a stream that ends with the deployment. docs/building.md: Logs. */
import type { Static } from 'typebox'
import type { Ctx, Deps, Input } from '../../context.ts'
import { openedHost } from '../../model/addresses.ts'
import { readDeploymentDomains } from '../../model/deployment-summary.ts'
import { pause, stampToMs } from '../../platform/base/clock.ts'
import type { Row } from '../../platform/db/schema.ts'
import { Type } from '../../platform/schema/builder.ts'
import { OneOf, Timestamp } from '../../platform/schema/fields.ts'
import { type EventsQuery, listDeploymentEvents } from '../../projects/deployments/logs.ts'
import { isEnd } from '../../projects/deployments/register.ts'
import { commandLineVersion } from '../deploys/build-output.ts'
import { LINE_TYPES } from '../protocol/runner-protocol.ts'
import { readLog } from './log.ts'
import type { StoredLine } from './log-chunks.ts'

/** Events of a list. A stream has all. */
export const MAX_EVENTS = 10_000
/** How often a stream looks for new lines. */
const LOOK_MS = 500

const BuildEvent = Type.Object({
  id: Type.String(),
  deploymentId: Type.String(),
  created: Timestamp,
  date: Timestamp,
  serial: Type.String(),
  type: OneOf(...LINE_TYPES, 'deployment-state'),
  info: Type.Object({
    type: OneOf('build'),
    name: Type.String(),
    entrypoint: Type.Optional(Type.String()),
    readyState: Type.Optional(Type.String()),
  }),
  text: Type.String(),
})
type BuildEvent = Static<typeof BuildEvent>
export const BuildEvents = Type.Array(BuildEvent)

type Query = Static<typeof EventsQuery>

/** Lists the log of a build, and how it ended. A deployment that was not built here has its states. Newest first with `direction=backward`. */
export async function listBuildEvents(ctx: Ctx, row: Row<'deployment'>, input: Input<Query>): Promise<BuildEvent[]> {
  if (row.source_id === null) return listDeploymentEvents(ctx, row, input)
  const { direction, limit = -1, since = 0, until = Number.POSITIVE_INFINITY, name, statusCode } = input.query
  if (statusCode !== undefined || (name !== undefined && name !== buildName(row.id))) return []
  const max = limit === -1 ? MAX_EVENTS : Math.min(limit, MAX_EVENTS)
  const events: BuildEvent[] = []
  const isOver = () => direction !== 'backward' && events.length >= max
  for await (const lines of readLog(ctx.deps, row.id, { since })) {
    for (const line of lines) if (line.date >= since && line.date <= until) events.push(eventOf(row.id, line))
    // The newest are at the end.
    if (direction === 'backward') events.splice(0, events.length - max)
    if (isOver()) break
  }
  const last = isOver() ? undefined : endOf(row, await countLines(ctx.deps, row.id))
  if (last !== undefined && last.date >= since && last.date <= until) events.push(last)
  return direction === 'backward' ? events.toReversed().slice(0, max) : events.slice(0, max)
}

/**
 * Follows the log of a build: lines as they come, until the deployment has ended, and then how it ended. Undefined where there is
 * nothing to follow. Uses a database connection for each look alone.
 */
export function followBuildEvents(
  deps: Deps,
  row: Row<'deployment'>,
  { query, agent = '' }: Input<Query>,
): AsyncIterable<string> | undefined {
  const isAsked = query.follow !== undefined && query.follow !== '' && query.follow !== '0'
  return isAsked && query.format === 'lines' && row.source_id !== null ? follow(deps, row.id, query, agent) : undefined
}

async function* follow(deps: Deps, id: string, { since = 0 }: Query, agent: string): AsyncGenerator<string> {
  for (let next = 0; ; ) {
    const row = await deps.db.read.selectFrom('deployment').selectAll().where('id', '=', id).executeTakeFirst()
    if (row === undefined) return
    // Lines come before the end, so the state is read first.
    for await (const lines of readLog(deps, id, { from: next, since })) {
      next = lines.at(-1)!.serial + 1
      const text = lines.filter(({ date }) => date >= since).map((line) => textOf(eventOf(id, line)))
      if (text.length > 0) yield text.join('')
    }
    if (isEnd(row.ready_state)) {
      yield textOf(endOf(row, await countLines(deps, id))!)
      const isTold = row.ready_state === 'READY' && (commandLineVersion(agent) ?? 0) >= ENDS_AT_NAMES
      if (isTold) yield `${JSON.stringify(await namesOf(deps, row))}\n`
      return
    }
    if (!(await pause(LOOK_MS, deps.shutdownSignal))) return
  }
}

/** From this major version `vercel deploy` ends at the line with the names. Others would print an empty line, and ask again up to 15 s later. */
const ENDS_AT_NAMES = 56

async function namesOf({ db, config }: Deps, { id, ready_at }: Row<'deployment'>) {
  const { alias } = await readDeploymentDomains({ db: db.read }, id)
  const names = { alias: alias.map((name) => openedHost(name, config)), aliasError: null, aliasWarning: null }
  return { type: 'alias-assigned', deploymentId: id, date: Number(ready_at), ...names }
}

function textOf(event: BuildEvent): string {
  return `${JSON.stringify(event)}\n`
}

function buildName(deploymentId: string): string {
  return `bld_${deploymentId.slice('dpl_'.length)}`
}

function eventOf(deploymentId: string, { serial, type, date, text }: StoredLine): BuildEvent {
  return {
    id: `${deploymentId}-${serial}`,
    deploymentId,
    created: date,
    date,
    serial: String(serial),
    type,
    info: { type: 'build', name: buildName(deploymentId), entrypoint: '.' },
    text,
  }
}

/** Stored lines of a log: the serial of the line after them. */
async function countLines({ db }: Pick<Deps, 'db'>, id: string): Promise<number> {
  const build = await db.read.selectFrom('build').select('log_lines').where('deployment_id', '=', id).executeTakeFirst()
  return Number(build?.log_lines ?? 0)
}

/** The last line, which says why a build failed: clients print no other message after BUILD_FAILED. Undefined before the end. */
function endOf(row: Row<'deployment'>, serial: number): BuildEvent | undefined {
  const { id, ready_state: state, error_code: code, error_message: message } = row
  if (!isEnd(state)) return undefined
  const date = Number(row.ready_at ?? row.failed_at ?? stampToMs(row.created_stamp))
  const type = state === 'ERROR' ? 'fatal' : 'stdout'
  const text =
    state === 'ERROR'
      ? `Error: ${(message ?? 'The build failed.').replace(/^Error: /, '')}${code === null ? '' : ` (${code})`}`
      : [`The deployment is ${state}.`, message].filter((part) => part !== null).join(' ')
  return eventOf(id, { serial, type, date, text })
}

export const Builds = Type.Object({
  builds: Type.Array(
    Type.Object({
      id: Type.String(),
      deploymentId: Type.String(),
      entrypoint: Type.String(),
      readyState: Type.String(),
      readyStateAt: Timestamp,
      createdAt: Timestamp,
      scheduledAt: Type.Optional(Timestamp),
      output: Type.Array(Type.Object({})),
    }),
  ),
})

/** Lists the build of a deployment; none for one that was not built here. */
export async function listBuilds(ctx: Ctx, row: Row<'deployment'>): Promise<Static<typeof Builds>> {
  const build = await ctx.db.selectFrom('build').selectAll().where('deployment_id', '=', row.id).executeTakeFirst()
  if (build === undefined) return { builds: [] }
  const createdAt = Number(build.queued_at)
  const startedAt = build.started_at === null ? undefined : Number(build.started_at)
  const readyStateAt = Number(row.ready_at ?? row.failed_at ?? row.building_at ?? startedAt ?? createdAt)
  return {
    builds: [
      {
        id: buildName(row.id),
        deploymentId: row.id,
        entrypoint: '.',
        readyState: row.ready_state,
        readyStateAt,
        createdAt,
        ...(startedAt !== undefined && { scheduledAt: startedAt }),
        output: [],
      },
    ],
  }
}
