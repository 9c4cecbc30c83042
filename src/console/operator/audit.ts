import type { Static } from 'typebox'
import type { AuditList } from '../../operations/operator/audit.ts'
import type { AuditVerification } from '../../operations/operator/verify-audit.ts'
import { state } from '../../platform/pages/face/states.ts'
import type { Page } from '../../platform/pages/frame.ts'
import { html } from '../../platform/pages/html.ts'
import { type ConsoleCtx, consoleScreen, type Screen, type ScreenInput } from '../../platform/pages/screen.ts'
import { Type } from '../../platform/schema/builder.ts'
import { field } from '../action.ts'
import { cardTitle, filterForm, heading, paginationLinks } from '../controls.ts'
import { dataTable, select } from '../fields.ts'
import { auditChoices, auditMessage } from '../names/audit-messages.ts'
import { type AuditTarget, findTargetsById, targetLink } from '../names/audit-targets.ts'
import { relativeAndExactTime } from '../time.ts'
import { auditExportScreens, exportPath, PERIOD_FIELDS, periodFields, periodOf } from './audit-export.ts'
import { operatorPage, operatorPath, ROWS } from './frame.ts'

const LIST = operatorPath('audit')
const Text = Type.Optional(Type.String({ maxLength: 254 }))
const Query = Type.Object({
  account: Text,
  actor: Text,
  type: Text,
  ...PERIOD_FIELDS,
  until: Type.Optional(Type.String({ maxLength: 20 })),
})
const VerifyQuery = Type.Object({ head: Type.Optional(Type.String({ maxLength: 60 })) })

export const auditScreens: readonly Screen[] = [
  consoleScreen({
    method: 'GET',
    path: LIST,
    name: 'showAudit',
    query: Query,
    calls: ['operatorListAudit'],
    run: showAudit,
  }),
  consoleScreen({
    method: 'GET',
    path: `${LIST}/verify`,
    name: 'verifyAudit',
    query: VerifyQuery,
    calls: ['operatorVerifyAudit'],
    run: showVerified,
  }),
  ...auditExportScreens,
]

async function showAudit(ctx: ConsoleCtx, { query }: ScreenInput<Static<typeof Query>>): Promise<Page> {
  const { account, actor, type, from, to, until } = query
  const { since, until: end } = periodOf(query)
  const { entries, pagination } = await ctx.callRoute<Static<typeof AuditList>>('operatorListAudit', {
    query: {
      limit: ROWS,
      accountId: account?.trim() || undefined,
      actorId: actor?.trim() || undefined,
      type: type?.trim() || undefined,
      since,
      until: until ?? end,
    },
  })
  const ids = entries.flatMap(({ actor, accountId, subjectId }) => [actor.id, accountId, subjectId])
  const subjects = await findTargetsById(ctx, ids)
  const show = (id: string) => targetLink(id, subjects, pathOf)
  return operatorPage(ctx, 'audit', {
    title: 'Audit log',
    body: html`${heading('Audit log', html`<a class="btn" href="${exportPath(query)}" data-turbo="false">Export</a>`, html`<a class="btn" href="${LIST}/verify">Verify integrity</a>`)}
${filterForm(
  LIST,
  [account, actor, type, from, to].some(Boolean),
  html`<div>${field('account', 'Account', { value: account, attributes: html` placeholder="Username, email or team" list="named"` })}</div>
<div>${field('actor', 'Who', { value: actor, attributes: html` placeholder="Username, email or ID" list="named"` })}</div>
<div>${select('type', 'What', auditChoices(type), { value: type ?? '' })}</div>
${periodFields(query)}
<datalist id="named">${[...subjects].filter(([, { kind }]) => kind === 'person' || kind === 'team').map(([, { name }]) => html`<option value="${name}"></option>`)}</datalist>`,
)}
${dataTable(
  'Audit log',
  ['When', 'Who', 'What', 'Account', 'Fields'],
  entries.map(
    (
      entry,
    ) => html`<tr><td>${relativeAndExactTime(entry.at, ctx.now)}</td><td>${entry.actor.kind !== 'user' && entry.actor.id !== entry.actor.kind && html`${entry.actor.kind} `}${show(entry.actor.id)}</td>
<td>${auditMessage(entry.type, entry.subjectId === null ? undefined : show(entry.subjectId))}<br><span class="soft small">${entry.type}</span></td><td>${entry.accountId && show(entry.accountId)}</td><td class="small">${entry.fields.join(', ')}</td></tr>`,
  ),
  { none: 'No entries match these filters.' },
)}
${paginationLinks(LIST, query, pagination.next)}`,
  })
}

/** Projects and integrations have no operator page. */
function pathOf({ kind }: AuditTarget, id: string): string | undefined {
  if (kind === 'person') return operatorPath('people', id)
  return kind === 'team' ? operatorPath('teams', id) : undefined
}

async function showVerified(ctx: ConsoleCtx, { query }: ScreenInput<Static<typeof VerifyQuery>>): Promise<Page> {
  const found = await ctx.callRoute<Static<typeof AuditVerification>>('operatorVerifyAudit', {
    query: { head: query.head || undefined },
  })
  const { verified, entries, head, unlinked, late, firstBroken } = found
  return operatorPage(ctx, 'audit', {
    title: 'Chain of the audit log',
    body: html`${heading('Chain of the audit log')}
<section class="card in stack"><p>${verified ? state('good', 'The chain is intact') : state('bad', 'The chain is broken')}</p>
<dl class="facts">
<dt>Entries</dt><dd>${entries}</dd>
<dt>Pending</dt><dd>${unlinked}</dd>
<dt>Written late</dt><dd>${late}</dd>
${firstBroken && html`<dt>First broken</dt><dd>entry ${firstBroken.position}: ${firstBroken.why}</dd>`}
${head && html`<dt>Head</dt><dd><code>${head}</code></dd>`}
</dl></section>
<form class="card in stack form" action="${LIST}/verify">${cardTitle('Compare', 'With a head that you saved from an earlier check: verifies that no entries at the end were deleted.')}
${field('head', 'Earlier head', { value: query.head })}
<p class="line"><button class="btn">Verify chain</button><a class="btn" href="${LIST}">Back to audit log</a></p></form>`,
  })
}
