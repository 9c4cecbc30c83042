/** A relay before PostgreSQL that drops idle connections silently, as NAT, load balancers and overlay networks do. */
import { connect, createServer, type Socket } from 'node:net'

/** `silence`: what is sent on a forgotten connection is lost. `reset`: the sender gets a RST. */
export type Forgetting = 'silence' | 'reset'

export type ForgetfulRelay = {
  url: string
  /** Drops the connections that are open now. */
  forget(how: Forgetting): void
  /** The number of connections opened so far. */
  opened(): number
  close(): void
}

/** Passes connections on until they are dropped. */
export async function openForgetfulRelay(target: URL): Promise<ForgetfulRelay> {
  const pairs = new Set<{ client: Socket; upstream: Socket; forgotten: Forgetting | undefined }>()
  let opened = 0
  // A peer that is gone does not end its side when the other ends.
  const server = createServer({ allowHalfOpen: true }, (client) => {
    opened++
    const upstream = connect(Number(target.port), target.hostname)
    const pair = { client, upstream, forgotten: undefined as Forgetting | undefined }
    pairs.add(pair)
    client.on('data', (data) => {
      if (pair.forgotten === 'reset') client.resetAndDestroy()
      else if (pair.forgotten === undefined) upstream.write(data)
    })
    client.on('end', () => {
      if (pair.forgotten !== 'silence') client.end()
    })
    upstream.on('data', (data) => {
      if (pair.forgotten === undefined) client.write(data)
    })
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      one.on('error', () => {})
      one.on('close', () => {
        if (pair.forgotten !== 'silence') other.destroySoon()
      })
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = new URL(target)
  url.hostname = '127.0.0.1'
  url.port = String((server.address() as { port: number }).port)
  return {
    url: url.href,
    forget(how) {
      for (const pair of pairs) {
        pair.forgotten ??= how
        // The server ends its side later, and its connections are few.
        if (how === 'silence') pair.upstream.destroy()
      }
    },
    opened: () => opened,
    close() {
      for (const { client, upstream } of pairs) for (const one of [client, upstream]) one.destroy()
      server.close()
    },
  }
}
