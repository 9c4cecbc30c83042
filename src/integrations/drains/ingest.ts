/** Ingests log lines and queues them for the subscribed drains. docs/spec/operator-api.md. */
import type { Static } from 'typebox'
import type { Input, OperatorCtx, Params } from '../../context.ts'
import { newId, randomText } from '../../platform/base/ids.ts'
import { chunks } from '../../platform/db/chunks.ts'
import type { Row } from '../../platform/db/schema.ts'
import { insertDelivery } from '../../platform/outbox/delivery.ts'
import { permissionsOf } from '../../platform/permissions/scopes.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { mailEndpointOwners } from '../webhooks/disable.ts'
import { hostOf } from '../webhooks/held.ts'
import { type Backlog, createBacklogBudget, MAX_DRAIN_BACKLOG, readBacklog } from './budget.ts'
import type { Sampling } from './drain-schema.ts'
import type { DrainEnvironment, IngestResult, LogLines } from './schema.ts'

type Line = LogLines['lines'][number]
type Placed = Line & { environment: DrainEnvironment }

/** Finds a project by id, on any account. Refuses: not_found 404. */
export async function findAnyProject(ctx: OperatorCtx, params: Params): Promise<Row<'project'>> {
  const id = params.projectId ?? ''
  const row = await ctx.db.selectFrom('project').selectAll().where('id', '=', id).executeTakeFirst()
  if (row === undefined) refuse('not_found', `Project "${id.slice(0, 100)}" not found.`)
  return row
}

/** Reads the backlog outside the transaction. Inside it, concurrent requests would cause serialization failures. */
export function readProjectBacklog(ctx: OperatorCtx, project: Row<'project'>): Promise<Backlog> {
  return readBacklog(ctx.db, project.account_id)
}

/**
 * Queues one delivery per drain that selects some of the lines. Lines without a drain, or for one on hold or disabled, are discarded. Lines above the
 * backlog limit are dropped, counted in the response and in `berth_drain_lines_dropped_total`, and reported by email once a day.
 */
export async function ingestLines(
  ctx: OperatorCtx,
  project: Row<'project'>,
  { body }: Pick<Input<unknown, LogLines>, 'body'>,
  backlog: Backlog,
): Promise<Static<typeof IngestResult>> {
  const drains = await drainsOf(ctx, project)
  const lines = (await withEnvironments(ctx, project, body.lines)).map((line) => {
    return { line, text: showLine(project, line) }
  })
  const hasRoom = createBacklogBudget(backlog)
  let count = 0
  let dropped = 0
  for (const drain of drains) {
    const texts = lines.filter(({ line }) => receives(drain, line)).map(({ text }) => text)
    if (texts.length === 0) continue
    const text = joinLines(drain.delivery_format, texts)
    const bytes = Buffer.byteLength(text)
    if (!hasRoom(drain.id, bytes)) {
      dropped += texts.length
      await tellDropped(ctx, drain)
      continue
    }
    count++
    await insertDelivery(ctx.db, {
      id: newId('dlv'),
      account_id: project.account_id,
      endpoint_id: drain.id,
      configuration_id: drain.configuration_id,
      event_stamp: null,
      type: 'log-drain.lines',
      body: text,
      body_bytes: bytes,
      due_at: ctx.now,
      held_at: null,
      created_stamp: ctx.deps.clock.stamp(),
    })
  }
  if (count > 0) ctx.deps.wakeups.deliveries()
  ctx.deps.metrics.counter('berth_drain_lines_dropped_total').value += dropped
  return { lines: body.lines.length, drains: count, dropped }
}

/** Emails the drain's creator, or else the owners, once a day. */
function tellDropped(ctx: OperatorCtx, drain: Row<'log_drain'>): Promise<void> {
  const host = hostOf(drain.url)
  const text = [
    `Log lines for the drain ${drain.id}, which goes to ${host}, are dropped: it accepts them more slowly than they arrive, or not at all.`,
    '',
    `At most ${MAX_DRAIN_BACKLOG / 1024 / 1024} MiB can be pending for a drain, and less while other drains of the account have a large backlog. New lines are queued again`,
    'once it accepts the pending lines. Dropped lines are not sent later.',
  ].join('\n')
  return mailEndpointOwners(ctx, drain, { subject: `Log lines are dropped: ${host}`, topic: `full ${drain.id}`, text })
}

/** A line without an environment gets that of its deployment, or production without a deployment. */
async function withEnvironments(ctx: OperatorCtx, project: Row<'project'>, lines: readonly Line[]): Promise<Placed[]> {
  const ids = [...new Set(lines.flatMap((line) => line.deploymentId ?? []))]
  const targets = new Map<string, DrainEnvironment>()
  for (const slice of chunks(ids)) {
    const deployments = ctx.db.selectFrom('deployment').select(['id', 'target']).where('project_id', '=', project.id)
    for (const row of await deployments.where('id', 'in', slice).execute()) targets.set(row.id, row.target)
  }
  return lines.map((line) => ({
    ...line,
    environment: line.environment ?? targets.get(line.deploymentId ?? '') ?? 'production',
  }))
}

/**
 * The account's enabled drains that may receive the project's lines. A drain of an installation requires an active one with the scope and access to
 * the project.
 */
async function drainsOf(ctx: OperatorCtx, project: Row<'project'>) {
  const rows = await ctx.db
    .selectFrom('log_drain')
    .leftJoin('configuration', 'configuration.id', 'log_drain.configuration_id')
    .leftJoin('configuration_project', (join) =>
      join
        .onRef('configuration_project.configuration_id', '=', 'log_drain.configuration_id')
        .on('configuration_project.project_id', '=', project.id),
    )
    .selectAll('log_drain')
    .select([
      'configuration.project_selection',
      'configuration.scopes_json',
      'configuration_project.project_id as selected',
    ])
    .where('log_drain.account_id', '=', project.account_id)
    .where('log_drain.disabled_at', 'is', null)
    .where('log_drain.held_at', 'is', null)
    .where((eb) =>
      eb.or([
        eb('log_drain.configuration_id', 'is', null),
        eb.and([eb('configuration.disabled_at', 'is', null), eb('configuration.deleted_at', 'is', null)]),
      ]),
    )
    .execute()
  return rows.filter((row) => {
    if (row.project_selection === 'selected' && row.selected === null) return false
    if (row.scopes_json !== null && !permissionsOf('OWNER', row.scopes_json).has('drain:read')) return false
    return row.project_ids_json === null || (JSON.parse(row.project_ids_json) as string[]).includes(project.id)
  })
}

/** Whether the drain's source, environment and sampling rate select a line. */
function receives(drain: Row<'log_drain'>, line: Placed): boolean {
  const sources: string[] | null = drain.sources_json === null ? null : JSON.parse(drain.sources_json)
  const environments: string[] = JSON.parse(drain.environments_json)
  if (!(sources?.includes(line.source) ?? true) || !environments.includes(line.environment)) return false
  const rules: Sampling = drain.sampling_json === null ? [] : JSON.parse(drain.sampling_json)
  const rule = rules.find(({ env }) => env === undefined || env === line.environment)
  return rule === undefined || Math.random() < rule.rate
}

/** Joins lines, each as JSON, into the body for a drain. */
export function joinLines(format: Row<'log_drain'>['delivery_format'], lines: readonly string[]): string {
  return format === 'ndjson' ? `${lines.join('\n')}\n` : `[${lines.join(',')}]`
}

/** Formats a line for a drain. */
export function showLine(project: Pick<Row<'project'>, 'id' | 'name'>, line: Placed): string {
  return JSON.stringify({
    id: randomText(24),
    timestamp: line.timestamp,
    message: line.message,
    source: line.source,
    projectId: project.id,
    projectName: project.name,
    ...(line.deploymentId !== undefined && { deploymentId: line.deploymentId }),
    environment: line.environment,
  })
}
