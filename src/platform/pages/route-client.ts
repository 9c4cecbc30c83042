/**
 * The bridge from a page to the routes: a page asks a route as its person's token would, with the session in the place of the
 * token. So the same permissions, guards, limits, events and audit lines hold. docs/console.md: How it is built.
 */
import type { Deps, Params } from '../../context.ts'
import type { RefusalKey } from '../../errors.ts'
import type { Gates } from '../fairness/gate.ts'
import type { Peer } from '../http/failure-limits.ts'
import { handleRequest } from '../http/handle-request.ts'
import { bodyLimitOf, type Route, refusalsOf, routedPath } from '../http/route.ts'
import { ROLE_PERMISSIONS, ROLES } from '../permissions/roles.ts'
import { refuse } from '../refusals/refusal.ts'
import { findOwnAccountBySlug } from './own-accounts.ts'
import type { CallRoute, RouteCall, Screen, UserPageCtx } from './screen.ts'

/** Where people go from whom no page is asked. */
const HOME = '/console'

/** Who asks from where. `once`: of a form, by what it is known when it is sent twice. */
type Asker = { secret: string; userId: string; peer: Peer; once?: string | undefined }

export type RouteClient = {
  /** Makes what asks for one request of a page. `operations`: the routes that its page declares; another one is a bug and throws. */
  clientFor(asker: Asker, operations: readonly string[]): CallRoute
  /** What these routes refuse with: their page may refuse with it too. */
  refusalsOf(operations: readonly string[]): RefusalKey[]
  /**
   * Looks whether the role of the person lets them ask this route, in the account that the address names. Refuses: missing_permission 403
   * with the roles that may, not_found 404, second_factor_required 403.
   */
  mustBeAllowed(ctx: UserPageCtx, operation: string, params: Params): Promise<void>
  /** The page at this path, for everybody or for a person. */
  pageAt(path: string): Screen
  /** Where a person goes on who proves who they are on the way to a page or a form: a page that can be opened. `url`: as it was asked. */
  returnPath(screen: Screen, url: string): string
}

/** Opens the bridge over the routes. */
export function createRouteClient(
  deps: Deps,
  routes: readonly Route[],
  screens: readonly Screen[],
  gates: Gates,
): RouteClient {
  const byName = new Map(routes.map((route) => [route.operationId, route]))
  const pages = new Set(screens.filter(({ method }) => method === 'GET').map(({ path }) => path))
  return {
    returnPath: ({ path }, url) => nearestPage(pages, path, url),
    pageAt: (path) => screens.find((screen) => screen.method === 'GET' && screen.path === path)!,
    refusalsOf: (operations) => operations.flatMap((name) => refusalsOf(byName.get(name)!)),
    mustBeAllowed: (ctx, operation, params) => mustMayAsk(ctx, byName.get(operation)!, params),
    clientFor({ peer, ...session }, operations) {
      return async <A>(operationId: string, wish: RouteCall = {}) => {
        const route = byName.get(operationId)
        if (route === undefined || !operations.includes(operationId))
          throw new Error(`a page asks ${operationId}, which it does not declare`)
        const { body, contentType } = await handleRequest(deps, route, {
          ...writeWish(route, wish),
          headers: [],
          session,
          peer,
          gates,
        })
        if (body === undefined) return undefined as A
        const text = body.toString()
        return (route.textReply || contentType !== undefined ? text : JSON.parse(text)) as A
      }
    },
  }
}

async function mustMayAsk(ctx: UserPageCtx, { needs = [] }: Route, { slug }: Params): Promise<void> {
  if (slug === undefined) return
  const { role } = await findOwnAccountBySlug(ctx, slug)
  const able = ROLES.filter((one) => needs.every((permission) => ROLE_PERMISSIONS[one].includes(permission)))
  if (able.includes(role)) return
  refuse('missing_permission', `Your role here is ${role}, which may not do this. These roles may: ${able.join(', ')}.`)
}

/** The page at the address of a form, which shows it; where there is none the nearest one above it. `pages`: their paths. */
function nearestPage(pages: ReadonlySet<string>, path: string, url: string): string {
  if (pages.has(path)) return url
  const asked = url.replace(/[?#].*$/s, '').split('/')
  const parts = path.split('/')
  if (asked.length !== parts.length) return HOME
  const length = parts.findLastIndex((_, at) => pages.has(parts.slice(0, at).join('/')))
  return length > 1 ? asked.slice(0, length).join('/') : HOME
}

/** The wish as a request says it. */
function writeWish(route: Route, { account, params = {}, query = {}, body }: RouteCall) {
  const path = routedPath(route).replaceAll(/:(\w+)/g, (_, name: string) => encodeURIComponent(params[name]!))
  const pairs = Object.entries({ ...query, teamId: account?.id }).filter(
    (pair): pair is [string, string] => pair[1] !== undefined,
  )
  const search = new URLSearchParams(pairs).toString()
  const sent = body === undefined ? undefined : Buffer.from(route.textBody ? String(body) : JSON.stringify(body))
  // A form may be longer than what it says, so the listener has not refused this yet.
  if ((sent?.length ?? 0) > bodyLimitOf(route)) refuse('payload_too_large')
  return {
    url: search === '' ? path : `${path}?${search}`,
    params,
    contentType: body === undefined ? undefined : route.textBody ? 'text/plain' : 'application/json',
    body: sent,
  }
}
