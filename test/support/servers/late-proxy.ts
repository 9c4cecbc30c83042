/** A proxy before PostgreSQL, through which notifications come late, or which cuts the connection off instead. */
import { connect, createServer, type Socket } from 'node:net'
import type { TestContext } from 'node:test'

/** How late notifications come. */
export const LATE_MS = 5000

export type LateProxy = {
  url: string
  /** How many times notifications were held up. */
  held(): number
}

/** Passes a connection on. What the server says to a connection that listens comes late; with `cuts` the connection ends instead. */
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
    upstream.on('data', (data) => {
      // A notification begins with its kind.
      if (!listens || data[0] !== 0x41) return void client.write(data)
      held++
      if (cuts) return void client.destroy()
      setTimeout(() => client.write(data), LATE_MS).unref()
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
