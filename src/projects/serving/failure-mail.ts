/** Emails about production deployments that failed. docs/deployments.md: Production deployment. */
import type { EventAccount, OperatorCtx } from '../../context.ts'
import type { Row } from '../../platform/db/schema.ts'
import { queueMail } from '../../platform/mail/mail.ts'
import { mailOwners } from '../../platform/mail/owners.ts'
import { toSingleLine } from '../../platform/mail/text.ts'

/** Queues an email to the user of a personal account, or to the OWNERs of a team: at most one for each project and day. */
export async function mailFailure(
  ctx: OperatorCtx,
  project: Pick<Row<'project'>, 'id' | 'name'>,
  owner: EventAccount,
  row: Row<'deployment'>,
): Promise<void> {
  const { slug, email, suspended_at } = await ctx.db
    .selectFrom('account')
    .select(['slug', 'email', 'suspended_at'])
    .where('id', '=', owner.id)
    .executeTakeFirstOrThrow()
  const message = {
    topic: `failed ${project.id}`,
    subject: `Production deployment of ${toSingleLine(project.name)} failed`,
    text: textOf(ctx, slug, project.name, row),
  }
  if (owner.kind === 'team') return mailOwners(ctx, owner.id, message)
  if (email !== null && suspended_at === null) await queueMail(ctx, { recipient: email, ...message })
}

function textOf({ deps }: OperatorCtx, slug: string, name: string, row: Row<'deployment'>): string {
  const path = ['console', 't', slug, 'projects', name, 'deployments', row.id].map(encodeURIComponent).join('/')
  return [
    `The production deployment ${row.url} of ${toSingleLine(name)} failed.`,
    ...(row.error_message === null ? [] : ['', toSingleLine(row.error_message)]),
    '',
    'What served production before still does. The log and the commit are here:',
    `${deps.origin()}/${path}`,
    '',
    'You get at most one such email a day for each project.',
    '',
  ].join('\n')
}
