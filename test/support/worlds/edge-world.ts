/** Setup of the edge tests: a listener, and requests as a proxy sends them. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http'
import type { World } from '../world.ts'
import { seedWebProject } from './deploy-world.ts'

export type EdgeReply = { status: number; headers: IncomingHttpHeaders; text: string }
/** Requests a path with these headers; fetch cannot set Host. */
export type CallEdge = (path: string, headers?: Record<string, string>, method?: string) => Promise<EdgeReply>

export async function callEdgeAt(origin: string, path: string, headers: Record<string, string> = {}, method = 'GET') {
  const asked = request(origin + path, { headers, method, agent: false })
  asked.end()
  const [answer] = (await once(asked, 'response')) as [IncomingMessage]
  let text = ''
  for await (const chunk of answer.setEncoding('utf8')) text += chunk
  return { status: answer.statusCode!, headers: answer.headers, text }
}

/** Opens the edge of a world on a free port. */
export async function openEdgeOf(world: World) {
  const edge = (await world.openEdge())!
  const origin = await edge.listen('127.0.0.1', 0)
  const ask: CallEdge = (path, headers, method) => callEdgeAt(origin, path, headers, method)
  return { origin, ask, settle: () => edge.followed.catchUp() }
}

/** A project `web` whose domains point to a live deployment at `upstream`, and the edge that serves it. */
export async function openSite(world: World, upstream: string, labels = ['one', 'two']) {
  const web = await seedWebProject(world, labels)
  const deploymentId = await web.deploy({ upstream })
  const edge = await openEdgeOf(world)
  const turn = async (verb: 'pause' | 'unpause') => {
    const answer = await world.call('POST', `/v1/projects/web/${verb}`)
    assert.equal(answer.status, 200, answer.text)
  }
  return { web, deploymentId, ...edge, pause: () => turn('pause'), unpause: () => turn('unpause') }
}
