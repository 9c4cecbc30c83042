/** Log lines of a deployment as older clients read them: `vercel logs` up to 50, and the SDK. docs/functions.md: Log. */
import type { Static } from 'typebox'
import type { Ctx, Input } from '../../context.ts'
import { Type } from '../../platform/schema/builder.ts'
import { CommaSeparated, OneOf, Timestamp } from '../../platform/schema/fields.ts'
import type { DeploymentWithProject } from '../../projects/deployments/deployments.ts'
import { LOG_LEVELS } from '../protocol/log-report.ts'
import { MAX_WORD } from './filter.ts'
import { type FoundLine, readLines } from './read-lines.ts'
import { LOG_BUDGET } from './store-lines.ts'

export const MAX_LINES = 1000
const DEFAULT_LINES = 100

export const RuntimeLogsQuery = Type.Object({
  format: Type.Optional(Type.String({ maxLength: 20, description: 'ignored: the answer is always lines' })),
  since: Type.Optional({ ...Timestamp, description: 'lines of then or later; all kept ones when not given' }),
  until: Type.Optional({ ...Timestamp, description: 'lines of before' }),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_LINES, description: '100 when not given' })),
  level: Type.Optional(CommaSeparated(OneOf(...LOG_LEVELS), 'lines of these levels')),
  statusCode: Type.Optional(Type.String({ pattern: '^[1-5](?:[0-9]{2}|xx)$', description: 'such as `404` or `5xx`' })),
  search: Type.Optional(Type.String({ maxLength: MAX_WORD, description: 'lines whose text or path has this' })),
})
export type RuntimeLogsQuery = Static<typeof RuntimeLogsQuery>

const RuntimeLog = Type.Object({
  rowId: Type.String(),
  level: OneOf('info', 'warning', 'error'),
  source: OneOf('serverless', 'delimiter'),
  message: Type.String(),
  messageTruncated: Type.Boolean(),
  domain: Type.String(),
  requestId: Type.Optional(Type.String()),
  requestMethod: Type.String(),
  requestPath: Type.String(),
  responseStatusCode: Type.Integer(),
  timestampInMs: Timestamp,
})
type RuntimeLog = Static<typeof RuntimeLog>
export const RuntimeLogs = Type.Array(RuntimeLog)

/** Lists the newest lines, oldest first. Without one, a line says so, at which clients stop. */
export async function listRuntimeLogs(
  ctx: Ctx,
  { deployment }: DeploymentWithProject,
  { query }: Input<RuntimeLogsQuery>,
): Promise<RuntimeLog[]> {
  const {
    since = ctx.now - LOG_BUDGET.retentionMs,
    until = Number.MAX_SAFE_INTEGER,
    limit: max = DEFAULT_LINES,
  } = query
  const { id, project_id } = deployment
  const of = { projectId: project_id, deploymentId: id, since, until, max, accepts: acceptsOf(query) }
  const { lines } = await readLines(ctx.db, of)
  return lines.length === 0 ? [delimiter(deployment.url, ctx.now)] : lines.toReversed().map(showLine)
}

type Wanted = {
  level?: RuntimeLogsQuery['level'] | undefined
  statusCode?: string | undefined
  search?: string | undefined
}

/** Which lines have a level, a status and a text. */
export function acceptsOf({ level, statusCode, search }: Wanted) {
  // A few letters are two in lower case.
  const words = search?.toLowerCase().slice(0, MAX_WORD)
  return (line: Pick<FoundLine, 'level' | 'status' | 'text' | 'path'>): boolean =>
    (level === undefined || level.includes(line.level)) &&
    (statusCode === undefined || hasStatus(line.status, statusCode)) &&
    (words === undefined || line.text.toLowerCase().includes(words) || line.path.toLowerCase().includes(words))
}

function hasStatus(status: number, filter: string): boolean {
  return filter.endsWith('xx') ? Math.floor(status / 100) === Number(filter[0]) : status === Number(filter)
}

function showLine(line: FoundLine): RuntimeLog {
  return {
    rowId: line.rowId,
    level: line.level,
    source: 'serverless',
    message: line.text,
    messageTruncated: false,
    domain: line.host,
    ...(line.requestId !== '' && { requestId: line.requestId }),
    requestMethod: line.method,
    requestPath: line.path,
    responseStatusCode: line.status,
    timestampInMs: line.date,
  }
}

/** A line at which clients stop; they print its message. */
function delimiter(domain: string, timestampInMs: number): RuntimeLog {
  const message = 'Functions of this deployment wrote no such line in the last 3 days.'
  return {
    rowId: '',
    level: 'error',
    source: 'delimiter',
    message,
    messageTruncated: false,
    domain,
    timestampInMs,
    requestMethod: '',
    requestPath: '',
    responseStatusCode: 0,
  }
}
