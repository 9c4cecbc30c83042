/** What belongs to the request that runs: its id, and promises that go on after its response. docs/functions.md: waitUntil. */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { CACHE_TAG_HEADER, ID_HEADER } from './protocol.ts'

/** As frameworks look it up by the symbol `@vercel/request-context`. */
type RequestContext = {
  id: string
  url: string
  headers: Record<string, string>
  waitUntil(promise: unknown): void
  /** Gives the response more tags, until its head is sent. */
  addCacheTag(tag: string | string[]): Promise<void>
  /** Answers with an error in the place of the function, once. */
  fail: (error: unknown) => void
}

const storage = new AsyncLocalStorage<RequestContext>()
const PLATFORM = Symbol.for('@vercel/request-context')

/** Counts promises of `waitUntil`, and lets frameworks find the context of their request. `onPending`: how many have not settled. `more`: what is in the context of each request. */
export function installContext(
  onPending: (count: number) => void,
  onError: (error: unknown) => void,
  more: object = {},
): { pending(): number } {
  ofAll = more
  let count = 0
  const settle = () => onPending(--count)
  waitUntil = (promise) => {
    onPending(++count)
    Promise.resolve(promise).catch(onError).finally(settle)
  }
  Object.defineProperty(globalThis, PLATFORM, { value: { get: () => storage.getStore() }, configurable: true })
  return { pending: () => count }
}

let waitUntil: RequestContext['waitUntil'] = () => {}
let ofAll = {}

/** Runs the handling of a request in its context. */
export function withContext<T>(
  request: IncomingMessage,
  response: ServerResponse,
  fail: RequestContext['fail'],
  run: () => T,
): T {
  const headers: Record<string, string> = {}
  for (const [name, value] of Object.entries(request.headers)) headers[name] = [value ?? ''].flat().join(', ')
  const addCacheTag = async (tag: string | string[]) => {
    if (!response.headersSent) response.appendHeader(CACHE_TAG_HEADER, [tag].flat().join(','))
  }
  const own = { id: headers[ID_HEADER] ?? '', url: originOf(request) + request.url, headers }
  const context: RequestContext = { ...own, waitUntil, addCacheTag, fail, ...ofAll }
  return storage.run(context, run)
}

/** The context of the request that runs; undefined while the function is loaded, or in what it left running. */
export function currentContext(): RequestContext | undefined {
  return storage.getStore()
}

/** The address that the visitor asked. */
export function originOf({ headers }: IncomingMessage): string {
  const host = headers['x-forwarded-host'] ?? headers.host ?? 'localhost'
  return `${headers['x-forwarded-proto'] ?? 'https'}://${host}`
}
