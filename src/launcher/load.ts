/** Loads the module of a function. docs/functions.md: Forms. */
import type { Server } from 'node:http'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { importEdge } from './edge.ts'
import { type Handler, type Loaded, SHAPES } from './export-shapes.ts'
import { FunctionFault } from './faults.ts'
import type { LauncherOptions } from './protocol.ts'

/** A module may call `listen` after something that it awaits. */
const LISTEN_MS = 3000
const MAX_DEFAULTS = 5

/** Loads a function, and returns how it answers. Throws FunctionFault. */
export async function loadFunction(options: LauncherOptions): Promise<Handler> {
  const caught = catchListen()
  try {
    const exported = await importEntry(options)
    if (isListener(exported) && caught.server() === undefined) tryToListen(exported)
    const handler = handlerOf({ exported, listening: caught.server() }, options)
    if (handler !== undefined) return handler
    await caught.untilListening(LISTEN_MS)
    const late = handlerOf({ exported, listening: caught.server() }, options)
    if (late !== undefined) return late
    throw new FunctionFault('NO_HANDLER')
  } finally {
    caught.restore()
  }
}

function handlerOf(loaded: Loaded, options: LauncherOptions): Handler | undefined {
  const exports = Object(loaded.exported)
  for (const { make } of SHAPES) {
    const handler = make(exports, loaded, options)
    if (handler !== undefined) return handler
  }
  return undefined
}

async function importEntry({ folder, entrypoint, edge }: LauncherOptions): Promise<unknown> {
  const file = join(folder, entrypoint)
  try {
    let loaded: unknown = edge ? await importEdge(file, folder) : await importNode(file)
    // A compiled module has its default export within that of the module.
    for (let depth = 0; depth < MAX_DEFAULTS && Object(loaded).default; depth++) loaded = Object(loaded).default
    return loaded
  } catch (error) {
    throw new FunctionFault('LOAD_FAILED', error)
  }
}

function importNode(file: string): unknown {
  return file.endsWith('.cjs') ? createRequire(file)(file) : import(pathToFileURL(file).href)
}

/** An application that is an object, such as Koa's. */
function isListener(exported: unknown): exported is { listen(options: object): unknown } {
  const isApplication = typeof exported === 'object' && exported !== null && !('address' in exported)
  return isApplication && 'listen' in exported && typeof exported.listen === 'function' && !('fetch' in exported)
}

/** Fastify takes options alone. An application that is about to listen on its own may refuse: its own call counts. */
function tryToListen(application: { listen(options: object): unknown }): void {
  new Promise((go) => go(application.listen({ port: 0 }))).catch(() => {})
}

/** The port of `listen(3000)`, `listen('3000')` and `listen({ port: 3000 })`. */
function portIn(word: unknown): number {
  const port = typeof word === 'object' && word !== null && 'port' in word ? word.port : word
  return Number(port) || 3000
}

/** Keeps the first server of HTTP that listens, in the place of listening: requests come over connections that the launcher dials. */
function catchListen() {
  const { Server: HttpServer } = process.getBuiltinModule('node:http')
  const found = Promise.withResolvers<void>()
  const { prototype } = HttpServer
  let server: Server | undefined
  const listen = function (this: Server, ...words: unknown[]): Server {
    restore()
    server = this
    const port = portIn(words[0])
    const address = { address: '127.0.0.1', family: 'IPv4', port }
    Object.assign(this, { address: () => address })
    Object.defineProperty(this, 'listening', { value: true, configurable: true })
    const callback = words.findLast((word) => typeof word === 'function') as (() => void) | undefined
    if (callback !== undefined) this.once('listening', callback)
    process.nextTick(() => this.emit('listening'))
    found.resolve()
    return this
  }
  // Its own `listen` is that of `net.Server`, further up.
  const restore = () => void Reflect.deleteProperty(prototype, 'listen')
  Object.defineProperty(prototype, 'listen', { value: listen, configurable: true, writable: true })
  return {
    restore,
    server: () => server,
    untilListening: (ms: number) => Promise.race([found.promise, new Promise((go) => setTimeout(go, ms))]),
  }
}
