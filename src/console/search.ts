import type { Static } from 'typebox'
import { note } from '../platform/pages/face/notes.ts'
import { type Html, html } from '../platform/pages/html.ts'
import { accountsOf, nameOf, type OwnAccount } from '../platform/pages/own-accounts.ts'
import { type ConsoleCtx, consoleScreen, type Screen, type ScreenInput } from '../platform/pages/screen.ts'
import { Refusal } from '../platform/refusals/refusal.ts'
import { Type } from '../platform/schema/builder.ts'
import type { Kind, SearchResult, SearchResults } from '../projects/search/schema.ts'
import { field, formErrorNotice, formErrorOf, PLAIN_TEXT } from './action.ts'
import { select } from './fields.ts'
import type { FormError } from './form-error.ts'
import { accountPage, accountPath, deploymentPath, findAccountOfPath, projectPath } from './frame.ts'
import { SHORT_SHA } from './project/commit.ts'
import { homeAccount } from './project/list.ts'

const LIMIT = '10'
/** The route validates the text, so the form keeps it. */
const Query = Type.Object({
  q: Type.Optional(Type.String()),
  /** Slug of an account. */
  in: Type.Optional(Type.String({ maxLength: 100 })),
})

export const searchScreens: readonly Screen[] = [
  consoleScreen({
    method: 'GET',
    path: '/console/search',
    name: 'consoleSearch',
    query: Query,
    calls: ['searchAccount'],
    run: showSearch,
  }),
]

type Of = { account: OwnAccount; q: string }

/** TABLE Result kinds: label, page of a result, and the list with more results. docs/console.md: Search. */
const GROUPS: Record<
  Kind,
  { words: string; to: (account: OwnAccount, one: SearchResult) => string; more?: (of: Of) => string }
> = {
  project: {
    words: 'Projects',
    to: (account, { name }) => projectPath(account, name),
    more: ({ account, q }) => `${accountPath(account)}?${new URLSearchParams({ search: q })}`,
  },
  deployment: {
    words: 'Deployments',
    to: (account, { id, project }) => deploymentPath(account, project!.name, id!),
  },
  domain: {
    words: 'Domains',
    to: (account, { name, project }) => projectPath(account, project!.name, `domains/${encodeURIComponent(name)}`),
  },
  variable: {
    words: 'Variables',
    to: (account, { name, project }) =>
      `${projectPath(account, project!.name, 'variables')}?${new URLSearchParams({ search: name })}`,
  },
  person: {
    words: 'Members',
    to: (account, { name }) => membersPath(account, name),
    more: ({ account, q }) => membersPath(account, q),
  },
  integration: { words: 'Integrations', to: (account, { id }) => accountPath(account, `integrations/${id}`) },
  app: { words: 'Apps', to: (account, { id }) => accountPath(account, `apps/${id}`) },
}

function membersPath(account: OwnAccount, search: string): string {
  return `${accountPath(account, 'members')}?${new URLSearchParams({ search })}`
}

async function showSearch(ctx: ConsoleCtx, { query }: ScreenInput<Static<typeof Query>>) {
  const account = await findAccountOfPath(ctx, { slug: query.in || (await homeAccount(ctx)).slug })
  const q = (query.q ?? '').trim()
  const found = q === '' ? undefined : await ask(ctx, account, q)
  const error = found instanceof Refusal ? formErrorOf(found, { q }) : undefined
  return accountPage(ctx, account, 'search', {
    title: q === '' ? 'Search' : `${q.slice(0, 100)} · Search`,
    status: found instanceof Refusal ? found.status : undefined,
    body: html`<div class="head"><h1>Search</h1></div>
${formErrorNotice(error)}
${searchForm(await accountsOf(ctx), account, q, error)}
${found === undefined ? nothingAsked() : !(found instanceof Refusal) && showFound({ account, q }, found)}`,
  })
}

async function ask(ctx: ConsoleCtx, account: OwnAccount, q: string): Promise<SearchResults | Refusal> {
  try {
    return await ctx.callRoute<SearchResults>('searchAccount', { account, query: { q, limit: LIMIT } })
  } catch (error) {
    if (error instanceof Refusal && error.status === 400) return error
    throw error
  }
}

function searchForm(
  accounts: readonly OwnAccount[],
  account: OwnAccount,
  q: string,
  error: FormError | undefined,
): Html {
  const choices = accounts.map((account) => [account.slug, nameOf(account)] as const)
  return html`<form class="tools" action="/console/search" role="search" aria-label="Search an account">
<div>${field('q', 'Name, key, email or commit', { value: q, type: 'search', error, attributes: html` placeholder="Name, key, email or commit"${q === '' && html` autofocus`} data-search${PLAIN_TEXT}` })}</div>
<div>${select('in', 'In', choices, { value: account.slug })}</div>
<button class="btn">Search</button>
</form>`
}

function nothingAsked(): Html {
  return html`<div class="card empty"><h2>What are you looking for?</h2>
<p>Search projects, domains, variable keys, members, integrations and apps by a part of their name, and deployments by id, URL, branch or commit.</p>
<p class="soft small">Keyboard: press <kbd>/</kbd> or <kbd>Ctrl</kbd> <kbd>K</kbd> on any page. <kbd>?</kbd> lists all keys.</p></div>`
}

function showFound(of: Of, { results, more, partial }: SearchResults): Html {
  const groups = [...Map.groupBy(results, ({ kind }) => kind)]
  return html`${results.length === 0 && html`<p class="card empty">No results for “${of.q}” in ${of.account.slug}.</p>`}
${groups.map(([kind, some]) => group(of, kind, some, more.includes(kind)))}
${partial.length > 0 && note('info', html`This account has too many ${listOf(partial)} to search all of them. Find the others on the pages of their projects.`)}`
}

function group(of: Of, kind: Kind, results: readonly SearchResult[], hasMore: boolean): Html {
  const { words, to, more } = GROUPS[kind]
  const path = more?.(of)
  return html`<section class="card in stack"><h2>${words}</h2><ul class="rows">
${results.map((result) => html`<li><a href="${to(of.account, result)}">${result.title ?? result.name}</a>${aside(result)}</li>`)}
</ul>${
    hasMore &&
    html`<p class="soft small">${path === undefined ? 'More results exist. Type more of the name.' : html`<a href="${path}">More ${words.toLowerCase()}</a>`}</p>`
  }</section>`
}

/** Distinguishes results with the same name. */
function aside({ name, title, commitSha, email, project }: SearchResult): Html | undefined {
  const other = title !== undefined && title !== name && name
  const facts = [commitSha?.slice(0, SHORT_SHA), other, email, project && `in ${project.name}`].filter(Boolean)
  return facts.length === 0 ? undefined : html` <span class="soft small">${facts.join(' · ')}</span>`
}

function listOf(kinds: readonly Kind[]): string {
  return new Intl.ListFormat('en', { type: 'conjunction' }).format(
    kinds.map((kind) => GROUPS[kind].words.toLowerCase()),
  )
}
