/** What an attack has: the running service, a team of its own, and a signal that ends it. */

import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'
import { type Method, withQuery } from '../../support/call.ts'
import {
  callerAt,
  credentialsOf,
  type HttpCaller,
  type RunningService,
  type ServiceHome,
} from '../../support/process.ts'

export type Scene = {
  running: RunningService
  home: ServiceHome
  /** Where proxies ask, as `http://host:port`. */
  edge: string
  /** The attacker's token, and calls with it that name their team. */
  token: string
  teamId: string
  call: HttpCaller
  operator: HttpCaller
  /** Aborted when the attack has lasted long enough. */
  ended: AbortSignal
}

export type Attack = {
  /** What the service is started with in addition to the usual. */
  settings?: Record<string, string>
  /** Makes what the attack needs; not measured. Gives the attack: it runs until `ended`. */
  prepare(scene: Scene): Promise<() => Promise<void>>
}

/** A team of its own on the running service, whose owner calls. */
export async function openTeam(running: RunningService, home: ServiceHome, slug: string) {
  const { operatorToken } = credentialsOf(home)
  const operator = callerAt(running, operatorToken)
  const user = await operator('POST', '/operator/v1/users', { email: `${slug}@example.com`, username: `${slug}-owner` })
  const { id: ownerId } = user.body as { id: string }
  const team = await operator('POST', '/operator/v1/teams', { slug, name: slug, ownerId })
  const { id: teamId } = team.body as { id: string }
  await operator('PATCH', `/operator/v1/accounts/${teamId}`, { plan: 'enterprise' })
  const made = await operator('POST', '/operator/v1/tokens', { userId: ownerId })
  const { token } = made.body as { token: string }
  const bare = callerAt(running, token)
  const call: HttpCaller = (method, path, body) => bare(method, withQuery(path, `teamId=${teamId}`), body)
  return { operator, token, teamId, call }
}

/** Calls, and fails unless it succeeded. */
export async function mustDo(call: HttpCaller, method: Method, path: string, body?: object): Promise<unknown> {
  const answer = await call(method, path, body)
  assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${JSON.stringify(answer.body).slice(0, 300)}`)
  return answer.body
}

/** A socket on which these bytes are said. It reads nothing: what is answered stays with the service. */
export function sayAndReadNothing(address: string, bytes: string): Socket {
  const { hostname, port } = new URL(address)
  const socket = connect(Number(port), hostname, () => socket.write(bytes))
  socket.on('error', () => {})
  return socket.pause()
}

/** The request line and headers of a GET with a token. */
export function getOf(path: string, token: string): string {
  return `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`
}

/** Does it again and again, so many at once, until the end; what is refused or cut off is passed over. */
export async function again(ended: AbortSignal, atOnce: number, work: (at: number) => Promise<unknown>): Promise<void> {
  const one = async (_: unknown, at: number) => {
    for (let n = at; !ended.aborted; n += atOnce) await work(n).catch(() => {})
  }
  await Promise.all(Array.from({ length: atOnce }, one))
}
