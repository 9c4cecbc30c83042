/** Finds where the source of a picture is: a file of the deployment, what the deployment answers itself, or another server. docs/pictures.md: Sources. */
import { createHash } from 'node:crypto'
import type { Decision } from '../router/decision.ts'
import type { Question } from '../routing-pool/messages.ts'
import { hopsOf, VIA } from '../visitors/forward.ts'
import type { Visit } from '../visitors/visit.ts'
import { notValid } from './faults.ts'
import type { InnerRequest } from './inner-request.ts'
import type { PictureSource } from './picture-request.ts'
import type { Located } from './sources.ts'

/** `ask`: the router of the deployment. */
export type Place = {
  account: string
  deploymentId: string
  visit: Visit
  ask(question: Question): Promise<Decision>
}

/** The router keeps the request of a picture, and a decision that depends on the path alone never changes. So most visitors need no second decision. */
const LOCATED = new WeakMap<PictureSource, Located>()

/** TABLE decisions that bring no picture. */
const WITHOUT_SOURCE: ReadonlySet<Decision['kind']> = new Set(['error', 'folder', 'redirect', 'status'])

/** Returns where a source is. Throws PictureFailure for a path that the deployment does not have. */
export async function locate(source: PictureSource, place: Place): Promise<Located> {
  const before = LOCATED.get(source)
  if (before !== undefined) return before
  const { visit, deploymentId, ask } = place
  const via = viaOf(visit)
  if (source.kind === 'remote') return { kind: 'remote', url: source.url, via }
  const { request, visitor } = visit
  const origin = ['host', 'x-forwarded-host', 'x-forwarded-proto'].flatMap((name) => {
    const value = request.headers.get(name)
    return value === undefined ? [] : [[name, value] as const]
  })
  const question = { method: 'GET', host: request.host, path: source.path, search: source.search }
  const decision = await ask({ kind: 'resolve', request: { ...question, headers: new Map(origin) } })
  if (WITHOUT_SOURCE.has(decision.kind)) throw notValid('"url" parameter is valid but the site has no picture there')
  if (decision.kind === 'file') {
    if (decision.status !== 200) throw notValid('"url" parameter is valid but the site has no picture there')
    const { digest, size } = decision.file
    const caching = decision.headers.find(({ name }) => name === 'cache-control')?.value
    const located: Located = { kind: 'file', digest, size, caching }
    if (decision.reusable && decision.looked.size === 0) LOCATED.set(source, located)
    return located
  }
  const headers = { via, 'x-deployment-id': deploymentId }
  const isSecure = visitor.scheme === 'https'
  const host = request.headers.get('host') ?? request.host
  return { kind: 'self', request: { isSecure, host, path: source.path + source.search, headers } }
}

/** Sites whose pictures and rules request each other in a circle are found by it. Of what the visitor said, the number of sites alone counts. */
function viaOf(visit: Visit): string {
  return Array.from({ length: hopsOf(visit) + 1 }, () => VIA).join(', ')
}

/** Returns what names the source in a key. A file is the same in all deployments of its account. */
export function nameOf(located: Located, { deploymentId }: Place): string {
  if (located.kind === 'file') return located.digest
  const { kind } = located
  const { isSecure, host, path, headers } = located.kind === 'self' ? located.request : SERVER
  const [url, via] = located.kind === 'remote' ? [located.url, located.via] : ['', headers.via]
  const parts = JSON.stringify([deploymentId, kind, isSecure, host, path, url, via])
  return createHash('sha256').update(parts).digest('base64url')
}

const SERVER: InnerRequest = { isSecure: false, host: '', path: '', headers: {} }
