/**
 * Servers that serve one service after another. Entering some six hundred paths into a router is most of what opening a service costs, and
 * every service has the same paths. So the router is kept, and each function that it calls is one of the service that was opened last:
 * nothing of a service stays behind. docs/testing.md: Shared data.
 */
import type { Server } from 'node:http'
import Fastify, { type FastifyHttpOptions, type FastifyInstance } from 'fastify'
import type { NewServer } from '../../../src/platform/server/serve.ts'

type Work = (...words: unknown[]) => unknown
type Listeners = Map<string | symbol, unknown[]>

/** The methods that register something on a server before it responds. */
const REGISTERS = new Set<string | symbol>([
  'addContentTypeParser',
  'addHook',
  'get',
  'removeAllContentTypeParsers',
  'route',
  'setErrorHandler',
  'setNotFoundHandler',
])

/** `lines`: what was registered, in order. `works`: the functions of the service that has it. `listeners`: those of an unused server. */
type Kept = { app: FastifyInstance; lines: string[]; works: Work[]; listeners: Listeners }

const idle: Kept[] = []

/** Returns an unused server, or a new one. A service that speaks TLS has one of its own. */
export const keptServer = ((options: FastifyHttpOptions<Server> = {}) => {
  if ('https' in options) return Fastify(options)
  const found = idle.pop()
  const works: Work[] = found?.works ?? []
  works.length = 0
  // How connections are read is the same for every service, and a class is not one of its functions.
  const { http, ...rest } = options
  const lasting = { http, ...(replaceWorks(rest, works) as object) } as FastifyHttpOptions<Server>
  return lend(found ?? keep(Fastify(lasting), works))
}) as NewServer

function keep(app: FastifyInstance, works: Work[]): Kept {
  const listeners: Listeners = new Map(app.server.eventNames().map((name) => [name, listenersOf(app.server, name)]))
  return { app, lines: [], works, listeners }
}

/** The server for one service: its registrations replace those of the service before. Once closed it is unused again. */
function lend(kept: Kept): FastifyInstance {
  const { app, lines, works } = kept
  const isNew = lines.length === 0
  let registered = 0
  let underWay = 0
  let state: 'open' | 'listened' | 'closed' = 'open'
  app.server.once('listening', () => {
    state = 'listened'
  })
  const register = (name: string, words: unknown[]) => {
    const lasting = replaceWorks(words, works) as unknown[]
    const line = `${name} ${works.length} ${JSON.stringify(words)}`
    if (isNew) {
      lines.push(line)
      ;(app[name as 'route'] as Work)(...lasting)
    } else if (lines[registered] !== line)
      throw new Error(`a service registers ${line}, where the one before it registered ${lines[registered]}`)
    registered++
  }
  const own: Record<string | symbol, Work> = {
    async inject(...words) {
      if (state === 'closed') throw new Error('the service is closed')
      underWay++
      try {
        return await (app.inject as Work)(...words)
      } finally {
        underWay--
      }
    },
    async close() {
      if (state === 'closed') return
      const isIdle = state === 'open' && underWay === 0 && registered === lines.length
      state = 'closed'
      // A pending request would continue in the next service, and a server that has listened cannot listen again.
      if (!isIdle) return app.close()
      resetListeners(kept)
      idle.push(kept)
    },
  }
  return new Proxy(app, {
    get(target, name) {
      if (REGISTERS.has(name)) return (...words: unknown[]) => register(String(name), words)
      return own[name] ?? Reflect.get(target, name)
    },
  })
}

/** Returns the value with each of its functions replaced by one that calls the function of the same place in `works`. */
function replaceWorks(value: unknown, works: Work[]): unknown {
  if (typeof value === 'function') {
    const at = works.push(value as Work) - 1
    // The server distinguishes functions by their number of parameters.
    return Object.defineProperty((...words: unknown[]) => works[at]!(...words), 'length', { value: value.length })
  }
  if (Array.isArray(value)) return value.map((one) => replaceWorks(one, works))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, replaceWorks(one, works)]))
}

/** Restores the listeners that a server had before any service. */
function resetListeners({ app: { server }, listeners }: Kept): void {
  for (const name of server.eventNames()) server.removeAllListeners(name)
  for (const [name, own] of listeners) for (const listener of own) server.on(name, listener as Work)
}

function listenersOf(server: Server, name: string | symbol): Work[] {
  return server.rawListeners(String(name)) as Work[]
}
