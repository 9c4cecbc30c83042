/** One connection to the service, on which one request follows another; and what became of each. */
import { Agent, request } from 'node:http'
import type { Socket } from 'node:net'

/** An answer, or why there was none: the code of the system's error. */
export type Said =
  // biome-ignore lint/suspicious/noExplicitAny: an answer is whatever the service said
  { status: number; body: any; gone?: undefined } | { gone: string; status?: undefined; body?: undefined }

export type Line = {
  say(method: string, path: string, token: string | undefined, body?: object | URLSearchParams): Promise<Said>
  /** The port on this side of the connection that is open now. */
  port(): number | undefined
  close(): void
}

const MAX_MS = 60_000

export function openLine(address: string): Line {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  let socket: Socket | undefined
  return {
    say: (method, path, token, body) =>
      new Promise((resolve) => {
        const form = body instanceof URLSearchParams
        const text = body === undefined ? undefined : form ? body.toString() : JSON.stringify(body)
        const type = form ? 'application/x-www-form-urlencoded' : 'application/json'
        const headers = {
          ...(token !== undefined && { authorization: `Bearer ${token}` }),
          ...(text !== undefined && { 'content-type': type, 'content-length': Buffer.byteLength(text) }),
        }
        const asked = request(`${address}${path}`, { method, agent, headers, timeout: MAX_MS }, (answer) => {
          const chunks: Buffer[] = []
          answer.on('data', (chunk) => chunks.push(chunk))
          answer.on('error', (error: NodeJS.ErrnoException) => resolve({ gone: error.code ?? error.message }))
          answer.on('end', () => {
            const said = Buffer.concat(chunks).toString()
            resolve({ status: answer.statusCode!, body: bodyOf(said) })
          })
        })
        asked.on('socket', (used) => {
          socket = used
        })
        asked.on('timeout', () => asked.destroy(Object.assign(new Error('no answer'), { code: 'NO_ANSWER' })))
        asked.on('error', (error: NodeJS.ErrnoException) => resolve({ gone: error.code ?? error.message }))
        asked.end(text)
      }),
    port: () => socket?.localPort,
    close: () => agent.destroy(),
  }
}

/** A response that a proxy generates is a page, and not a response of the service. */
function bodyOf(said: string) {
  if (said === '') return undefined
  return said.startsWith('<') ? { page: said } : JSON.parse(said)
}

/** One request on a connection of its own. */
export async function sayOnce(address: string, ...said: Parameters<Line['say']>): Promise<Said> {
  const line = openLine(address)
  try {
    return await line.say(...said)
  } finally {
    line.close()
  }
}
