/** Requests to the own sites of this server: of cron jobs, for pictures whose source a deployment answers itself, and to renew pages. docs/pictures.md: Sources. */
import type { IncomingMessage } from 'node:http'
import { type Duplex, duplexPair } from 'node:stream'
import { CountedResponse } from '../usage/counted-response.ts'

/** `host`: with the port. `path`: with the query. */
export type InnerRequest = {
  isSecure: boolean
  host: string
  path: string
  headers: Record<string, string>
  method?: 'HEAD'
}
type InnerAnswer = { status: number; headers: IncomingMessage['headers']; body: AsyncIterable<Buffer> }

/** Asks, and gives the response to `take`. Throws what `take` throws, and errors of the response. */
export type AskSelf = <T>(
  request: InnerRequest,
  signal: AbortSignal,
  take: (answer: InnerAnswer) => Promise<T>,
) => Promise<T>

/** Nothing of a visitor is in such a request: what it brings is for all of them. */
const NOBODY = '127.0.0.1'

/** Requests come in by a pair of streams, so that no connection from outside can be taken for one. */
export function createInnerRequests(answer: (raw: IncomingMessage, response: CountedResponse) => void): AskSelf {
  const { createServer, request } = process.getBuiltinModule('node:http')
  const server = createServer({ ServerResponse: CountedResponse, requestTimeout: 0 }, answer)
  return async ({ isSecure, host, path, headers, method = 'GET' }, signal, take) => {
    const [near, far] = duplexPair()
    try {
      const socket = Object.assign(far, { remoteAddress: NOBODY }, isSecure && { encrypted: true })
      server.emit('connection', socket)
      const response = await new Promise<IncomingMessage>((resolve, reject) => {
        const sent = request(
          {
            createConnection: () => near as Duplex as never,
            ...{ method, path, signal, headers: { ...headers, host, connection: 'close' } },
          },
          resolve,
        )
        sent.once('error', reject)
        sent.end()
      })
      return await take({ status: response.statusCode ?? 0, headers: response.headers, body: response })
    } finally {
      near.destroy()
      far.destroy()
    }
  }
}
