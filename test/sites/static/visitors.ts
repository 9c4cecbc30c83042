/** Visitors over real sockets, and what answers them. */
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import {
  connect as connectHttp2,
  createServer as createHttp2Server,
  type Http2ServerResponse,
  type Http2Session,
} from 'node:http2'
import { type AddressInfo, connect, type Socket } from 'node:net'
import type { TestContext } from 'node:test'
import type { OpenedFile } from '../../../src/sites/content/opened-file.ts'
import type { ResponsePlan } from '../../../src/sites/static/response-plan.ts'

type Owner = Pick<TestContext, 'after'>

/** Listens for HTTP/1.1 on loopback until the test ends. */
export async function listen(t: Owner, answer: RequestListener): Promise<number> {
  const server = createServer(answer)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  return (server.address() as AddressInfo).port
}

/** Sends raw bytes; `end` gives everything that came back once the other side has ended. */
export function say(t: Owner, port: number, head: string): { socket: Socket; end: Promise<string> } {
  const socket = connect(port, '127.0.0.1', () =>
    socket.write(`${head}\r\nHost: site.example\r\nConnection: close\r\n\r\n`),
  )
  t.after(() => socket.destroy())
  let heard = ''
  socket.setEncoding('latin1').on('data', (text) => {
    heard += text
  })
  socket.on('error', () => {})
  return { socket, end: once(socket, 'close').then(() => heard) }
}

/** The head and the body of an answer as it came. */
export function partsOf(answer: string): { head: string; body: string } {
  const end = answer.indexOf('\r\n\r\n')
  return { head: answer.slice(0, end), body: answer.slice(end + 4) }
}

/** A conversation over HTTP/2: answers a GET by `answer`, and gives how that ended. `reads`: whether the visitor takes what comes. */
export async function overHttp2(
  t: Owner,
  answer: (response: Http2ServerResponse) => void,
  reads = true,
): Promise<{ status: number; headers: Record<string, unknown>; body: Buffer; code: number }> {
  const sessions: Http2Session[] = []
  const server = createHttp2Server((_, response) => answer(response))
  server.on('session', (session) => sessions.push(session))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = connectHttp2(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  t.after(() => {
    server.close()
    for (const session of [client, ...sessions]) session.destroy()
  })
  const stream = client.request({ ':path': '/' })
  const pieces: Buffer[] = []
  if (reads) stream.on('data', (piece: Buffer) => pieces.push(piece))
  stream.on('error', () => {})
  stream.end()
  // Not by `once`: a stream that is reset has an error first.
  const closed = new Promise((resolve) => stream.on('close', resolve))
  const [answered] = (await once(stream, 'response')) as [Record<string, unknown>]
  await closed
  return {
    status: Number(answered[':status']),
    headers: answered,
    body: Buffer.concat(pieces),
    code: stream.rstCode,
  }
}

/** A file in memory that counts what is read of it, and says whether it was let go. */
export type WatchedFile = OpenedFile & { bytesRead(): number; closes(): number }

/** `cutAt`: it ends there, although it says otherwise. */
export function watchedFile(bytes: Buffer, cutAt = bytes.length): WatchedFile {
  let bytesRead = 0
  let closes = 0
  return {
    size: bytes.length,
    bytesRead: () => bytesRead,
    closes: () => closes,
    async read(into, at) {
      await new Promise((resolve) => setImmediate(resolve))
      if (closes > 0) throw new Error('it was read after it was let go')
      const read = bytes.copy(into, 0, at, Math.min(cutAt, at + into.length))
      if (read === 0) throw new Error('the file was cut')
      bytesRead += read
      return read
    },
    close() {
      closes++
    },
  }
}

/** A plan that sends a part of a file. */
export function planOf(first: number, length: number): ResponsePlan {
  return {
    status: 206,
    headers: { 'content-length': String(length), 'x-own': 'yes', 'set-cookie': ['a=1', 'b=2'] },
    body: { kind: 'file', encoding: undefined, slice: { first, length } },
  }
}
