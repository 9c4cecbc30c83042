/** What a create says of a deployment in addition to its output. docs/deploying-sites.md: Create a deployment. */
import type { Ctx } from '../../context.ts'
import type { CreateDeployment } from '../deploys/create-schema.ts'
import { createNotices, type Notice } from '../outputs/notices.ts'
import { isSitesServerHeard } from './hearing.ts'

/** Lists what of a request has no effect, and whether visitors can open what it makes. */
export async function noticesOfCreate(ctx: Ctx, { bulkRedirectsPath }: CreateDeployment): Promise<Notice[]> {
  const notices = createNotices()
  if (bulkRedirectsPath) notices.add('bulk_redirects_unread', bulkRedirectsPath)
  if (!(await isSitesServerHeard(ctx))) notices.add('sites_server_missing', '')
  return notices.list()
}
