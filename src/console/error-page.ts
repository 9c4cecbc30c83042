/** Pages for errors 403 and 404, within the navigation of the nearest accessible place. docs/console.md: URLs. */
import type { Params } from '../context.ts'
import { errorPage, type Page } from '../platform/pages/frame.ts'
import { html } from '../platform/pages/html.ts'
import type { OwnAccount } from '../platform/pages/own-accounts.ts'
import { type FailedRequest, type Screen, screen, type UserPageCtx } from '../platform/pages/screen.ts'
import { Refusal, refuse } from '../platform/refusals/refusal.ts'
import { type ConsoleLocation, canInAccount, consolePage, findAccountOfPath, tabsOf } from './frame.ts'
import { OPERATOR } from './operator/frame.ts'

const BELOW = '/console/*'

/** Page for unknown paths below /console. Not in the table of screens: the server shows it if no screen matches. */
export const NOT_FOUND_SCREEN: Screen = {
  ...screen({
    method: 'GET',
    path: BELOW,
    name: 'showNothing',
    run: () => refuse('not_found'),
  }),
  renderErrorPage: consoleErrorPage,
}

/** `rest`: the path after the place. */
type Found = { place: ConsoleLocation; rest: string }

/** Renders an error in the place that the path names, as far as the user can see it. Missing and inaccessible resources look the same. */
export async function consoleErrorPage(
  ctx: UserPageCtx,
  { path, params, url }: FailedRequest,
  refusal: Refusal,
): Promise<Page> {
  const found = path === BELOW ? await findPlaceAt(ctx, url) : await findPlace(ctx, path, params)
  if (found === undefined) return consolePage(ctx, undefined, errorPage(refusal))
  const { place, rest } = found
  const { table, to } = tabsOf(place)
  const own = table.find(([end]) => end !== '' && (rest === end || rest.startsWith(`${end}/`)))
  const next = own ?? table[0]
  const way = next && html`<a class="btn primary" href="${to(next[0])}">Go to ${next[1]}</a>`
  return consolePage(ctx, { ...place, tab: own?.[0] ?? '' }, errorPage(refusal, way))
}

async function findPlace(ctx: UserPageCtx, path: string, params: Params): Promise<Found | undefined> {
  const [, part, rest = ''] = /^\/console\/(account|operator|t\/:slug)(?:\/(.*))?$/.exec(path) ?? []
  if (part === 'account') return { place: { person: true, tab: '' }, rest }
  if (part === 'operator') return ctx.user.isOperator ? { place: { tabs: OPERATOR, tab: '' }, rest } : undefined
  const account = part === undefined ? undefined : await findAccount(ctx, params)
  if (account === undefined) return undefined
  const project = rest.startsWith('projects/:name') ? await findProjectName(ctx, account, params.name!) : undefined
  if (project === undefined) return { place: { account, tab: '' }, rest }
  return { place: { account, project, tab: '' }, rest: rest.split('/').slice(2).join('/') }
}

/** For paths without a screen. */
function findPlaceAt(ctx: UserPageCtx, url: string): Promise<Found | undefined> {
  const path = url.split(/[?#]/, 1)[0]!
  const [, slug = '', name = '', rest = ''] = /^\/console\/t\/([^/]+)(?:\/projects\/([^/]+))?(.*)/s.exec(path) ?? []
  if (slug === '') return findPlace(ctx, path, {})
  return findPlace(ctx, `/console/t/:slug${name === '' ? '' : '/projects/:name'}${rest}`, { slug, name })
}

async function findAccount(ctx: UserPageCtx, params: Params): Promise<OwnAccount | undefined> {
  try {
    return await findAccountOfPath(ctx, params)
  } catch (error) {
    if (error instanceof Refusal) return undefined
    throw error
  }
}

async function findProjectName({ db }: UserPageCtx, account: OwnAccount, name: string): Promise<string | undefined> {
  if (!canInAccount(account, 'project:read')) return undefined
  const row = await db
    .selectFrom('project')
    .select('name')
    .where('account_id', '=', account.id)
    .where((query) => query.or([query('name', '=', name), query('id', '=', name)]))
    .executeTakeFirst()
  return row?.name
}
