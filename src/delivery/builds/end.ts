/** How a build ends: its deployment changes in the same transaction. docs/building.md: States. */
import type { Deps, OperatorCtx } from '../../context.ts'
import { eventAccount } from '../../model/account.ts'
import type { Row } from '../../platform/db/schema.ts'
import { writeEvents } from '../../platform/outbox/outbox.ts'
import { transact } from '../../platform/outbox/transact.ts'
import { settle } from '../../projects/deployments/register.ts'
import { type DeploymentEvent, nextState } from '../deploys/states.ts'
import type { BuildError } from '../protocol/runner-protocol.ts'
import { completeBuild, type Holder, moveDeployment, type Outcome } from './queue.ts'

/** The longest stored sentence. */
const MAX_MESSAGE = 2000

export type Failure = { code: BuildError; message: string }

/** Runs work of the queue in a transaction, with its events. */
export function transactQueue<T>(deps: Deps, work: (ctx: OperatorCtx) => Promise<T>): Promise<T> {
  return transact(deps, { name: 'builds' }, async (db, begin) => {
    const { stamp, now, emit, outgoing } = begin()
    const actor = { kind: 'timer', id: 'builds', tokenId: null } as const
    const done = await work({ actor, db, now, stamp, deps, emit })
    await writeEvents({ db, deps }, outgoing)
    return done
  })
}

/** Ends a build whose output is stored: READY. `hold` adds the reference to the output. Nothing changes unless the outcome is `ok`. */
export async function succeedBuild(
  ctx: OperatorCtx,
  holder: Holder,
  hold: (accountId: string) => Promise<number>,
): Promise<Outcome> {
  const { outcome, build } = await completeBuild(ctx, holder)
  if (outcome !== 'ok') return outcome
  await moveDeployment(ctx, build!, 'INITIALIZING', 'build_started')
  const output_id = await hold(build!.account_id)
  await changeDeployment(ctx, holder.deploymentId, 'output_stored', { output_id }, build!.takes_domains === 1)
  return outcome
}

/** Ends a build that failed: ERROR, with code and sentence. */
export async function failBuild(ctx: OperatorCtx, holder: Holder, failure: Failure): Promise<Outcome> {
  const { outcome } = await completeBuild(ctx, holder)
  if (outcome === 'ok') await failDeployment(ctx, holder.deploymentId, failure)
  return outcome
}

/** Sets a deployment to ERROR, unless it has ended. */
export async function failDeployment(ctx: OperatorCtx, id: string, { code, message }: Failure): Promise<void> {
  const columns = { error_code: code, error_message: cut(message) }
  await changeDeployment(ctx, id, 'failed', columns)
}

/** Ends a build that the runner canceled: an ignored build step, or a cancel by a user, which is in effect already. */
export async function releaseBuild(ctx: OperatorCtx, holder: Holder, reason: string): Promise<Outcome> {
  const { outcome } = await completeBuild(ctx, holder)
  if (outcome === 'ok')
    await changeDeployment(ctx, holder.deploymentId, 'canceled', { error_message: reason === '' ? null : cut(reason) })
  return outcome
}

function cut(text: string): string {
  return text.slice(0, MAX_MESSAGE).toWellFormed()
}

type Columns = Partial<Pick<Row<'deployment'>, 'output_id' | 'error_code' | 'error_message'>>

async function changeDeployment(
  ctx: OperatorCtx,
  id: string,
  event: DeploymentEvent,
  columns: Columns,
  takesDomains = true,
): Promise<void> {
  const { db } = ctx
  const deployment = await db.selectFrom('deployment').selectAll().where('id', '=', id).executeTakeFirst()
  const next = deployment && nextState(deployment.ready_state, event, ctx.now)
  if (deployment === undefined || next === undefined) return
  const row = await db
    .updateTable('deployment')
    .set({ ...next, ...columns })
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirstOrThrow()
  const project = await db.selectFrom('project').selectAll().where('id', '=', row.project_id).executeTakeFirstOrThrow()
  await settle(ctx, project, await eventAccount(db, project.account_id), row, takesDomains)
}
