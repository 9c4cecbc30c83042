import { operatorRoute } from '../../platform/http/route.ts'
import { buildReport } from './report.ts'
import { KINDS, Report } from './schema.ts'

export const reportRoutes = [
  operatorRoute({
    method: 'GET',
    path: '/operator/v1/report',
    operationId: 'operatorGetReport',
    summary: 'Report stale tokens, unverified domains, failing webhooks and resources without an owner',
    tag: 'operator',
    run: (ctx) => buildReport(ctx),
    list: { rows: Object.keys(KINDS).length, rowBytes: 128 * 1024 },
    status: 200,
    reply: Report,
  }),
]
