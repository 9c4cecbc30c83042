/** What a prerendered page is asked with. Its key is made of all of it, so no visitor can choose a page for others. docs/prerendering.md: Key. */
import { createHash } from 'node:crypto'
import { canChange } from '../../delivery/protocol/message-headers.ts'
import type { Prerender } from '../../delivery/protocol/routing-manifest.ts'
import type { Decision } from '../router/decision.ts'
import { withoutSecrets } from '../router/destination.ts'
import type { VisitorRequest } from '../router/request.ts'

export type PrerenderDecision = Extract<Decision, { kind: 'prerender' }>

/** `group`: pages that are renewed together. `headers`: all that the function gets, but those that the sites server adds. `isPlain`: no query is part of it. */
export type PageRequest = {
  key: string
  group: string | undefined
  path: string
  search: string
  routeMatches: string
  headers: ReadonlyMap<string, string>
  isPlain: boolean
}

/** TABLE request headers of `allowHeader` that the sites server sets or checks itself, so that they are in no key. */
const OF_THE_PLATFORM: ReadonlySet<string> = new Set([
  'host',
  'x-matched-path',
  'x-prerender-revalidate',
  'x-prerender-revalidate-if-generated',
  'x-next-revalidated-tags',
  'x-next-revalidate-tag-token',
])

type Given = { origin: (readonly [string, string])[]; own: (readonly [string, string])[] }

/** Characters of what a kept request was built from: visitors choose some of them. */
const MAX_KEPT = 1024
/** The router keeps a decision, and its visitors mostly name one host, so its request is built once. */
const MADE = new WeakMap<PrerenderDecision, { of: string; made: PageRequest }>()

/** Returns the request of a page, without anything of the visitor that is not in its key. */
export function pageRequestOf(deploymentId: string, decision: PrerenderDecision, request: VisitorRequest): PageRequest {
  const given = givenBy(decision, request)
  const of = JSON.stringify([deploymentId, given])
  const before = MADE.get(decision)
  if (before?.of === of) return before.made
  const made = createPageRequest(deploymentId, decision, given)
  if (of.length <= MAX_KEPT) MADE.set(decision, { of, made })
  return made
}

/** Of the headers of a visitor those that are part of the key. */
function givenBy({ prerender, invocation }: PrerenderDecision, request: VisitorRequest): Given {
  const origin = ['host', 'x-forwarded-host', 'x-forwarded-proto'].map(
    (name) => [name, request.headers.get(name) ?? ''] as const,
  )
  const names = (prerender.allowHeader ?? []).filter((name) => !OF_THE_PLATFORM.has(name) && canChange(name))
  if (names.length === 0) return { origin, own: [] }
  const all = invocation.headers === undefined ? request.headers : new Map(invocation.headers)
  const own = names.flatMap((name) => {
    const value = all.get(name)
    return value === undefined ? [] : [[name, value] as const]
  })
  return { origin, own }
}

function createPageRequest(
  deploymentId: string,
  { path: output, prerender, invocation }: PrerenderDecision,
  { origin, own }: Given,
): PageRequest {
  const query = allowed([...new URLSearchParams(withoutSecrets(invocation.search))], prerender)
  const matches = allowed([...new URLSearchParams(invocation.routeMatches)], prerender)
  const path = prerender.concrete ? invocation.concretePath : invocation.path
  const search = query.length === 0 ? '' : `?${textOf(query)}`
  const routeMatches = textOf(matches)
  const group = prerender.group === undefined ? undefined : nameOf(deploymentId, [prerender.group, origin, search])
  return {
    key: nameOf(deploymentId, [output, path, search, routeMatches, invocation.matchedPath, origin, own]),
    group,
    ...{ path, search, routeMatches, isPlain: query.length === 0 },
    headers: new Map([...origin, ...own]),
  }
}

type Query = (readonly [name: string, value: string])[]

/** In an order that no visitor chooses. Without a list, all of the query counts. */
function allowed(query: Query, { allowQuery }: Prerender): Query {
  const names = new Set(allowQuery)
  const remaining = allowQuery === undefined ? query : query.filter(([name]) => names.has(name))
  return remaining.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
}

function textOf(query: Query): string {
  return new URLSearchParams(query.map(([name, value]) => [name, value])).toString()
}

function nameOf(deploymentId: string, parts: unknown[]): string {
  return `${deploymentId} ${createHash('sha256').update(JSON.stringify(parts)).digest('base64url')}`
}
