/**
 * Route calls of pages: a page calls a route with the session in place of a token. So permissions, guards, limits, events and audit entries are the
 * same. docs/console.md: Implementation.
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

const HOME = '/console'

/** `once`: submission id of a form, to detect duplicates. */
type Asker = { secret: string; userId: string; peer: Peer; once?: string | undefined }

export type RouteClient = {
  /** Creates the client of one page request. `operations`: routes that its page declares; another one is a bug and throws. */
  clientFor(asker: Asker, operations: readonly string[]): CallRoute
  /** Returns the errors of these routes, which their page can return too. */
  refusalsOf(operations: readonly string[]): RefusalKey[]
  /**
   * Checks whether the role of the user allows this route, in the account of the URL. Refuses: missing_permission 403 with the roles that may,
   * not_found 404, second_factor_required 403.
   */
  mustBeAllowed(ctx: UserPageCtx, operation: string, params: Params): Promise<void>
  /** Returns the page at this path, public or not. */
  pageAt(path: string): Screen
  /** Returns where to continue after reauthentication for a page or form: a page that can be opened. `url`: of the request. */
  returnPath(screen: Screen, url: string): string
}

/** Creates the client over the routes. */
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
    mustBeAllowed: (ctx, operation, params) => mustBeAllowed(ctx, byName.get(operation)!, params),
    clientFor({ peer, once, ...asker }, operations) {
      return async <A>(operationId: string, call: RouteCall = {}) => {
        const route = byName.get(operationId)
        if (route === undefined || !operations.includes(operationId))
          throw new Error(`a page calls ${operationId}, which it does not declare`)
        const session = { ...asker, once: once && once + (call.item ?? '') }
        const { body, contentType } = await handleRequest(deps, route, {
          ...writeCall(route, call),
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

async function mustBeAllowed(ctx: UserPageCtx, { needs = [] }: Route, { slug }: Params): Promise<void> {
  if (slug === undefined) return
  const { role } = await findOwnAccountBySlug(ctx, slug)
  const able = ROLES.filter((role) => needs.every((permission) => ROLE_PERMISSIONS[role].includes(permission)))
  if (able.includes(role)) return
  refuse('missing_permission', `Your role here is ${role}, which cannot do this. These roles can: ${able.join(', ')}.`)
}

/** Returns the page at the URL of a form, or the nearest one above it. `pages`: their paths. */
function nearestPage(pages: ReadonlySet<string>, path: string, url: string): string {
  if (pages.has(path)) return url
  const segments = url.split(/[?#]/, 1)[0]!.split('/')
  const parts = path.split('/')
  if (segments.length !== parts.length) return HOME
  const length = parts.findLastIndex((_, at) => pages.has(parts.slice(0, at).join('/')))
  return length > 1 ? segments.slice(0, length).join('/') : HOME
}

function writeCall(route: Route, { account, params = {}, query = {}, body }: RouteCall) {
  const path = routedPath(route).replaceAll(/:(\w+)/g, (_, name: string) => encodeURIComponent(params[name]!))
  const pairs = Object.entries({ ...query, teamId: account?.id }).filter(
    (pair): pair is [string, string] => pair[1] !== undefined,
  )
  const search = new URLSearchParams(pairs).toString()
  const sent = body === undefined ? undefined : Buffer.from(route.textBody ? String(body) : JSON.stringify(body))
  // A form may be longer than the body, so the listener has not checked this yet.
  if ((sent?.length ?? 0) > bodyLimitOf(route)) refuse('payload_too_large')
  return {
    url: search === '' ? path : `${path}?${search}`,
    params,
    contentType: body === undefined ? undefined : route.textBody ? 'text/plain' : 'application/json',
    body: sent,
  }
}
