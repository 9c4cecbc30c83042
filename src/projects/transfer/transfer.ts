/** Transfer of a project to another account: the code, its redemption, and the lock. docs/spec/decisions.md: Transfer; docs/transfer.md. */

import type { Static } from 'typebox'
import type { Ctx, EventAccount, Input, OperatorCtx, Params } from '../../context.ts'
import type { EventPayload } from '../../events.ts'
import { isNameTaken, mustBeName } from '../../model/project-name.ts'
import { canStillGive } from '../../platform/access/offers.ts'
import { fingerprint, randomText } from '../../platform/base/ids.ts'
import type { Row } from '../../platform/db/schema.ts'
import { refuseFull } from '../../platform/limiter/must-fit.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { Type } from '../../platform/schema/builder.ts'
import { fullBudget } from './room.ts'

const CODE_LENGTH = 32
const CODE_MS = 24 * 60 * 60 * 1000
const CODE_UNKNOWN = 'The code of the transfer is unknown, used or older than 24 hours. Request a new one.'

export const RequestTransfer = Type.Object({
  callbackUrl: Type.Optional(Type.String({ maxLength: 2048 })),
  callbackSecret: Type.Optional(Type.String({ maxLength: 256 })),
})
export const TransferCode = Type.Object({ code: Type.String({ description: 'shown this once; good for 24 hours' }) })
export const AcceptTransfer = Type.Object({ newProjectName: Type.Optional(Type.String()) })

export type TransferOffer = { request: Row<'transfer_request'>; project: Row<'project'> }

/** Creates a single-use transfer code for the project and revokes an earlier one. Refuses: callback_not_supported 400. */
export async function requestTransfer(
  ctx: Ctx,
  project: Row<'project'>,
  { body }: Input<unknown, Static<typeof RequestTransfer>>,
): Promise<Static<typeof TransferCode> & { id: string }> {
  if (body.callbackUrl !== undefined || body.callbackSecret !== undefined) refuse('callback_not_supported')
  const code = randomText(CODE_LENGTH)
  const columns = {
    account_id: project.account_id,
    hash: fingerprint(code),
    created_by: ctx.caller.userId,
    token_id: ctx.caller.actor.tokenId,
    expires_at: ctx.now + CODE_MS,
    accepted_at: null,
    accepted_by: null,
    new_name: null,
  }
  await ctx.db
    .insertInto('transfer_request')
    .values({ project_id: project.id, ...columns })
    .onConflict((conflict) => conflict.column('project_id').doUpdateSet(columns))
    .execute()
  return { code, id: project.id }
}

/** Returns the offer of a code. Unknown, used, expired and unauthorized codes are indistinguishable. Refuses: not_found 404. */
export async function findOffer(ctx: Pick<OperatorCtx, 'db' | 'now'>, params: Params): Promise<TransferOffer> {
  const request = await ctx.db
    .selectFrom('transfer_request')
    .selectAll()
    .where('hash', '=', fingerprint(params.code ?? ''))
    .where('accepted_at', 'is', null)
    .where('expires_at', '>', ctx.now)
    .executeTakeFirst()
  const project =
    request &&
    (await ctx.db
      .selectFrom('project')
      .selectAll()
      .where('account_id', '=', request.account_id)
      .where('id', '=', request.project_id)
      .executeTakeFirst())
  if (request === undefined || project === undefined) refuse('not_found', CODE_UNKNOWN)
  const giver = { userId: request.created_by, accountId: request.account_id, tokenId: request.token_id }
  if (!(await canStillGive(ctx, 'transfer code', giver))) refuse('not_found', CODE_UNKNOWN)
  return { request, project }
}

/**
 * Accepts a project: this commit locks it, and a sweep moves it. The lock is one conditional statement. Refuses:
 * missing_permission 403 (a project-limited token), transfer_to_same_account 400, invalid_project_name 400, project_name_taken
 * 409, in_transfer 409, and as a budget of the receiving account does.
 */
export async function acceptTransfer(
  ctx: Ctx,
  { request, project }: TransferOffer,
  { body }: Input<unknown, Static<typeof AcceptTransfer>>,
): Promise<{ id: string }> {
  if (ctx.caller.projectIds !== null) {
    refuse('missing_permission', 'This token is limited to some projects and cannot accept another one.')
  }
  if (request.account_id === ctx.account.id) refuse('transfer_to_same_account')
  const name = body.newProjectName ?? project.name
  mustBeName(name)
  if (await isNameTaken(ctx, ctx.account.id, name)) {
    const way = 'Say another one in `newProjectName`.'
    refuse('project_name_taken', `A project named "${name}" already exists in this account. ${way}`)
  }
  const full = await fullBudget(ctx, project, ctx.account.id)
  if (full !== undefined) refuseFull(ctx.deps, full)
  await useCode(ctx, request, body.newProjectName ?? null)
  await lockForTransfer(ctx, project)
  const giver = await findEventAccount(ctx, project.account_id)
  if (giver === undefined) throw new Error(`the account of ${project.id} is not there`)
  const payload = { fromAccountId: project.account_id, toAccountId: ctx.account.id }
  ctx.emit('project.transfer.started', { ...payload, project: projectReference(project) }, project.id, giver)
  ctx.emit('project.transfer.started', { ...payload, project: { id: project.id, name } }, project.id)
  return { id: project.id }
}

/** At most once under concurrent calls. */
async function useCode(ctx: Ctx, request: Row<'transfer_request'>, newName: string | null): Promise<void> {
  const used = await ctx.db
    .updateTable('transfer_request')
    .set({ accepted_at: ctx.now, accepted_by: ctx.caller.userId, new_name: newName })
    .where('project_id', '=', request.project_id)
    .where('hash', '=', request.hash)
    .where('accepted_at', 'is', null)
    .returning('project_id')
    .executeTakeFirst()
  if (used === undefined) refuse('not_found', CODE_UNKNOWN)
}

async function lockForTransfer(ctx: Ctx, project: Row<'project'>): Promise<void> {
  const locked = await ctx.db
    .updateTable('project')
    .set({ transfer_started_at: ctx.now, transfer_completed_at: null, transfer_to_account_id: ctx.account.id })
    .where('account_id', '=', project.account_id)
    .where('id', '=', project.id)
    .where((eb) => eb.or([eb('transfer_started_at', 'is', null), eb('transfer_completed_at', 'is not', null)]))
    .returning('id')
    .executeTakeFirst()
  if (locked === undefined) refuse('in_transfer')
}

/** Returns the project reference for events. */
export function projectReference({ id, name }: Row<'project'>): EventPayload<'project.created'>['project'] {
  return { id, name }
}

/** Returns the account for events; undefined if it was deleted. */
export function findEventAccount(ctx: Pick<OperatorCtx, 'db'>, accountId: string): Promise<EventAccount | undefined> {
  return ctx.db.selectFrom('account').select(['id', 'kind']).where('id', '=', accountId).executeTakeFirst()
}

/** Sweep: purges expired transfer codes. */
export async function purgeTransferCodes(ctx: OperatorCtx, limit: number): Promise<number> {
  const old = ctx.db
    .selectFrom('transfer_request')
    .select('project_id')
    .where('expires_at', '<=', ctx.now)
    .where('accepted_at', 'is', null)
    .limit(limit)
  const rows = await ctx.db.deleteFrom('transfer_request').where('project_id', 'in', old).returning('hash').execute()
  return rows.length
}
