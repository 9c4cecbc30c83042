/** A proxy before PostgreSQL, through which notifications come late, or which cuts the connection off instead. */
import { connect, createServer, type Socket } from 'node:net'
import type { TestContext } from 'node:test'

/** How late notifications come. */
export const LATE_MS = 5000

/** The kind of a message is its first byte, and the length of the rest follows in four. */
const NOTIFICATION = 0x41

export type LateProxy = {
  url: string
  /** How many times notifications were held up. */
  held(): number
}

/** Passes a connection on. Data for a connection that listens arrives late; with `cuts` the connection ends instead. */
export async function openLateProxy(t: TestContext, target: URL, cuts: boolean): Promise<LateProxy> {
  const sockets = new Set<Socket>()
  let held = 0
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname)
    let listens = false
    client.on('data', (data) => {
      listens ||= data.includes('listen berth')
      upstream.write(data)
    })
    let rest: Buffer = Buffer.alloc(0)
    upstream.on('data', (data: Buffer) => {
      if (!listens) return void client.write(data)
      const { messages, begun } = messagesIn(Buffer.concat([rest, data]))
      rest = begun
      for (const message of messages) {
        if (message[0] !== NOTIFICATION) {
          client.write(message)
          continue
        }
        held++
        if (cuts) return void client.destroy()
        setTimeout(() => client.write(message), LATE_MS).unref()
      }
    })
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(one)
      one.on('error', () => {})
      one.on('close', () => other.destroy())
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  const url = new URL(target)
  url.hostname = '127.0.0.1'
  url.port = String((server.address() as { port: number }).port)
  return { url: url.href, held: () => held }
}

/** The complete messages of a server, and the rest of the next one. On a busy machine several arrive at once. */
export function messagesIn(bytes: Buffer): { messages: Buffer[]; begun: Buffer } {
  const messages: Buffer[] = []
  let begun = bytes
  while (begun.length >= 5 && begun.length > begun.readInt32BE(1)) {
    const end = 1 + begun.readInt32BE(1)
    messages.push(begun.subarray(0, end))
    begun = begun.subarray(end)
  }
  return { messages, begun }
}
