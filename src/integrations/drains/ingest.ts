/** Takes log lines from the platform and queues them for the drains that hear them. docs/spec/operator-api.md. */
import type { Static } from 'typebox'
import type { Input, OperatorCtx, Params } from '../../context.ts'
import { newId, randomText } from '../../platform/base/ids.ts'
import { chunks } from '../../platform/db/chunks.ts'
import type { Row } from '../../platform/db/schema.ts'
import { insertDelivery } from '../../platform/outbox/delivery.ts'
import { permissionsOf } from '../../platform/permissions/scopes.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { mailEndpointOwners } from '../webhooks/disable.ts'
import { type Backlog, createBacklogBudget, MAX_DRAIN_BACKLOG, readBacklog } from './budget.ts'
import type { Sampling } from './drain-schema.ts'
import type { DrainEnvironment, IngestResult, LogLines } from './schema.ts'

type Line = LogLines['lines'][number]
type Placed = Line & { environment: DrainEnvironment }

/** Finds a project by its id, on any account. Refuses: not_found 404. */
export async function findAnyProject(ctx: OperatorCtx, params: Params): Promise<Row<'project'>> {
  const id = params.projectId ?? ''
  const row = await ctx.db.selectFrom('project').selectAll().where('id', '=', id).executeTakeFirst()
  if (row === undefined) refuse('not_found', `There is no project with the id "${id.slice(0, 100)}".`)
  return row
}

/** Reads what waits for the drains of the project's account, outside the transaction: inside it, requests at the same moment would make each other run again. */
export function readProjectBacklog(ctx: OperatorCtx, project: Row<'project'>): Promise<Backlog> {
  return readBacklog(ctx.db, project.account_id)
}

/**
 * Takes lines of a project and writes one delivery for each drain that hears some of them. Lines are kept for
 * nothing else: lines that no drain hears are gone, and so are lines for a drain that is held or whose installation is disabled. Lines for a drain
 * for which too much waits are dropped. They are counted in the answer and in `berth_drain_lines_dropped_total`, and a letter tells of it once a day.
 */
export async function ingestLines(
  ctx: OperatorCtx,
  project: Row<'project'>,
  { body }: Input<unknown, LogLines>,
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
    const texts = lines.filter(({ line }) => hears(drain, line)).map(({ text }) => text)
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
      accountId: project.account_id,
      endpointId: drain.id,
      installationId: drain.configuration_id,
      eventStamp: null,
      type: 'log-drain.lines',
      body: text,
      bodyBytes: bytes,
      dueAt: ctx.now,
      heldAt: null,
      stamp: ctx.deps.clock.stamp(),
    })
  }
  if (count > 0) ctx.deps.wakeups.deliveries()
  ctx.deps.metrics.counter('berth_drain_lines_dropped_total').value += dropped
  return { lines: body.lines.length, drains: count, dropped }
}

/** Writes a letter to whoever made the drain, or else to the owners, once a day. */
function tellDropped(ctx: OperatorCtx, drain: Row<'log_drain'>): Promise<void> {
  const host = URL.parse(drain.url)?.host ?? 'its address'
  const text = [
    `Log lines for the drain ${drain.id}, which goes to ${host}, are dropped: it takes them more slowly than they come, or not at all.`,
    '',
    `Of a drain at most ${MAX_DRAIN_BACKLOG / 1024 / 1024} MiB wait to be sent, and less where other drains of the account have much waiting. New lines are kept again`,
    'once it takes what waits. What was dropped is not sent later.',
  ].join('\n')
  return mailEndpointOwners(ctx, drain, { subject: `Log lines are dropped: ${host}`, topic: `full ${drain.id}`, text })
}

/** A line that names no environment has the environment of its deployment, or production when it names no deployment. */
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

/** The drains of the account that may hear of the project. They are enabled and not held. If an installation made one, it is active, may see the project and still has the scope. */
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

/** Whether a drain hears a line: it wants the source and the environment, and chance lets the line through where only a share is wanted. */
function hears(drain: Row<'log_drain'>, line: Placed): boolean {
  const sources: string[] | null = drain.sources_json === null ? null : JSON.parse(drain.sources_json)
  const environments: string[] = JSON.parse(drain.environments_json)
  if (!(sources?.includes(line.source) ?? true) || !environments.includes(line.environment)) return false
  const rules: Sampling = drain.sampling_json === null ? [] : JSON.parse(drain.sampling_json)
  const rule = rules.find(({ env }) => env === undefined || env === line.environment)
  return rule === undefined || Math.random() < rule.rate
}

/** The body that takes lines, each as JSON, to a drain. */
export function joinLines(format: Row<'log_drain'>['delivery_format'], lines: readonly string[]): string {
  return format === 'ndjson' ? `${lines.join('\n')}\n` : `[${lines.join(',')}]`
}

/** A line as a drain gets it. */
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
