/**
 * The floor: a bare `node:http` server that reads a request to its end and responds with the given bytes. It prints where
 * it listens, takes each answer as a message from the bench, and ends with it.
 */
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** `headers`: names and values in turn, without those that `node:http` makes itself. */
export type Bytes = { status: number; headers: string[]; body: string; keepAliveSeconds: number }

let bytes: Bytes = { status: 404, headers: [], body: '', keepAliveSeconds: 5 }

const server = createServer((request, response) => {
  if (request.method === 'GET') return answer(response)
  request.on('end', () => answer(response))
  request.resume()
})

function answer(response: ServerResponse): void {
  response.writeHead(bytes.status, bytes.headers).end(bytes.body)
}

process.on('message', (told: Bytes) => {
  bytes = told
  server.keepAliveTimeout = told.keepAliveSeconds * 1000
  process.send?.('ready')
})
process.on('disconnect', () => process.exit(0))
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`bare listening on http://127.0.0.1:${(server.address() as AddressInfo).port}\n`)
})
