/** Short responses of the edge listener. docs/edge.md. */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { EdgeResponse } from './visitor-answer.ts'

export const PLAIN = { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' }

/** Returns a response with one line of text. */
export function plain(status: number, text: string): EdgeResponse {
  return { status, headers: { ...PLAIN }, body: `${text}\n` }
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
  return (given) => given != null && timingSafeEqual(digest(given), expected)
}
