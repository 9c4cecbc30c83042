/** The HTTP server: routes, pages and errors. The only file that imports fastify. */
import { Readable } from 'node:stream'
import Fastify, { type FastifyError, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import type { Deps, Params } from '../../context.ts'
import { READERS } from '../../readers.ts'
import { countConnection } from '../base/event-loop.ts'
import { headersOf, renderRefusal, respondToParseError, toRefusal } from '../http/error-handler.ts'
import { peerOf } from '../http/failure-limits.ts'
import { handleRequest } from '../http/handle-request.ts'
import type { Probe, PublicPage } from '../http/public-page.ts'
import { createRequestIds, createRequestMetrics, type OperationMetrics, traceOf } from '../http/request-metrics.ts'
import { bodyLimitOf, type Route, refusalsOf, routedPath, unversionedUrl } from '../http/route.ts'
import { createRouteClient, type RouteClient } from '../pages/route-client.ts'
import type { Screen } from '../pages/screen.ts'
import { Refusal } from '../refusals/refusal.ts'
import { HSTS, isTlsError, readPair, secureOptions, watchCertificate } from '../tls/tls.ts'
import { AS_IT_COMES, canTakeLonger, fileOf, IN_TURN, longBodyOf, readBodies } from './bodies.ts'
import { takeTlsOnLaptop } from './both-protocols.ts'
import { boundConnections } from './connections.ts'
import { HTTP_LIMITS } from './http-limits.ts'
import { answerOneAtATime } from './one-at-a-time.ts'
import { acceptsHtml, createPageHandler, openPageAnswer } from './page-handler.ts'
import { beginStream, createResponses, type Responses } from './responses.ts'
import { pathNotFound, rejectPathVariants, STRICT_PATH } from './strict-paths.ts'
import { unsupportedRoutes } from './unsupported-routes.ts'

/** Responds to an error before an operation was reached. */
type Refuse = (error: Error, request: FastifyRequest, reply: FastifyReply) => FastifyReply

export type NewServer = typeof Fastify

/** Builds the server. `nowhere`: the not-found page of browsers, below the `/…/*` of its path. `close()` waits for requests in flight. */
export function serve(
  deps: Deps,
  routes: readonly Route[],
  pages: readonly (PublicPage | Probe)[],
  screens: readonly Screen[],
  nowhere: Screen,
  newServer: NewServer = Fastify,
): FastifyInstance {
  const watch = createRequestMetrics(deps)
  const unreached = watch('unreached')
  const answers = createResponses(deps)
  const refuseUnreached: Refuse = (error, request, reply) => {
    const { status, key: refusal } = sendError(deps, error, request, reply)
    unreached.end(request, { status, refusal })
    return reply
  }
  const bridge = createRouteClient(deps, routes, screens, answers.gates)
  const showNowhere = createPageHandler(deps, bridge, nowhere, watch(nowhere.name))
  const refuseNowhere: Refuse = (error, request, reply) => {
    if (!acceptsHtml(request, nowhere)) return refuseUnreached(error, request, reply)
    showNowhere(request, reply).catch((fault) => refuseUnreached(fault, request, reply))
    return reply
  }
  const app = openServer(deps, unreached, refuseUnreached, newServer)
  app.setNotFoundHandler((request, reply) => refuseNowhere(pathNotFound(request), request, reply))
  carryBodies(app, deps, answers)
  for (const page of pages) addPage(app, deps, page, watch(page.path.slice(1) || 'welcome'))
  for (const route of routes) addRoute(app, deps, route, watch(route.operationId), answers)
  for (const screen of screens) addScreen(app, deps, bridge, screen, watch(screen.name))
  refuseNotServed(app, refuseNowhere, [
    ...routes.map((route) => ({ method: route.method, url: routedPath(route) })),
    ...pages.map((page) => ({ method: 'GET' as const, url: page.path })),
    ...screens.map((screen) => ({ method: screen.method, url: screen.path })),
  ])
  return app
}

function carryBodies(app: FastifyInstance, deps: Deps, answers: Responses): void {
  const endBody = readBodies(app)
  app.addHook('onSend', (request, reply, payload, done) => {
    endBody(request, reply)
    reply.headers(onEvery(request))
    if (deps.config.tls && deps.config.publicUrl) reply.header('strict-transport-security', HSTS)
    // Keep-alive clients disconnect, so that the close does not wait for them.
    if (deps.shutdownSignal.aborted) reply.header('connection', 'close')
    if (payload instanceof Readable) setImmediate(beginStream, request, reply, payload)
    done(null, payload instanceof Readable ? payload : answers.track(request, reply, payload as string | Buffer | null))
  })
}

function onEvery({ id }: FastifyRequest): Record<string, string> {
  return { 'x-content-type-options': 'nosniff', 'x-request-id': id }
}

/** Creates a server with its parsers and error responses, without routes. */
function openServer(deps: Deps, unreached: OperationMetrics, refuse: Refuse, newServer: NewServer): FastifyInstance {
  const nextId = createRequestIds()
  const pair = deps.config.tls && readPair(deps.config.tls)
  const app = newServer({
    requestIdHeader: false,
    genReqId: nextId,
    bodyLimit: READERS['JSON body'].bytes,
    requestTimeout: 15_000,
    http: HTTP_LIMITS,
    // Typed as absent, because the https option would change the type of the server.
    ...(pair && { https: { ...HTTP_LIMITS, ...secureOptions(pair) } as unknown as null }),
    return503OnClosing: false,
    rewriteUrl: (request) => unversionedUrl(request.url!),
    routerOptions: {
      ignoreTrailingSlash: true,
      // The operation checks names, after authentication.
      maxParamLength: READERS.path.bytes,
      // The handler parses the query, strictly and after authentication.
      querystringParser: () => ({}),
    },
    // These errors skip the onSend hook.
    frameworkErrors: (error, request, reply) => refuse(error, request, reply.headers(onEvery(request))),
    clientErrorHandler(error, socket) {
      if (canTakeLonger(error, socket)) return
      if (isTlsError(error)) return void socket.destroy()
      if (endsOnceAnswered(socket)) return
      const id = nextId()
      const status = respondToParseError(error, socket, id)
      if (status !== undefined) unreached.end({ id, method: '', raw: { rawHeaders: [] } }, { status })
    },
  })
  app.server.maxHeadersCount = READERS.headers.parts
  answerOneAtATime(app.server)
  takeTlsOnLaptop(app.server, deps)
  const endsOnceAnswered = boundConnections(app.server, deps.config.connections)
  app.server.on('connection', countConnection)
  // Unknown expectations are ignored (RFC 9110 10.1.1: 417 is a MAY), so that every response is made here.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response))
  app.setErrorHandler<FastifyError>(refuse)
  rejectPathVariants(app)
  if (pair !== undefined)
    watchCertificate(app.server as Parameters<typeof watchCertificate>[0], deps, deps.config.tls!, pair)
  return app
}

function addPage(app: FastifyInstance, deps: Deps, page: PublicPage | Probe, watch: OperationMetrics): void {
  const answer = async (request: FastifyRequest, reply: FastifyReply) => {
    const since = watch.begin()
    try {
      const answer = await openPageAnswer(deps, page, request)
      if ('answer' in page) reply.header('cache-control', 'no-store')
      watch.end(request, { since, status: answer.status })
      return reply
        .code(answer.status)
        .headers({ 'content-type': page.contentType, ...answer.headers })
        .send(answer.body)
    } catch (error) {
      const { status, key: refusal } = sendError(deps, error as Error, request, reply)
      watch.end(request, { since, status, refusal })
      return reply
    }
  }
  app.get(page.path, { config: 'answer' in page ? STRICT_PATH : {} }, watch.withSpan(page.path, answer))
}

function addRoute(app: FastifyInstance, deps: Deps, route: Route, watch: OperationMetrics, answers: Responses): void {
  const declared = new Set(refusalsOf(route))
  app.route({
    method: route.method,
    url: routedPath(route),
    config: { ...(route.auth === 'operator' && STRICT_PATH), ...(route.fileBody ? AS_IT_COMES : IN_TURN) },
    bodyLimit: bodyLimitOf(route),
    handler: watch.withSpan(route.path, async (request: FastifyRequest, reply: FastifyReply) => {
      const since = watch.begin()
      // Errors too: the request contains a secret.
      if (route.noStore) reply.header('cache-control', 'no-store')
      try {
        const {
          links,
          contentType = route.textReply ? 'text/plain' : 'application/json',
          owner,
          body,
          stream,
          status = route.status,
          headers,
        } = await handleRequest(deps, route, {
          url: request.originalUrl,
          headers: request.raw.rawHeaders,
          contentType: request.headers['content-type'],
          params: request.params as Params,
          body: request.body as Buffer | undefined,
          longBody: longBodyOf(request),
          ...(route.fileBody && { file: fileOf(request) }),
          peer: peerOf(deps, request.raw),
          gates: answers.gates,
        })
        answers.setOwner(request, owner)
        watch.end(request, { since, status })
        reply.code(status)
        if (headers) reply.headers(headers)
        if (links) reply.header('link', links)
        if (body === undefined && stream === undefined) return reply.send()
        return reply.type(`${contentType}; charset=utf-8`).send(stream ?? body)
      } catch (error) {
        if (error instanceof Refusal && !declared.has(error.key)) {
          const named = { operationId: route.operationId, refusal: error.key }
          deps.log.error(named, 'the route does not declare this refusal')
        }
        const { status, key: refusal } = sendError(deps, error as Error, request, reply)
        watch.end(request, { since, status, refusal })
        return reply
      }
    }),
  })
}

/** Adds a page. Its errors are pages too. */
function addScreen(
  app: FastifyInstance,
  deps: Deps,
  bridge: RouteClient,
  screen: Screen,
  watch: OperationMetrics,
): void {
  const answer = createPageHandler(deps, bridge, screen, watch)
  app.route({
    method: screen.method,
    url: screen.path,
    // A form byte takes up to three when escaped. Fits the largest route, and a sign-in with a saved form (platform/pages/saved-form.ts).
    bodyLimit: screen.bodyLimit ?? READERS.form.bytes,
    handler: watch.withSpan(screen.path, (request: FastifyRequest, reply: FastifyReply) => answer(request, reply)),
    errorHandler: (error, request, reply) => answer(request, reply, error as Error),
  })
}

function refuseNotServed(app: FastifyInstance, refuse: Refuse, served: Parameters<typeof unsupportedRoutes>[0]): void {
  const { routes, find } = unsupportedRoutes(served)
  const answer = ({ allow, refusal }: (typeof routes)[number], request: FastifyRequest, reply: FastifyReply) => {
    if (allow !== undefined) reply.header('allow', allow)
    refuse(refusal(), request, reply)
  }
  app.addHook('onRequest', (request, reply, done) => {
    const found = request.is404 ? find(request.method, request.raw.url!) : undefined
    if (found) answer(found, request, reply)
    else done()
  })
  for (const route of routes) {
    const { method, url } = route
    const onRequest = (request: FastifyRequest, reply: FastifyReply) => answer(route, request, reply)
    app.route({ method, url, exposeHeadRoute: false, onRequest, handler: () => undefined })
  }
}

/** Sends an error as a refusal, mapped by the table, or as a bare 500. Returns the refusal. */
function sendError(deps: Deps, error: Error, request: FastifyRequest, reply: FastifyReply): Refusal {
  const at = { requestId: request.id, ...traceOf(request), method: request.method, path: request.routeOptions?.url }
  const refusal = toRefusal(deps, error, at)
  reply.headers(headersOf(refusal))
  const { contentType, body } = renderRefusal(refusal, request.headers.accept)
  reply.code(refusal.status).type(contentType).send(body)
  return refusal
}
