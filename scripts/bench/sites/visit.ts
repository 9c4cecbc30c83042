/** One visitor. */
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import type { Server } from '../children.ts'

/** Asks a server for a path of a host, because `fetch` sets the host header itself. */
export async function visit(
  { origin }: Pick<Server, 'origin'>,
  host: string,
  path: string,
  headers: Record<string, string> = {},
): Promise<{ status: number; bytes: number; etag: string }> {
  const asked = request(origin + path, { headers: { host, ...headers } }).end()
  const [answer] = (await once(asked, 'response')) as [IncomingMessage]
  let bytes = 0
  for await (const piece of answer) bytes += piece.length
  return { status: answer.statusCode!, bytes, etag: answer.headers.etag ?? '' }
}
