/** The properties of `req` and methods of `res` that functions of the form `(req, res)` find. docs/functions.md: Forms. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'

/** A body that cannot be read as its type says. The visitor gets 400. */
export class BadBody extends Error {
  readonly statusCode = 400
}

/** Adds the helpers. The body is read first; its bytes can still be read as a stream. */
export async function addHelpers(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await readBody(request)
  lazily(request, 'query', () => queryOf(request.url!))
  lazily(request, 'cookies', () => cookiesOf(request.headers.cookie ?? ''))
  lazily(request, 'body', () => parsedBody(body, request.headers['content-type']))
  Object.assign(response, helpersOf(response))
}

/** Reads the whole body, and lets the request be read again. */
async function readBody(request: IncomingMessage): Promise<Buffer> {
  const { headers } = request
  if (headers['transfer-encoding'] === undefined && Number(headers['content-length'] ?? 0) === 0) return Buffer.alloc(0)
  const pieces: Buffer[] = []
  for await (const piece of request.iterator({ destroyOnReturn: false })) pieces.push(piece)
  const body = Buffer.concat(pieces)
  replay(request, body)
  return body
}

/** TABLE ways to read a stream, which read the bytes again. */
const READING = [
  'on',
  'addListener',
  'once',
  'off',
  'removeListener',
  'pipe',
  'unpipe',
  'read',
  'resume',
  'pause',
] as const

function replay(request: IncomingMessage, body: Buffer): void {
  const again = Readable.from(body.length === 0 ? [] : [body], { objectMode: false }) as Readable &
    Record<string | symbol, (...words: unknown[]) => unknown>
  const methods: readonly (string | symbol)[] = [...READING, 'setEncoding', 'iterator', Symbol.asyncIterator]
  for (const method of methods) {
    const value = (...words: unknown[]) => {
      const result = again[method]!(...words)
      return result === again ? request : result
    }
    Object.defineProperty(request, method, { value, configurable: true, writable: true })
  }
}

/** A property that is computed at its first use, and can be replaced. */
function lazily(target: object, name: string, compute: () => unknown): void {
  const define = (value: unknown) =>
    Object.defineProperty(target, name, { value, configurable: true, enumerable: true, writable: true })
  Object.defineProperty(target, name, {
    configurable: true,
    enumerable: true,
    get() {
      const value = compute()
      define(value)
      return value
    },
    set: define,
  })
}

type Texts = Record<string, string | string[]>

function queryOf(url: string): Texts {
  return textsOf(new URL(`http://function${url}`).searchParams)
}

function textsOf(pairs: Iterable<[string, string]>): Texts {
  const texts = new Map<string, string | string[]>()
  for (const [name, value] of pairs) {
    const before = texts.get(name)
    texts.set(name, before === undefined ? value : [...[before].flat(), value])
  }
  return Object.fromEntries(texts)
}

function cookiesOf(header: string): Record<string, string> {
  const cookies = new Map<string, string>()
  for (const part of header.split(';')) {
    const equals = part.indexOf('=')
    const name = withoutBlanks(part.slice(0, equals))
    const value = withoutBlanks(part.slice(equals + 1))
    // The first of a name counts (RFC 6265 5.4).
    if (equals > 0 && !cookies.has(name)) cookies.set(name, decoded(value.replace(/^"(.*)"$/, '$1')))
  }
  return Object.fromEntries(cookies)
}

/** Drops spaces and tabs alone: with `trim`, a name after U+00A0 would be another one. `platform/verdict/cookie-pairs.ts` is not here. */
function withoutBlanks(text: string): string {
  let [begin, end] = [0, text.length]
  while (' \t'.includes(text[begin] ?? '.')) begin++
  while (end > begin && ' \t'.includes(text[end - 1]!)) end--
  return text.slice(begin, end)
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** TABLE types of a body → what `req.body` is. */
const PARSERS: Readonly<Record<string, (body: Buffer) => unknown>> = {
  'application/octet-stream': (body) => body,
  'application/x-www-form-urlencoded': (body) => textsOf(new URLSearchParams(body.toString())),
  'text/plain': (body) => body.toString(),
  'application/json': (body) => {
    try {
      return body.length === 0 ? {} : JSON.parse(body.toString())
    } catch {
      throw new BadBody('Invalid JSON')
    }
  },
}

/** A body without a type is text, and without bytes an empty one. */
function parsedBody(body: Buffer, contentType = 'text/plain'): unknown {
  return PARSERS[contentType.split(';', 1)[0]!.trim().toLowerCase()]?.(body)
}

/** What is sent of a text is UTF-8, whatever its type said. */
function inUtf8(type: string): string {
  return `${type.replace(/;\s*charset=[^;]*/i, '')}; charset=utf-8`
}

function helpersOf(response: ServerResponse) {
  const send = (body?: unknown): ServerResponse => {
    if (body === undefined || body === null) return response.end()
    if (Buffer.isBuffer(body) || body instanceof Uint8Array) return sendTyped('application/octet-stream', body)
    if (typeof body === 'string') return sendTyped('text/html', body)
    return json(body)
  }
  const sendTyped = (type: string, body: string | Uint8Array) => {
    const stated = response.getHeader('content-type') ?? type
    const isText = typeof body === 'string' && typeof stated === 'string'
    if (!response.headersSent) response.setHeader('content-type', isText ? inUtf8(stated) : stated)
    return response.end(body)
  }
  const json = (body: unknown) => sendTyped('application/json', JSON.stringify(body) ?? '')
  return {
    send,
    json,
    status(code: number) {
      response.statusCode = code
      return response
    },
    redirect(statusOrUrl: number | string, url?: string) {
      const isUrl = typeof statusOrUrl === 'string'
      const location = isUrl ? statusOrUrl : url
      if (location === undefined) throw new Error('redirect(status, url) needs a url')
      return response.writeHead(isUrl ? 307 : statusOrUrl, { location }).end()
    },
  }
}
