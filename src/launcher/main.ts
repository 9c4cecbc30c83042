/** Runs one function inside its sandbox. docs/functions.md: Launcher. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { openCacheClient } from './cache-client.ts'
import { dial, openChannel } from './channel.ts'
import { createDataCache, installFetchCache, runtimeCacheOf, watchRenewals } from './data-cache.ts'
import type { Handler } from './export-shapes.ts'
import { type Fault, FunctionFault, textOfError } from './faults.ts'
import { loadFunction } from './load.ts'
import { markOutput } from './output.ts'
import { FAULT_HEADER, type LauncherOptions } from './protocol.ts'
import { currentContext, installContext, withContext } from './request-context.ts'
import { BadBody } from './request-properties.ts'
import { watchFetch } from './web.ts'

/** The exit code after an error that nothing of the function caught, as of Node.js. */
const UNCAUGHT = 1

await launch(JSON.parse(process.argv[2]!) as LauncherOptions)

async function launch(options: LauncherOptions): Promise<void> {
  process.argv.splice(1, process.argv.length - 1, `${options.folder}/${options.entrypoint}`)
  // NODE_OPTIONS of the project may have switched them on.
  if (options.sourceMaps) process.setSourceMapsEnabled(true)
  const channel = await openChannel(options.socket)
  const log = markOutput()
  const onError = (error: unknown) => log(textOfError(error))
  const cache = createDataCache(openCacheClient(options.cache), log)
  installFetchCache(cache)
  watchFetch()
  // By connections of its own: the page that is rendered may wait for the cache.
  watchRenewals(openCacheClient(options.cache))
  const pending = (count: number) => channel.send({ kind: 'pending', count })
  const context = installContext(pending, onError, runtimeCacheOf(cache))
  const handler = await loadFunction(options).catch((error) => {
    const { fault, cause } = error as FunctionFault
    log(cause === undefined ? (error as Error).message : textOfError(cause))
    channel.send({ kind: 'fault', fault, message: (error as Error).message })
    return undefined
  })
  // The sites server ends it once it has read the error. The channel keeps it until then.
  if (handler === undefined) return
  onUncaught(onError)
  const server = openServer(handler, onError)
  channel.onOrder((order) => {
    if (order.kind === 'dial') return dial(options.socket, (socket) => void server.emit('connection', socket))
    const end = () => context.pending() === 0 && process.exit(0)
    setInterval(end, 50)
    end()
  })
  channel.send({ kind: 'ready' })
}

type OnError = (error: unknown) => void

function openServer(handler: Handler, onError: OnError) {
  // The sites server bounds requests and their time.
  const times = { requestTimeout: 0, headersTimeout: 0, keepAliveTimeout: 0, maxHeaderSize: 256 * 1024 }
  return process.getBuiltinModule('node:http').createServer(times, (request, response) => {
    const fail = (error: unknown) => answerError(response, error)
    withContext(request, response, fail, () => void answer(handler, request, response, onError))
  })
}

async function answer(
  handler: Handler,
  request: IncomingMessage,
  response: ServerResponse,
  onError: OnError,
): Promise<void> {
  try {
    await handler(request, response)
  } catch (error) {
    // The visitor left: not an error of the function.
    if (response.destroyed) return
    if (!(error instanceof BadBody)) onError(error instanceof FunctionFault ? error.message : error)
    answerError(response, error)
  }
}

function answerError(response: ServerResponse, error: unknown): void {
  if (response.headersSent) return void response.destroy()
  for (const name of response.getHeaderNames()) response.removeHeader(name)
  if (error instanceof BadBody) return void response.writeHead(error.statusCode).end(error.message)
  const fault: Fault = error instanceof FunctionFault ? error.fault : 'HANDLER_FAILED'
  response.writeHead(500, { [FAULT_HEADER]: fault }).end()
}

/** An error that nothing caught ends the process, as in Node.js. Its own request is answered first. */
function onUncaught(onError: OnError): void {
  const end = (error: unknown) => {
    onError(error)
    currentContext()?.fail(error)
    setImmediate(() => process.exit(UNCAUGHT))
  }
  process.on('uncaughtException', end)
  process.on('unhandledRejection', end)
}
