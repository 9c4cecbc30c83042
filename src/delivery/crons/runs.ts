/** Runs of cron jobs: at most one for each time of a schedule. docs/functions.md: Cron jobs. */
import type { Deps, OperatorCtx } from '../../context.ts'
import { findOwnerId } from '../../platform/access/token-query.ts'
import { randomText } from '../../platform/base/ids.ts'
import { jsonArrayValues } from '../../platform/db/bulk.ts'
import type { Row } from '../../platform/db/schema.ts'
import { Refusal } from '../../platform/refusals/refusal.ts'
import { transactQueue } from '../builds/end.ts'
import { openEnvironment } from '../builds/frozen-variables.ts'
import {
  CRONS_OF_OWNER,
  type CronLease,
  type CronResult,
  type CronRun,
  MAX_CRON_RUNS,
} from '../protocol/cron-channel.ts'
import { nextTimes } from './schedule.ts'

/** A time that is longer ago is missed: no sites server was there. */
const LATE_MS = 5 * 60_000
/** Runs that a project keeps. */
export const KEPT_RUNS = 50
/** Jobs that one look reads, and looks of one lease. Those of paused projects are passed over. */
const MAX_LOOKED_AT = 200
const MAX_LOOKS = 10

/** Leases runs that are due to a sites server. An owner of whom it runs enough gets none, and keeps nothing of others waiting. */
export async function leaseRuns(deps: Deps, { running = {} }: CronLease): Promise<CronRun[]> {
  if (deps.config.drill) return []
  const runs: CronRun[] = []
  try {
    await takeRuns(deps, runs, running)
  } catch (error) {
    // Those that were claimed must run: no other request gets them.
    if (runs.length === 0) throw error
    deps.log.warn({ err: error }, 'a cron job could not be leased; it is tried again')
  }
  return runs
}

async function takeRuns(deps: Deps, runs: CronRun[], running: NonNullable<CronLease['running']>): Promise<void> {
  const counts = new Map(Object.entries(running))
  const owners = new Map<string, string>()
  const full = new Set<string>()
  for (let looks = 0, before = -1; looks < MAX_LOOKS && full.size > before; looks++) {
    before = full.size
    for (const { account_id, ...job } of await dueJobs(deps, full)) {
      if (runs.length >= MAX_CRON_RUNS) return
      if (full.has(account_id)) continue
      const owner = owners.get(account_id) ?? (await findOwnerId(deps.db.read, account_id))
      owners.set(account_id, owner)
      const count = counts.get(owner) ?? 0
      if (count >= CRONS_OF_OWNER) {
        full.add(account_id)
        continue
      }
      const run = await take(deps, job)
      if (run === undefined) continue
      counts.set(owner, count + 1)
      runs.push({ ...run, owner })
    }
  }
}

/** Claims a run and describes it in one transaction: where the store fails at either, the job stays due. */
async function take(deps: Deps, job: Row<'cron_job'>): Promise<Omit<CronRun, 'owner'> | undefined> {
  try {
    return await transactQueue(deps, async (ctx) => {
      const claimed = await claim(ctx, job)
      return claimed && (await describe(ctx, job, claimed))
    })
  } catch (error) {
    if (error instanceof Refusal || deps.db.refusalOf(error) !== undefined) throw error
    // Reported once: it would fail again, and keep all others waiting.
    await transactQueue(deps, (ctx) => claim(ctx, job, 'It could not be prepared. Ask the operator.'))
    deps.log.error({ err: error, project: job.project_id }, 'a cron job could not be prepared')
    return undefined
  }
}

/** The jobs that are due for the longest time, without those of some accounts. */
function dueJobs({ db, clock }: Deps, without: ReadonlySet<string>) {
  return db.read
    .selectFrom('cron_job')
    .innerJoin('project', 'project.id', 'cron_job.project_id')
    .selectAll('cron_job')
    .select('project.account_id')
    .where('next_at', '<=', clock.now())
    .where('project.account_id', 'not in', jsonArrayValues(db.read, JSON.stringify([...without])))
    .orderBy('next_at')
    .limit(MAX_LOOKED_AT)
    .execute()
}

type Claimed = { id: string; project: Row<'project'> }

/** Moves a job to its next time, unless another request did. Undefined where it does not run now. `failure`: why it cannot. */
async function claim(ctx: OperatorCtx, job: Row<'cron_job'>, failure?: string): Promise<Claimed | undefined> {
  const { db, now } = ctx
  const [next_at] = nextTimes(job.schedule, now, 1)
  const { numUpdatedRows } = await db
    .updateTable('cron_job')
    .set({ next_at: next_at ?? Number.MAX_SAFE_INTEGER })
    .where('project_id', '=', job.project_id)
    .where('place', '=', job.place)
    .where('deployment_id', '=', job.deployment_id)
    .where('next_at', '=', job.next_at)
    .executeTakeFirst()
  if (numUpdatedRows === 0n) return undefined
  const project = await db.selectFrom('project').selectAll().where('id', '=', job.project_id).executeTakeFirst()
  if (project === undefined || project.live_deployment_id !== job.deployment_id || !runsCrons(project)) return undefined
  const fault = Number(job.next_at) < now - LATE_MS ? 'It was missed: no sites server was there.' : failure
  const id = randomText(24)
  const { project_id, deployment_id, path, schedule, next_at: due_at } = job
  const ended = fault === undefined ? {} : { ended_at: now, fault }
  await db
    .insertInto('cron_run')
    .values({ id, project_id, deployment_id, path, schedule, due_at, began_at: now, ...ended })
    .execute()
  await dropOldest(ctx, project_id)
  return fault === undefined ? { id, project } : undefined
}

/** Returns whether the cron jobs of a project run: it is not paused, and they are not switched off. */
export function runsCrons({ paused_at, crons_json }: Row<'project'>): boolean {
  const isOff = crons_json !== null && (JSON.parse(crons_json) as { disabledAt: number | null }).disabledAt !== null
  return paused_at === null && !isOff
}

async function dropOldest({ db }: OperatorCtx, projectId: string): Promise<void> {
  const rest = await db
    .selectFrom('cron_run')
    .select('id')
    .where('project_id', '=', projectId)
    .orderBy('began_at', 'desc')
    .orderBy('id', 'desc')
    .offset(KEPT_RUNS)
    .limit(KEPT_RUNS)
    .execute()
  const ids = rest.map(({ id }) => id)
  if (ids.length > 0) await db.deleteFrom('cron_run').where('id', 'in', ids).execute()
}

async function describe(
  ctx: OperatorCtx,
  job: Row<'cron_job'>,
  { id, project }: Claimed,
): Promise<Omit<CronRun, 'owner'> | undefined> {
  const deployment = await ctx.db
    .selectFrom('deployment')
    .selectAll()
    .where('id', '=', job.deployment_id)
    .executeTakeFirst()
  const opened = deployment && (await openEnvironment(ctx, project, deployment))
  if (opened === undefined) {
    await end(ctx, { id, status: null, fault: 'Its variables do not open. Ask the operator.' })
    return undefined
  }
  const variable = opened.variables.find(({ key }) => key === 'CRON_SECRET')
  const secret = opened.created.env.CRON_SECRET ?? variable?.value ?? null
  const isSecure = ctx.deps.origin().startsWith('https:')
  return { id, host: deployment!.url, isSecure, path: job.path, schedule: job.schedule, secret }
}

/** Records the result of a run, once. */
export async function recordResult({ db, clock }: Pick<Deps, 'db' | 'clock'>, result: CronResult): Promise<void> {
  await db.write((tx) => end({ db: tx, now: clock.now() }, result))
}

async function end({ db, now }: Pick<OperatorCtx, 'db' | 'now'>, { id, status, fault }: CronResult): Promise<void> {
  await db
    .updateTable('cron_run')
    .set({ ended_at: now, status, fault })
    .where('id', '=', id)
    .where('ended_at', 'is', null)
    .execute()
}
