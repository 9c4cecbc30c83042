/** Requests of functions with their lines: `vercel logs` from 50 to 63. docs/functions.md: Log. */
import type { Static } from 'typebox'
import type { Ctx, Input } from '../../context.ts'
import { findProject } from '../../model/project.ts'
import { Type } from '../../platform/schema/builder.ts'
import { Timestamp } from '../../platform/schema/fields.ts'
import { findDeployment } from '../../projects/deployments/deployments.ts'
import { LOG_LEVELS } from '../protocol/log-report.ts'
import { MAX_WORD } from './filter.ts'
import { type FoundLine, readLines } from './read-lines.ts'
import { acceptsOf } from './runtime-logs.ts'
import { LOG_BUDGET } from './store-lines.ts'

/** Requests of a page, and lines that one request reads. */
const PAGE = 50
export const MAX_ROWS = PAGE
const MAX_LINES = 5000
const Text = Type.Optional(Type.String({ maxLength: 300 }))

export const RequestLogsQuery = Type.Object({
  projectId: Type.String({ maxLength: 100 }),
  deploymentId: Text,
  ownerId: Text,
  page: Type.Optional(Type.Integer({ minimum: 0, maximum: 100 })),
  startDate: Type.Optional(Timestamp),
  endDate: Type.Optional(Timestamp),
  level: Type.Optional(Type.String({ maxLength: 100, description: 'levels, with commas between them' })),
  statusCode: Type.Optional(Type.String({ maxLength: 10, description: 'such as `404` or `5xx`' })),
  search: Type.Optional(Type.String({ maxLength: MAX_WORD })),
  requestId: Text,
  functionName: Type.Optional(
    Type.String({ maxLength: MAX_WORD, description: 'lines of functions whose name has this' }),
  ),
  environment: Type.Optional(Type.String({ maxLength: 100, description: '`production` or `preview`' })),
  branch: Text,
  source: Type.Optional(Type.String({ maxLength: 100, description: 'ignored: all lines are of functions' })),
})

const Row = Type.Object({
  requestId: Type.String(),
  timestamp: Type.String(),
  deploymentId: Type.String(),
  environment: Type.String(),
  branch: Type.Optional(Type.String()),
  functionName: Type.Optional(Type.String({ description: 'missing of lines that no function wrote' })),
  domain: Type.String(),
  requestMethod: Type.String(),
  requestPath: Type.String(),
  statusCode: Type.Integer(),
  cache: Type.String(),
  events: Type.Array(Type.Object({ source: Type.String() })),
  logs: Type.Array(Type.Object({ level: Type.String(), message: Type.String(), messageTruncated: Type.Boolean() })),
})
export const RequestLogs = Type.Object({ rows: Type.Array(Row), hasMoreRows: Type.Boolean() })

type Query = Static<typeof RequestLogsQuery>

/** Lists the requests of functions, newest first. Refuses: not_found 404. */
export async function listRequestLogs(
  ctx: Ctx,
  _: undefined,
  { query }: Input<Query>,
): Promise<Static<typeof RequestLogs>> {
  const project = await findProject(ctx, { idOrName: query.projectId })
  const deployment = query.deploymentId ? await findDeployment(ctx, { idOrUrl: query.deploymentId }) : undefined
  const { startDate = 0, endDate = ctx.now + 1, page = 0 } = query
  const { lines } = await readLines(ctx.db, {
    ...{ projectId: project.id, deploymentId: deployment?.id, until: endDate, max: MAX_LINES },
    since: Math.max(startDate, ctx.now - LOG_BUDGET.retentionMs),
    accepts: acceptedBy(query),
  })
  // A line without a request stands for itself.
  const requests = [
    ...Map.groupBy(lines, ({ deploymentId, requestId, rowId }) => `${deploymentId} ${requestId || rowId}`),
  ]
  const shown = await shownOf(ctx, lines)
  const matching = requests.filter(([, [line]]) => {
    const { target, git_branch } = shown.get(line!.deploymentId)!
    const isOfBranch = query.branch === undefined || query.branch === git_branch
    return isOfBranch && (query.environment === undefined || query.environment === target)
  })
  const rows = matching
    .slice(page * PAGE, (page + 1) * PAGE)
    .map(([, own]) => rowOf(own, shown.get(own[0]!.deploymentId)!))
  return { rows, hasMoreRows: matching.length > (page + 1) * PAGE }
}

function acceptedBy({ level, statusCode, search, requestId, functionName }: Query) {
  const levels = level === undefined ? undefined : LOG_LEVELS.filter((name) => level.split(',').includes(name))
  const accepts = acceptsOf({ level: levels, statusCode: statusCode?.toLowerCase(), search })
  const name = functionName?.toLowerCase()
  const isOf = ({ functionName: own = '' }: FoundLine) => name === undefined || own.toLowerCase().includes(name)
  return (line: FoundLine) => (requestId === undefined || line.requestId === requestId) && isOf(line) && accepts(line)
}

type Shown = { target: string; git_branch: string | null }

async function shownOf({ db }: Ctx, lines: readonly FoundLine[]): Promise<Map<string, Shown>> {
  const shown = new Map<string, Shown>()
  for (const id of new Set(lines.map(({ deploymentId }) => deploymentId))) {
    const row = await db
      .selectFrom('deployment')
      .select(['target', 'git_branch'])
      .where('id', '=', id)
      .executeTakeFirst()
    shown.set(id, row ?? { target: 'preview', git_branch: null })
  }
  return shown
}

/** Lines are newest first. */
function rowOf(lines: readonly FoundLine[], { target, git_branch }: Shown): Static<typeof Row> {
  const { requestId, date, deploymentId, host, method, path, functionName } = lines.at(-1)!
  return {
    ...{ requestId, timestamp: new Date(date).toISOString(), deploymentId, environment: target },
    ...(git_branch !== null && { branch: git_branch }),
    ...(functionName !== undefined && { functionName }),
    ...{ domain: host, requestMethod: method, requestPath: path, cache: 'MISS' },
    statusCode: Math.max(...lines.map(({ status }) => status)),
    events: [{ source: 'serverless' }],
    logs: lines
      .filter(({ text }) => text !== '')
      .toReversed()
      .map(({ level, text }) => ({ level, message: text, messageTruncated: false })),
  }
}
