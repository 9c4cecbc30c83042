/** What a transfer code would bring, before it is accepted. docs/transfer.md. */
import type { OperatorCtx } from '../../context.ts'
import { isNameTaken } from '../../model/project-name.ts'
import { rowCount } from '../../platform/db/db.ts'
import { refuse } from '../../platform/refusals/refusal.ts'
import { findOffer } from './transfer.ts'

/** Domains that are named. */
const NAMED = 20
type ReadCtx = Pick<OperatorCtx, 'db' | 'now'>

export type TransferPreview = {
  name: string
  /** Slug of the account that gives it. */
  from: string
  /** Username of the user who created the code. */
  createdBy: string
  expiresAt: number
  /** In the account that receives it. */
  isNameTaken: boolean
  domains: { names: readonly string[]; count: number }
  /** `fromIntegrations`: those that stay behind. */
  variables: { own: number; fromIntegrations: number }
  deployments: number
}

/** Shows what the project of a transfer code holds, to an account that could receive it. Changes nothing. Refuses: not_found 404, transfer_to_same_account 400. */
export async function previewTransfer(ctx: ReadCtx, accountId: string, code: string): Promise<TransferPreview> {
  const { request, project } = await findOffer(ctx, { code })
  if (request.account_id === accountId) refuse('transfer_to_same_account')
  const ids = [request.account_id, request.created_by]
  const accounts = await ctx.db.selectFrom('account').select(['id', 'slug']).where('id', 'in', ids).execute()
  const slugOf = (id: string) => accounts.find((account) => account.id === id)?.slug ?? id
  return {
    name: project.name,
    from: slugOf(request.account_id),
    createdBy: slugOf(request.created_by),
    expiresAt: request.expires_at,
    isNameTaken: await isNameTaken(ctx, accountId, project.name),
    domains: { names: await namedDomains(ctx, project.id), count: await countIn(ctx, 'project_domain', project.id) },
    variables: await countVariables(ctx, project.id),
    deployments: await countIn(ctx, 'deployment', project.id),
  }
}

async function namedDomains({ db }: ReadCtx, projectId: string): Promise<string[]> {
  const domains = db.selectFrom('project_domain').select('name').where('project_id', '=', projectId)
  const rows = await domains.orderBy('created_stamp').limit(NAMED).execute()
  return rows.map(({ name }) => name)
}

async function countVariables(ctx: ReadCtx, projectId: string): Promise<TransferPreview['variables']> {
  const all = await countIn(ctx, 'env_var', projectId)
  const variables = ctx.db.selectFrom('env_var').where('project_id', '=', projectId)
  const own = await rowCount(variables.where('configuration_id', 'is', null))
  return { own, fromIntegrations: all - own }
}

function countIn({ db }: ReadCtx, table: 'project_domain' | 'deployment' | 'env_var', projectId: string) {
  return rowCount(db.selectFrom(table).where('project_id', '=', projectId))
}
