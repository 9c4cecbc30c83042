/** HTTP: routes, pages and screens on a server, and what goes wrong on it. The only file that knows fastify. */
import Fastify, { type FastifyError, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import type { Deps } from '../context.ts'
import { Refusal } from '../refusal.ts'
import { answerRequest } from './answer.ts'
import { answerBrowser } from './browser.ts'
import { answerUnreadable, refusalToTell, showRefusal } from './faults.ts'
import { type Params, type Route, refusalsOf, unversioned, withoutVersion } from './route.ts'
import type { Screen } from './screen.ts'

/** A page or document that is not part of the API: no token, no version, no transaction. */
export type OpenPage = { path: string; contentType: string; body: () => string }

const BODY_LIMIT = 64 * 1024
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'] as const

/** Builds the server over the routes. `close()` stops accepting, lets requests in flight finish and then resolves. */
export function serve(
  deps: Deps,
  routes: readonly Route[],
  pages: readonly OpenPage[],
  screens: readonly Screen[],
): FastifyInstance {
  const app = Fastify({
    requestIdHeader: false,
    bodyLimit: BODY_LIMIT,
    requestTimeout: 15_000,
    http: { headersTimeout: 10_000, connectionsCheckingInterval: 1000 },
    return503OnClosing: false,
    rewriteUrl: (request) => withoutVersion(request.url!),
    routerOptions: {
      ignoreTrailingSlash: true,
      // As long as a request line may be: what a name may be is for the operation to say, once the caller is known.
      maxParamLength: 16_384,
      // The handler reads the query itself, strictly and only once the caller is known.
      querystringParser: () => ({}),
    },
    frameworkErrors: (error, request, reply) => sendError(deps, error, request, reply),
    clientErrorHandler: answerUnreadable,
  })
  // The handler parses: a stranger with a bad body gets 401, not 400.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
  app.setErrorHandler((error: FastifyError, request, reply) => sendError(deps, error, request, reply))
  app.setNotFoundHandler((request, reply) => {
    const path = request.originalUrl.split('?', 1)[0]!.slice(0, 200)
    return sendError(deps, new Refusal('not_found', `There is nothing at ${path}.`, {}), request, reply)
  })
  app.addHook('onSend', (_request, reply, payload, done) => {
    reply.header('x-content-type-options', 'nosniff')
    // Keep-alive clients let go, and the close does not wait for them.
    if (deps.stopping.aborted) reply.header('connection', 'close')
    done(null, payload)
  })

  for (const page of pages) app.get(page.path, (_request, reply) => reply.type(page.contentType).send(page.body()))
  for (const route of routes) addRoute(app, deps, route)
  for (const screen of screens) addScreen(app, deps, screen)
  refuseOtherMethods(app, deps, [
    ...routes.map((route) => ({ method: route.method, url: routed(route) })),
    ...pages.map((page) => ({ method: 'GET' as const, url: page.path })),
    ...screens.map((screen) => ({ method: screen.method, url: screen.path })),
  ])
  return app
}

function addRoute(app: FastifyInstance, deps: Deps, route: Route): void {
  const declared = new Set(refusalsOf(route))
  app.route({
    method: route.method,
    url: routed(route),
    bodyLimit: route.bodyLimit ?? BODY_LIMIT,
    handler: async (request, reply) => {
      // Refusals too: what is asked there holds a secret.
      if (route.noStore) reply.header('cache-control', 'no-store')
      try {
        const { links, body } = await answerRequest(deps, route, {
          url: request.originalUrl,
          headers: request.raw.rawHeaders,
          contentType: request.headers['content-type'],
          params: request.params as Params,
          body: request.body as Buffer | undefined,
        })
        reply.code(route.status)
        if (links) reply.header('link', links)
        if (body === undefined) return reply.send()
        return reply.type(`${route.textReply ? 'text/plain' : 'application/json'}; charset=utf-8`).send(body)
      } catch (error) {
        if (error instanceof Refusal && !declared.has(error.key)) {
          deps.log.error(
            { operationId: route.operationId, refusal: error.key },
            'the route does not declare this refusal',
          )
        }
        throw error
      }
    },
  })
}

/** A page for people: what goes wrong with it is a page too. */
function addScreen(app: FastifyInstance, deps: Deps, screen: Screen): void {
  const answer = async (request: FastifyRequest, reply: FastifyReply, error?: Error) => {
    const { status, headers, body } = await answerBrowser(deps, screen, request, error)
    return reply.code(status).headers(headers).send(body)
  }
  app.route({
    method: screen.method,
    url: screen.path,
    handler: (request, reply) => answer(request, reply),
    errorHandler: (error, request, reply) => answer(request, reply, error as Error),
  })
}

function routed(route: Route): string {
  return route.door === 'operator' ? route.path : unversioned(route.path)
}

/** Every path answers 405 with `Allow` to the methods it does not take. */
function refuseOtherMethods(
  app: FastifyInstance,
  deps: Deps,
  served: { method: Route['method']; url: string }[],
): void {
  for (const url of new Set(served.map((one) => one.url))) {
    const taken: string[] = served.filter((one) => one.url === url).map((one) => one.method)
    // The server framework answers HEAD wherever there is a GET.
    if (taken.includes('GET')) taken.push('HEAD')
    const method = METHODS.filter((other) => !taken.includes(other))
    if (method.length === 0) continue
    app.route({
      method,
      url,
      exposeHeadRoute: false,
      onRequest: async (request, reply) => {
        reply.header('allow', taken.join(', '))
        const message = `${request.method} is not a method of this path; it takes ${taken.join(', ')}.`
        await sendError(deps, new Refusal('method_unknown', message, {}), request, reply)
      },
      handler: () => undefined,
    })
  }
}

/** Answers a refusal as it says, a fault of the request as the table says, and anything else as a bare 500. */
function sendError(deps: Deps, error: Error, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const at = { requestId: request.id, method: request.method, path: request.routeOptions?.url }
  const refusal = refusalToTell(deps, error, at)
  if (refusal.status === 503) reply.header('retry-after', '1')
  if (refusal.key === 'invalid_client') reply.header('www-authenticate', 'Basic realm="berth"')
  const { contentType, body } = showRefusal(refusal, request.headers.accept)
  return reply.code(refusal.status).type(contentType).send(body)
}
