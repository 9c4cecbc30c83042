/** Short responses of the edge listener. docs/edge.md. */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { EdgeResponse } from './visitor-answer.ts'

/** Returns a response with one line of text. */
export function plain(status: number, text: string, headers: Record<string, string> = {}): EdgeResponse {
  const all = { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store', ...headers }
  return { status, headers: all, body: `${text}\n` }
}

/** Returns a JSON response. A text is JSON already. */
export function json(status: number, body: unknown): EdgeResponse {
  const headers = { 'content-type': 'application/json', 'cache-control': 'no-store' }
  return { status, headers, body: typeof body === 'string' ? body : JSON.stringify(body) }
}

/** Returns the response to a request whose body is not read to its end. */
export function closing(answer: EdgeResponse): EdgeResponse {
  return { ...answer, headers: { ...answer.headers, connection: 'close' } }
}

/** Returns the path of a request without its query. */
export function pathOf({ url = '' }: IncomingMessage): string {
  const end = url.indexOf('?')
  return end === -1 ? url : url.slice(0, end)
}

/** Returns the token of `Authorization: Bearer`. */
export function bearerOf({ headers }: IncomingMessage): string | undefined {
  return /^Bearer (\S+)$/i.exec(headers.authorization ?? '')?.[1]
}

/** Returns a constant-time comparison with this token. */
export function tokenCheck(token: string): (given: string | null | undefined) => boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  const expected = digest(token)
  return (token) => token != null && timingSafeEqual(digest(token), expected)
}
