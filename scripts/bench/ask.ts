/** Single requests to a server under measurement, with the bytes of the answer as they came. */
import { once } from 'node:events'
import { Agent, type IncomingMessage, request } from 'node:http'
import type { Filled } from './asked.ts'
import type { Bytes } from './bare.ts'
import type { Server, Target } from './children.ts'

/** A POST when it has a body. */
export type Question = { path: string; body?: string }
export type Answer = { status: number; headers: string[]; body: string }

/** The headers that `node:http` adds to every response. */
const MADE_BY_NODE = new Set(['date', 'connection', 'keep-alive'])

/** Asks once, over a connection of its own, as the load does it: kept alive. */
export async function ask({ origin, token }: Omit<Target, 'process'>, { path, body }: Question): Promise<Answer> {
  const agent = new Agent({ keepAlive: true })
  const headers = { authorization: `Bearer ${token}` }
  const method = body === undefined ? 'GET' : 'POST'
  return send(origin, { method, path, headers, ...(body !== undefined && { body }) }, agent).finally(() =>
    agent.destroy(),
  )
}

/** Sends a request over a connection of the agent. */
export async function send(origin: string, { method, path, headers, body }: Filled, agent: Agent): Promise<Answer> {
  const type = body !== undefined && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
  const asked = request(origin + path, { agent, method, headers: { ...headers, ...type } })
  asked.end(body)
  const [answer] = (await once(asked, 'response')) as [IncomingMessage]
  let text = ''
  for await (const chunk of answer.setEncoding('utf8')) text += chunk
  return { status: answer.statusCode!, headers: answer.rawHeaders, body: text }
}

/** Makes the bare server answer what a server answers to a question, and throws when the two do not send the same bytes. */
export async function imitate(origin: string, bare: Server, question: () => Filled): Promise<void> {
  const agent = new Agent({ keepAlive: true })
  const asked = question()
  const answer = await send(origin, asked, agent)
  if (answer.status > 299) throw new Error(`${asked.path} answered ${answer.status}: ${answer.body}`)
  const told = once(bare.process, 'message')
  bare.process.send(bytesOf(answer))
  await told
  const ours = measure(await send(origin, question(), agent))
  const theirs = measure(await send(bare.origin, question(), agent))
  agent.destroy()
  if (ours !== theirs) throw new Error(`the bare server does not send the same bytes: ${ours} is not ${theirs}`)
}

function bytesOf({ status, headers, body }: Answer): Bytes {
  const timeout = /timeout=(\d+)/.exec(headerValue(headers, 'keep-alive'))?.[1]
  const kept = pairs(headers).filter(([name]) => !MADE_BY_NODE.has(name.toLowerCase()))
  return { status, headers: kept.flat(), body, keepAliveSeconds: Number(timeout ?? 5) }
}

/** Status, header names with the length of their values, and the length of the body: what two equal answers have in common. */
function measure({ status, headers, body }: Answer): string {
  const lengths = pairs(headers).map(([name, value]) => `${name.toLowerCase()}:${value.length}`)
  return [status, ...lengths.sort(), Buffer.byteLength(body)].join(' ')
}

function headerValue(headers: string[], wanted: string): string {
  return pairs(headers).find(([name]) => name.toLowerCase() === wanted)?.[1] ?? ''
}

function pairs(headers: string[]): [string, string][] {
  return Array.from({ length: headers.length / 2 }, (_, at) => [headers[2 * at]!, headers[2 * at + 1]!])
}
