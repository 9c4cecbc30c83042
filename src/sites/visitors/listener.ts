/** The visitors' listener with its limits for requests and connections. docs/deploying-sites.md: Sites server. */

import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Deps } from '../../context.ts'
import { countConnection } from '../../platform/base/event-loop.ts'
import { respondToParseError } from '../../platform/http/error-handler.ts'
import { createRequestIds } from '../../platform/http/request-metrics.ts'
import { takeTlsOnLaptop } from '../../platform/server/both-protocols.ts'
import { boundConnections, listenAt } from '../../platform/server/connections.ts'
import { drainServer } from '../../platform/server/graceful-shutdown.ts'
import { HTTP_LIMITS } from '../../platform/server/http-limits.ts'
import { answerOneAtATime } from '../../platform/server/one-at-a-time.ts'
import { LAPTOP_SUFFIX } from '../../platform/settings/domains.ts'
import { isTlsError, readPair, secureOptions, watchCertificate } from '../../platform/tls/tls.ts'
import { createUnnamedProxies, watchProxies } from '../../platform/tls/unnamed-proxies.ts'
import { READERS } from '../../readers.ts'
import { CountedResponse } from '../usage/counted-response.ts'
import { keepOwnCookies } from './bypass-cookie.ts'
import { keepCookiesApart } from './cookies.ts'
import { waitsForContinue } from './send.ts'

export type Answering = (request: IncomingMessage, response: CountedResponse) => Promise<void>

export type Listener = {
  /** Listens and returns the URL. Throws system errors. */
  listen(host: string, port: number): Promise<string>
  /** Accepts no new connections and resolves when all requests are answered. */
  close(graceMs: number, whenClosed: () => Promise<void>): Promise<void>
}

/** Proxies in front close first. */
const KEEP_ALIVE_MS = 65_000
const REQUEST_MS = 60_000

/** Opens the listener: plain HTTP and TLS on one port on a local machine, otherwise as configured. Throws BadSetting. */
export function openListener(deps: Pick<Deps, 'config' | 'log' | 'shutdownSignal'>, answer: Answering): Listener {
  const { config, log } = deps
  const server = openServer(deps)
  const nextId = createRequestIds()
  const suffix = config.domains.platformSuffix ?? LAPTOP_SUFFIX
  const isTold = log.isLevelEnabled('debug')
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    waitsForContinue(request)
    server.emit('request', request, response)
  })
  server.on('checkExpectation', (request, response) => server.emit('request', request, response))
  server.on('request', (request: IncomingMessage, response: CountedResponse) => {
    keepOwnCookies(response)
    keepCookiesApart(response, suffix)
    if (deps.shutdownSignal.aborted) response.setHeader('connection', 'close')
    if (isTold) tellOf(log, request, response)
    void answer(request, response)
  })
  answerOneAtATime(server)
  watchProxies(server, createUnnamedProxies(config.connections, log))
  if (config.tls === undefined) takeTlsOnLaptop(server, deps)
  const endsOnceAnswered = boundConnections(server, config.connections)
  server.on('connection', countConnection)
  server.on('clientError', (error, socket) => {
    if (isTlsError(error)) return void socket.destroy()
    if (endsOnceAnswered(socket as Parameters<typeof endsOnceAnswered>[0])) return
    respondToParseError(error, socket as Parameters<typeof respondToParseError>[1], nextId())
  })
  return {
    listen: (host, port) => listenAt(server, host, port, config.tls === undefined ? 'http' : 'https'),
    close: (graceMs, whenClosed) => drainServer({ server, close: async () => {} }, { graceMs }, whenClosed),
  }
}

/** Not imported: operations/edge/listener.ts explains why. */
function openServer({ config, log, shutdownSignal }: Pick<Deps, 'config' | 'log' | 'shutdownSignal'>): Server {
  const times = { keepAliveTimeout: KEEP_ALIVE_MS, requestTimeout: REQUEST_MS }
  const options = { ...HTTP_LIMITS, ...times, ServerResponse: CountedResponse }
  const pair = config.tls && readPair(config.tls)
  const server =
    pair === undefined
      ? process.getBuiltinModule('node:http').createServer(options)
      : process.getBuiltinModule('node:https').createServer({ ...options, ...secureOptions(pair) })
  if (pair !== undefined)
    watchCertificate(server as Parameters<typeof watchCertificate>[0], { log, shutdownSignal }, config.tls!, pair)
  server.maxHeadersCount = READERS.headers.parts
  return server
}

/** Logs a request without its query, which may contain secrets. */
function tellOf(log: Deps['log'], request: IncomingMessage, response: ServerResponse): void {
  const began = performance.now()
  response.once('close', () => {
    const { method, url = '', headers } = request
    const path = url.split('?', 1)[0]!.slice(0, 500)
    const ms = performance.now() - began
    log.debug({ method, host: headers.host?.slice(0, 260), path, status: response.statusCode, ms }, 'answered')
  })
}
