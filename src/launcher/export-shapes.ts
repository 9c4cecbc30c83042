/** The forms that a function may have. docs/functions.md: Forms. */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { LauncherOptions } from './protocol.ts'
import { addHelpers } from './request-properties.ts'
import { answerByWeb, isResponse, sendWeb, type WebHandler } from './web.ts'

export type Handler = (request: IncomingMessage, response: ServerResponse) => unknown

/** `exported`: the default export where there is one, else all exports. `listening`: the server on which `listen` was called. */
export type Loaded = { exported: unknown; listening: Server | undefined }

const METHODS = ['GET', 'HEAD', 'OPTIONS', 'POST', 'PUT', 'DELETE', 'PATCH'] as const

type Exports = Record<string, unknown> & { fetch?: WebHandler; listen?: (port: number) => unknown }

/** `name`: for the tests and the page. `make`: undefined where the module has another form. */
type Shape = { name: string; make(exports: Exports, loaded: Loaded, options: LauncherOptions): Handler | undefined }

/** TABLE forms, the first that fits counts. */
export const SHAPES: readonly Shape[] = [
  {
    name: 'an object with `fetch`',
    make: (exports, _, options) =>
      isCallable(exports.fetch) ? byWeb(exports.fetch.bind(exports), options) : undefined,
  },
  {
    name: 'functions named by method',
    make: (exports) => (METHODS.some((method) => isCallable(exports[method])) ? byMethod(exports) : undefined),
  },
  {
    name: 'a default function of the web',
    make: (_, { exported }, options) =>
      isCallable(exported) && (isOfTheWeb(options) || takesOneArgument(exported))
        ? byWeb(exported as WebHandler, options)
        : undefined,
  },
  {
    name: 'a default function `(req, res)`',
    make: (exports, { exported }, { helpers }) =>
      isCallable(exported) ? byNode(exported as Handler, helpers && !isCallable(exports.listen)) : undefined,
  },
  {
    name: 'a server',
    make: (_, { exported }) => (isServer(exported) ? byServer(exported) : undefined),
  },
  {
    name: 'a module that calls `listen`',
    make: (_, { listening }) => (listening === undefined ? undefined : byServer(listening)),
  },
]

function isCallable(value: unknown): value is (...words: never[]) => unknown {
  return typeof value === 'function'
}

/** A function `(req)` could send nothing. One with `(...words)` has the length 0. */
function takesOneArgument(handler: { length: number }): boolean {
  return handler.length === 1
}

function isServer(value: unknown): value is Server {
  return value instanceof process.getBuiltinModule('node:http').Server
}

function isOfTheWeb({ webApi, edge, middleware }: LauncherOptions): boolean {
  return webApi || edge || middleware
}

function byWeb(handler: WebHandler, { middleware }: LauncherOptions): Handler {
  const answering: WebHandler = middleware ? async (...parameters) => (await handler(...parameters)) ?? goOn() : handler
  return (request, response) => answerByWeb(answering, request, response)
}

/** A middleware that returns nothing lets the request pass. */
function goOn(): Response {
  return new Response(null, { headers: { 'x-middleware-next': '1' } })
}

function byMethod(exports: Exports): Handler {
  const handlerOf = (method: string) => (isCallable(exports[method]) ? (exports[method] as WebHandler) : undefined)
  return (request, response) => {
    const { method = 'GET' } = request
    const handler = handlerOf(method) ?? (method === 'HEAD' ? handlerOf('GET') : undefined)
    if (handler !== undefined) return answerByWeb(handler, request, response)
    const allow = METHODS.filter((name) => handlerOf(name) !== undefined).join(', ')
    return response.writeHead(405, { allow }).end()
  }
}

function byNode(handler: Handler, helpers: boolean): Handler {
  return async (request, response) => {
    if (helpers) await addHelpers(request, response)
    const answer = await handler(request, response)
    if (!response.headersSent && isResponse(answer)) await sendWeb(answer, request, response)
  }
}

function byServer(server: Server): Handler {
  return (request, response) => void server.emit('request', request, response)
}
