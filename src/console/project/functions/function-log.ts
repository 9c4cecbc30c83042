/** The newest log lines of the functions of a deployment, on its page. docs/console.md: Project pages. */
import type { Static } from 'typebox'
import { MAX_WORD } from '../../../delivery/logs/filter.ts'
import type { RequestLogs } from '../../../delivery/logs/request-logs.ts'
import { type Html, html } from '../../../platform/pages/html.ts'
import type { OwnAccount } from '../../../platform/pages/own-accounts.ts'
import type { ConsoleCtx } from '../../../platform/pages/screen.ts'
import { Type } from '../../../platform/schema/builder.ts'
import type { Deployment } from '../../../projects/deployments/schema.ts'
import { filterForm } from '../../controls.ts'
import { type Choice, select } from '../../fields.ts'
import { clockTime } from '../../time.ts'
import { newestLines } from '../build-log.ts'

const Text = Type.Optional(Type.String({ maxLength: MAX_WORD }))
export const LogFilters = Type.Object({ level: Text, status: Text, function: Text, text: Text })
type LogFilters = Static<typeof LogFilters>

const LEVELS: readonly Choice[] = [
  ['', 'Any level'],
  ['info', 'Info'],
  ['warning', 'Warning'],
  ['error', 'Error'],
]

const STATUSES: readonly Choice[] = [
  ['', 'Any status'],
  ...['2xx', '3xx', '4xx', '5xx'].map((one): Choice => [one, one]),
]

/** Renders the card. Undefined for a deployment whose functions wrote nothing. `path`: of the page. */
export async function functionLog(
  ctx: ConsoleCtx,
  account: OwnAccount,
  { id, projectId }: Deployment,
  path: string,
  { level, status, function: functionName, text }: LogFilters,
): Promise<Html | undefined> {
  const { rows, hasMoreRows } = await ctx.callRoute<Static<typeof RequestLogs>>('listRequestLogs', {
    account,
    query: {
      ...{ projectId, deploymentId: id, level: level || undefined, search: text || undefined },
      ...{ statusCode: status || undefined, functionName: functionName || undefined },
    },
  })
  const isNarrowed = Boolean(level || status || functionName || text)
  const all = rows.toReversed().flatMap(linesOf)
  const lines = newestLines(all)
  if (rows.length === 0 && !isNarrowed) return undefined
  const fields = html`<div>${select('level', 'Level', LEVELS, { value: level })}</div>
<div>${select('status', 'Status', STATUSES, { value: status })}</div>
<div><label for="function">Function</label>
<input type="search" id="function" name="function" value="${functionName}" maxlength="${MAX_WORD}"></div>
<div><label for="text">Text or path</label>
<input type="search" id="text" name="text" value="${text}" maxlength="${MAX_WORD}"></div>`
  return html`<section class="card log" aria-labelledby="function-log"><header><h2 id="function-log">Function log</h2></header>
<div class="in">${filterForm(path, isNarrowed, fields)}</div>
${(hasMoreRows || lines.length < all.length) && html`<p class="soft small in">The newest lines. <code>vercel logs</code> has older ones.</p>`}
${rows.length === 0 ? html`<p class="soft in">No such lines.</p>` : html`<ol>${lines.map(line)}</ol>`}</section>`
}

type Request = Static<typeof RequestLogs>['rows'][number]

type Line = { look: string; first: string; timestamp: string; text: string }

/** A request, and below it what its function wrote. */
function linesOf({ timestamp, statusCode, requestMethod, requestPath, functionName, logs }: Request): Line[] {
  const status = statusCode === 0 ? '' : String(statusCode)
  const by = functionName === undefined || requestPath === `/${functionName}` ? '' : ` (${functionName})`
  const head = `${requestPath === '' ? 'Outside of a request' : `${requestMethod} ${requestPath}`}${by}`
  return [
    { look: statusCode >= 500 ? 'error' : 'step', first: status, timestamp, text: head },
    ...logs.map(({ level, message }) => ({
      look: level === 'error' ? 'error' : '',
      first: '',
      timestamp,
      text: message,
    })),
  ]
}

function line({ look, first, timestamp, text }: Line): Html {
  return html`<li${look !== '' && html` class="${look}"`}><span>${first}</span>${clockTime(Date.parse(timestamp))}<span>${text}</span></li>`
}
