/** A real HTTP receiver of webhooks on loopback, with scripted responses, which records its requests. */
import { createHmac } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Webhook } from 'standardwebhooks'
import { eventually } from '../eventually.ts'
import type { Cleanup } from '../process.ts'
import type { World } from '../world.ts'

export type Received = {
  at: number
  headers: Record<string, string>
  text: string
  // biome-ignore lint/suspicious/noExplicitAny: the assertion is the check
  body: any
}
type Answering = (response: ServerResponse, got: Received, request: IncomingMessage) => void

export type Receiver = {
  url: string
  got: Received[]
  /** The most requests that were open at once. */
  mostOpen(): number
  /** Sets how it responds from now on; 200 by default. */
  answer(how: Answering): void
  /** Waits until it got this many. */
  until(count: number): Promise<void>
  close(): void
}

/** Starts a receiver, which is closed with the test. */
export async function receiver(t: Cleanup, path = '/hook'): Promise<Receiver> {
  const got: Received[] = []
  let how: Answering = (response) => response.end('ok')
  let open = 0
  let most = 0
  const server = createServer(async (request, response) => {
    most = Math.max(most, ++open)
    response.on('close', () => open--)
    const chunks: Buffer[] = []
    try {
      for await (const chunk of request) chunks.push(chunk)
    } catch {
      return
    }
    const text = Buffer.concat(chunks).toString()
    const headers = request.headers as Record<string, string>
    const json = headers['content-type'] === 'application/json' ? JSON.parse(text) : undefined
    const received = { at: Date.now(), headers, text, body: json }
    got.push(received)
    how(response, received, request)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const close = () => {
    server.closeAllConnections()
    server.close()
  }
  t.after(close)
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`,
    got,
    mostOpen: () => most,
    answer(next) {
      how = next
    },
    async until(count) {
      await eventually(
        () => got.length >= count,
        () => `${got.length} of ${count} arrived`,
      )
    },
    close,
  }
}

/** Lets webhooks reach 127.0.0.1. */
export const LOCAL = { BERTH_ALLOW_PRIVATE_WEBHOOKS: '1' }

/** Verifies both signatures: with the reference library, and by hand. Throws when one is wrong. */
export function verify(received: Received, secret: string): void {
  new Webhook(secret).verify(received.text, received.headers)
  if (received.headers['x-vercel-signature'] !== createHmac('sha1', secret).update(received.text).digest('hex'))
    throw new Error('x-vercel-signature is wrong')
}

/** Registers a webhook of the first user and returns it, with its secret. */
export async function register(world: World, url: string, events = ['project.created', 'project.removed'], more = {}) {
  const made = await world.call.try('POST', '/v1/webhooks', { url, events, ...more })
  if (made.status !== 200) throw new Error(`no webhook: ${made.text}`)
  return made.body as { id: string; secret: string }
}

/** Delivers all that is due, now or at another time. */
export async function deliver(world: World, now?: number): Promise<void> {
  const ran = await world.operator.try('POST', '/operator/v1/timers/deliveries/run', now === undefined ? {} : { now })
  if (ran.status !== 200) throw new Error(ran.text)
}

/** All deliveries, newest first, as the operator sees them. */
export async function deliveries(world: World, query = '') {
  const answer = await world.operator.try('GET', `/operator/v1/webhook-deliveries?limit=100${query}`)
  if (answer.status !== 200) throw new Error(answer.text)
  return answer.body.deliveries
}
