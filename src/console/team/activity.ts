import type { Static } from 'typebox'
import type { ActivityList } from '../../accounts/accounts/activity.ts'
import type { MemberList } from '../../accounts/members/schema.ts'
import { icon } from '../../platform/pages/face/icons.ts'
import { avatar } from '../../platform/pages/face/initials.ts'
import { type Html, html } from '../../platform/pages/html.ts'
import type { OwnAccount } from '../../platform/pages/own-accounts.ts'
import { type ConsoleCtx, consoleScreen, type Screen, type ScreenInput } from '../../platform/pages/screen.ts'
import { Type } from '../../platform/schema/builder.ts'
import type { Project } from '../../projects/projects/schema.ts'
import { filterForm, paginationLinks } from '../controls.ts'
import { type Choice, dataTable, select } from '../fields.ts'
import { accountPage, accountPath, findAccountOfPath, projectPage, projectPath } from '../frame.ts'
import { auditChoices, auditMessage } from '../names/audit-messages.ts'
import { type AuditTarget, findAuditTargets, targetLink, targetPathIn } from '../names/audit-targets.ts'
import { PERIOD_FIELDS, periodFields, periodOf } from '../operator/audit-export.ts'
import { relativeAndExactTime } from '../time.ts'

/** TABLE pages: of an account, and of one of its projects. */
const LISTS = {
  '/console/t/:slug/activity': ['consoleActivity', 'consoleExportActivity', []],
  '/console/t/:slug/projects/:name/activity': ['showProjectActivity', 'exportProjectActivity', ['getProject']],
} as const
const PAGE = 50
/** Most pages of 100 entries in a file. docs/accounts.md: Activity. */
const FILE_PAGES = 20
/** Members that the filter names. */
const MAX_MEMBERS = 100
const Filter = Type.Object({
  until: Type.Optional(Type.String({ maxLength: 20 })),
  actorId: Type.Optional(Type.String({ maxLength: 64 })),
  type: Type.Optional(Type.String({ maxLength: 64 })),
  ...PERIOD_FIELDS,
})
type Filter = Static<typeof Filter>
type Input = ScreenInput<Filter>
type Subjects = ReadonlyMap<string, AuditTarget>
type Entry = ActivityList['entries'][number]

export const activityScreens: readonly Screen[] = Object.entries(LISTS).flatMap(([path, [name, exportName, calls]]) => [
  consoleScreen({
    method: 'GET',
    path,
    name,
    query: Filter,
    calls: ['getActivity', 'getTeamMembers', ...calls],
    run: showActivity,
  }),
  consoleScreen({
    method: 'GET',
    path: `${path}/export`,
    name: exportName,
    query: Filter,
    calls: ['getActivity', ...calls],
    run: exportActivity,
  }),
])

/** `project`: undefined on the page of the account. */
type Place = { account: OwnAccount; path: string; project?: Pick<Project, 'id' | 'name'> }

async function findPlace(ctx: ConsoleCtx, params: Input['params']): Promise<Place> {
  const account = await findAccountOfPath(ctx, params)
  if (params.name === undefined) return { account, path: accountPath(account, 'activity') }
  const project = await ctx.callRoute<Project>('getProject', { account, params: { idOrName: params.name } })
  return { account, path: projectPath(account, project.name, 'activity'), project }
}

async function showActivity(ctx: ConsoleCtx, { params, query }: Input) {
  const { account, path, project } = await findPlace(ctx, params)
  const { entries, pagination } = await ctx.callRoute<ActivityList>('getActivity', {
    account,
    query: { ...requestOf(query), projectId: project?.id, limit: String(PAGE) },
  })
  const pairs = Object.entries({ ...query, until: undefined }).filter((pair): pair is [string, string] =>
    Boolean(pair[1]),
  )
  const search = pairs.length === 0 ? '' : `?${new URLSearchParams(pairs)}`
  const content = {
    title: 'Activity',
    body: html`<div class="head"><h1>Activity</h1><a class="btn" href="${path}/export${search}" data-turbo="false">${icon('download')}Export as CSV</a></div>
${filters(path, query, await actorChoices(ctx, account, entries, query.actorId))}
${entries.length === 0 ? nothing(pagination.next !== null) : table(account, path, entries, await subjectsOf(ctx, account, entries), ctx.now)}
${paginationLinks(path, query, pagination.next)}`,
  }
  return project
    ? projectPage(ctx, account, project.name, 'activity', content)
    : accountPage(ctx, account, 'activity', content)
}

/** The entries before `until` of a page, and of the chosen days. */
function requestOf({ until, actorId, type, ...days }: Filter) {
  const { since, until: end } = periodOf(days)
  return { actorId: actorId?.trim() || undefined, type: type?.trim() || undefined, since, until: until ?? end }
}

/** Members, and who else is in the entries: integrations, and users who left. */
async function actorChoices(
  ctx: ConsoleCtx,
  account: OwnAccount,
  entries: readonly Entry[],
  chosen: string | undefined,
): Promise<Choice[]> {
  const { members } =
    account.kind === 'team'
      ? await ctx.callRoute<Static<typeof MemberList>>('getTeamMembers', {
          account,
          params: { idOrSlug: account.id },
          query: { limit: String(MAX_MEMBERS) },
        })
      : { members: [] }
  const listed = new Map([
    ...(chosen ? [[chosen, chosen] as const] : []),
    ...entries.map(({ actor }) => [actor.id, actor.name ?? actor.id] as const),
    ...members.filter(({ confirmed }) => confirmed).map(({ uid, name, username }) => [uid, name ?? username] as const),
  ])
  return [['', 'Anyone'], ...[...listed].toSorted(([, name], [, next]) => name.localeCompare(next))]
}

function filters(path: string, query: Filter, actors: readonly Choice[]): Html {
  const { actorId, type, from, to } = query
  const fields = html`<div>${select('actorId', 'Who', actors, { value: actorId ?? '' })}</div>
<div>${select('type', 'What', auditChoices(type), { value: type ?? '' })}</div>
${periodFields(query)}`
  return filterForm(path, [actorId, type, from, to].some(Boolean), fields)
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

function table(account: OwnAccount, path: string, entries: readonly Entry[], subjects: Subjects, now: number): Html {
  const of = (query: Record<string, string>) => `${path}?${new URLSearchParams(query)}`
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
      }) => html`<tr><td><span class="line tight one">${avatar(actor.name ?? actor.kind)}${actor.kind === 'user' || actor.kind === 'integration' ? html`<a class="link-soft medium" href="${of({ actorId: actor.id })}">${actor.name ?? actor.id}</a>` : actor.kind}${actor.kind === 'integration' && html`<span class="badge">Integration</span>`}</span></td>
<td>${auditMessage(type, subjectId === null ? undefined : targetLink(subjectId, subjects, targetPathIn(account)))}<br><a class="soft small" href="${of({ type })}">${type}</a></td><td class="small">${fields.join(', ')}</td><td>${relativeAndExactTime(at, now)}</td></tr>`,
    ),
  )
}

/** The newest matching entries as a CSV file. */
async function exportActivity(ctx: ConsoleCtx, { params, query }: Input) {
  const { account, project } = await findPlace(ctx, params)
  const lines = [['at', 'actorKind', 'actorId', 'actorName', 'type', 'subjectId', 'fields']]
  let { until, ...filter } = requestOf(query)
  for (let page = 0; page < FILE_PAGES; page++) {
    const { entries, pagination } = await ctx.callRoute<ActivityList>('getActivity', {
      account,
      query: { ...filter, projectId: project?.id, until, limit: '100' },
    })
    lines.push(...entries.map(lineOf))
    if (pagination.next === null) break
    until = String(pagination.next)
  }
  const text = `${lines.map((line) => line.map(cellOf).join(',')).join('\r\n')}\r\n`
  return {
    download: {
      fileName: `activity-${project?.name ?? account.slug}.csv`,
      contentType: 'text/csv; charset=utf-8',
      text,
    },
  }
}

function lineOf({ at, actor, type, subjectId, fields }: Entry): string[] {
  return [new Date(at).toISOString(), actor.kind, actor.id, actor.name ?? '', type, subjectId ?? '', fields.join(' ')]
}

/** RFC 4180. Spreadsheets run cells that start with certain characters as formulas, so these get a leading quote. */
function cellOf(text: string): string {
  const plain = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain
}
