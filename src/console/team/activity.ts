import type { Static } from 'typebox'
import type { ActivityList } from '../../accounts/accounts/activity.ts'
import { type Html, html } from '../../platform/pages/html.ts'
import type { OwnAccount } from '../../platform/pages/own-accounts.ts'
import { type ConsoleCtx, consoleScreen, type Screen, type ScreenInput } from '../../platform/pages/screen.ts'
import { Type } from '../../platform/schema/builder.ts'
import { filterForm, paginationLinks } from '../controls.ts'
import { dataTable } from '../fields.ts'
import { accountPage, accountPath, findAccountOfPath } from '../frame.ts'
import { auditMessage } from '../names/audit-messages.ts'
import { type AuditTarget, findAuditTargets, targetLink, targetPathIn } from '../names/audit-targets.ts'
import { relativeTime } from '../time.ts'

const LIST = '/console/t/:slug/activity'
const PAGE = 50
/** Most pages of 100 entries in a file. docs/accounts.md: Activity. */
const FILE_PAGES = 20
const Filter = Type.Object({
  until: Type.Optional(Type.String({ maxLength: 20 })),
  actorId: Type.Optional(Type.String({ maxLength: 64 })),
  type: Type.Optional(Type.String({ maxLength: 64 })),
})
type Input = ScreenInput<Static<typeof Filter>>
type Subjects = ReadonlyMap<string, AuditTarget>
type Entry = ActivityList['entries'][number]

export const activityScreens: readonly Screen[] = [
  consoleScreen({
    method: 'GET',
    path: LIST,
    name: 'consoleActivity',
    query: Filter,
    calls: ['getActivity'],
    run: showActivity,
  }),
  consoleScreen({
    method: 'GET',
    path: `${LIST}/export`,
    name: 'consoleExportActivity',
    query: Filter,
    calls: ['getActivity'],
    run: exportActivity,
  }),
]

async function showActivity(ctx: ConsoleCtx, { params, query }: Input) {
  const account = await findAccountOfPath(ctx, params)
  const { until, ...filter } = filterOf(query)
  const { entries, pagination } = await ctx.callRoute<ActivityList>('getActivity', {
    account,
    query: { ...filter, until, limit: String(PAGE) },
  })
  const path = accountPath(account, 'activity')
  const pairs = Object.entries(filter).filter((pair): pair is [string, string] => pair[1] !== undefined)
  const search = pairs.length === 0 ? '' : `?${new URLSearchParams(pairs)}`
  return accountPage(ctx, account, 'activity', {
    title: 'Activity',
    body: html`<div class="head"><h1>Activity</h1><a class="btn" href="${path}/export${search}" data-turbo="false">Export as CSV</a></div>
${filters(path, query, entries)}
${entries.length === 0 ? nothing(pagination.next !== null) : table(account, entries, await subjectsOf(ctx, account, entries), ctx.now)}
${paginationLinks(path, { ...filter, until }, pagination.next)}`,
  })
}

function filterOf({ until, actorId, type }: Static<typeof Filter>) {
  return { until, actorId: actorId?.trim() || undefined, type: type?.trim() || undefined }
}

function filters(path: string, { actorId, type }: Static<typeof Filter>, entries: readonly Entry[]): Html {
  const types = [...new Set(entries.map((entry) => entry.type))].sort()
  const people = [...new Map(entries.map(({ actor }) => [actor.id, actor.name ?? actor.id])).entries()]
  const fields = html`<div><label for="actorId">Who</label><input type="text" id="actorId" name="actorId" value="${actorId}" list="actors" placeholder="Who: usr_…" autocomplete="off" maxlength="64"><datalist id="actors">${people.map(([id, name]) => html`<option value="${id}">${name}</option>`)}</datalist></div>
<div><label for="type">What</label><input type="text" id="type" name="type" value="${type}" list="types" placeholder="What: createProject" autocomplete="off" maxlength="64"><datalist id="types">${types.map((one) => html`<option value="${one}"></option>`)}</datalist></div>`
  return filterForm(path, [actorId, type].some(Boolean), fields)
}

function nothing(hasOlder: boolean): Html {
  return html`<div class="card empty"><h2>No activity yet</h2><p>${hasOlder ? 'No matches among the newest entries. Continue with the older ones below.' : 'No entries match.'}</p></div>`
}

function subjectsOf(ctx: ConsoleCtx, account: OwnAccount, entries: readonly Entry[]) {
  return findAuditTargets(
    ctx,
    account,
    entries.map(({ subjectId }) => subjectId),
  )
}

function table(account: OwnAccount, entries: readonly Entry[], subjects: Subjects, now: number): Html {
  const of = (query: Record<string, string>) => `${accountPath(account, 'activity')}?${new URLSearchParams(query)}`
  return dataTable(
    'Activity',
    ['Who', 'What', 'Fields', 'When'],
    entries.map(
      ({
        actor,
        type,
        subjectId,
        fields,
        at,
      }) => html`<tr><td>${actor.kind === 'user' || actor.kind === 'integration' ? html`<a href="${of({ actorId: actor.id })}">${actor.name ?? actor.id}</a>` : actor.kind}${actor.kind === 'integration' && html` <span class="badge">Integration</span>`}</td>
<td>${auditMessage(type, subjectId === null ? undefined : targetLink(subjectId, subjects, targetPathIn(account)))}<br><a class="soft small" href="${of({ type })}">${type}</a></td><td class="small">${fields.join(', ')}</td><td>${relativeTime(at, now)}</td></tr>`,
    ),
  )
}

/** The newest matching entries as a CSV file. */
async function exportActivity(ctx: ConsoleCtx, { params, query }: Input) {
  const account = await findAccountOfPath(ctx, params)
  const lines = [['at', 'actorKind', 'actorId', 'actorName', 'type', 'subjectId', 'fields']]
  let { until, ...filter } = filterOf(query)
  for (let page = 0; page < FILE_PAGES; page++) {
    const { entries, pagination } = await ctx.callRoute<ActivityList>('getActivity', {
      account,
      query: { ...filter, until, limit: '100' },
    })
    lines.push(...entries.map(lineOf))
    if (pagination.next === null) break
    until = String(pagination.next)
  }
  const text = `${lines.map((line) => line.map(cellOf).join(',')).join('\r\n')}\r\n`
  return { download: { fileName: `activity-${account.slug}.csv`, contentType: 'text/csv; charset=utf-8', text } }
}

function lineOf({ at, actor, type, subjectId, fields }: Entry): string[] {
  return [new Date(at).toISOString(), actor.kind, actor.id, actor.name ?? '', type, subjectId ?? '', fields.join(' ')]
}

/** RFC 4180. Spreadsheets run cells that start with certain characters as formulas, so these get a leading quote. */
function cellOf(text: string): string {
  const plain = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain
}
