/** Rewrites to other servers, at public addresses only (platform/adapters/egress.ts). docs/deploying-sites.md: Other servers. */

import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import type { Logger } from 'pino'
import { MESSAGE_HEADERS } from '../../delivery/protocol/message-headers.ts'
import { type Egress, type ForwardedAnswer, Unanswered } from '../../platform/adapters/egress.ts'
import { networkOf } from '../../platform/base/network.ts'
import { createSharedSlots } from '../../platform/fairness/shared-slots.ts'
import { MOMENT_SECONDS, pageAnswer } from '../../platform/verdict/visitor-answer.ts'
import type { Decision } from '../router/decision.ts'
import { RoutingError, withoutSecrets } from '../router/destination.ts'
import { responseHeaders } from '../router/response-headers.ts'
import { becomes } from '../static/send.ts'
import {
  bodyWithin,
  drain,
  ERROR_HEADER,
  hasBody,
  hasNoBody,
  letContinue,
  type Outgoing,
  sendAnswer,
  sentence,
} from './send.ts'
import { namesIn, type Visit } from './visit.ts'

type Proxy = Extract<Decision, { kind: 'proxy' }>
type Exchange = { raw: IncomingMessage; response: ServerResponse }

/** `rules`: the decision with platform headers. `hidesPassword`: the visitor's `Authorization` may be the site password. */
type ForwardOrder = {
  account: string
  decision: Proxy
  rules: Pick<Decision, 'headers' | 'cookies' | 'responseTransforms'>
  visit: Visit
  hidesPassword: boolean
}

export type Forwarding = {
  /** Forwards a request. Throws only after part of the response was sent, and RoutingError if the rules exceed a limit. */
  send(order: ForwardOrder, exchange: Exchange): Promise<void>
}

/** Requests that are on their way at once, and those of one account. Those that wait take turns by account, and within it by the visitor's address. */
const AT_ONCE = 512
const OF_ACCOUNT = 64
const WAIT_MS = 5000
const MAX_BODY_BYTES = 100 * 1024 ** 2
/** A visitor who reads nothing for this time is disconnected. */
const TIMEOUT_MS = 60_000
/** Detects loops between sites: each adds itself to `Via` (RFC 9110 7.6.3). */
export const VIA = '1.1 berth'
export const MAX_HOPS = 4
/** The longest URL of another server. Few servers accept more. */
const MAX_URL = 32 * 1024

class TooLarge extends Error {}

/** Opens forwarding through this egress. `maxBody`: the most bytes of a request's body. */
export function openForwarding(egress: Pick<Egress, 'forward'>, log: Logger, maxBody = MAX_BODY_BYTES): Forwarding {
  const slots = createSharedSlots({ slots: AT_ONCE, ofOwner: OF_ACCOUNT })
  return {
    async send(order, exchange) {
      const { account, visit, decision } = order
      const { raw, response } = exchange
      const refused = refusalOf(visit, raw, maxBody)
      if (refused !== undefined) return tell(exchange, refused)
      const url = withQuery(decision.url, decision.request.search)
      if (url === undefined) return tell(exchange, page(visit, 'SITE_FAULT', 508))
      const gone = goneWith(response)
      const address = networkOf(visit.visitor.ip)
      if (!(await slots.acquire(account, address, WAIT_MS, gone)))
        return tell(exchange, page(visit, 'BACK_IN_A_MOMENT', 503))
      let body: Readable | null = null
      try {
        const request = { url, ...requestOf(order, exchange, maxBody), accountId: account }
        body = request.body
        await egress.forward(request, gone, (answer) => passOn(answer, order, exchange))
      } catch (error) {
        if (gone.aborted) return
        if (response.headersSent || error instanceof RoutingError) throw error
        // The error of the request only says that it was not answered.
        if (body?.errored instanceof TooLarge) return tell(exchange, tooLarge(maxBody))
        log.debug(
          { err: error, host: visit.request.host, to: URL.parse(decision.url)?.host },
          'a rewrite was not answered',
        )
        tell(exchange, page(visit, 'NO_ANSWER', error instanceof Unanswered && error.isLate ? 504 : 502))
      } finally {
        slots.release(account, address)
      }
    },
  }
}

function tooLarge(maxBody: number): Outgoing {
  const most = `${maxBody / 1024 ** 2} MiB, which is the most that is sent on to another server`
  return sentence(413, `The body has more than ${most}.`, 'PAYLOAD_TOO_LARGE')
}

/** Returns how many sites the request came through. */
export function hopsOf({ request }: Pick<Visit, 'request'>): number {
  return (request.headers.get('via') ?? '').split(',').filter((hop) => hop.trim() === VIA).length
}

function refusalOf(visit: Visit, { headers }: IncomingMessage, maxBody: number): Outgoing | undefined {
  if (Number(headers['content-length'] ?? 0) > maxBody) return tooLarge(maxBody)
  if (hopsOf(visit) < MAX_HOPS) return undefined
  return sentence(508, 'The rules of these sites forward the request in a loop.', 'INFINITE_LOOP_DETECTED')
}

function tell({ raw, response }: Exchange, answer: Outgoing): void {
  drain(raw, response)
  sendAnswer(raw, response, answer)
}

/** TABLE error pages → their headers. */
const PAGES = {
  BACK_IN_A_MOMENT: { 'retry-after': MOMENT_SECONDS },
  NO_ANSWER: { [ERROR_HEADER]: 'ROUTER_EXTERNAL_TARGET_ERROR' },
  SITE_FAULT: { [ERROR_HEADER]: 'ROUTING_TOO_LARGE' },
}

function page({ visitor }: Visit, kind: keyof typeof PAGES, status: number): Outgoing {
  return pageAnswer(kind, status, visitor, PAGES[kind])
}

function goneWith(response: ServerResponse): AbortSignal {
  const leaving = new AbortController()
  response.once('close', () => leaving.abort())
  if (response.destroyed) leaving.abort()
  return leaving.signal
}

function requestOf({ decision, visit, hidesPassword }: ForwardOrder, { raw, response }: Exchange, maxBody: number) {
  const { request } = visit
  const headers: Record<string, string> = {}
  for (const [name, value] of decision.request.headers ?? request.headers) {
    if (MESSAGE_HEADERS.has(name)) continue
    if (name === 'authorization' && hidesPassword) continue
    headers[name] = value
  }
  const before = request.headers.get('via')
  headers.via = before === undefined ? VIA : `${before}, ${VIA}`
  const length = raw.headers['content-length']
  const isSent = hasBody(raw)
  if (isSent && length !== undefined) headers['content-length'] = length
  if (isSent) letContinue(raw, response)
  else drain(raw, response)
  const body = isSent
    ? Readable.from(
        bodyWithin(raw, maxBody, () => new TooLarge()),
        { objectMode: false },
      )
    : null
  return { method: request.method, headers, body }
}

/** Appends the visitor's query; parameters of the rule take precedence. Returns undefined if the URL is too long. */
export function withQuery(url: string, search: string): string | undefined {
  if (url.length + search.length > MAX_URL) return undefined
  const target = new URL(url)
  const passed = withoutSecrets(search)
  if (target.search === '') target.search = passed
  else {
    const ruled = new Set(target.searchParams.keys())
    const added = [...new URLSearchParams(passed)].filter(([name]) => !ruled.has(name))
    if (added.length > 0) target.search += `&${new URLSearchParams(added)}`
  }
  return target.href.length > MAX_URL ? undefined : target.href
}

async function passOn(
  { statusCode, headers, body }: ForwardedAnswer,
  { decision, rules, visit }: ForwardOrder,
  { response }: Exchange,
): Promise<void> {
  // A response without a body keeps its status: a 304 as 200 would be an empty page.
  const status = hasNoBody(statusCode) ? statusCode : (decision.status ?? statusCode)
  const isWhole = visit.request.method === 'HEAD' || hasNoBody(status)
  response.writeHead(status, headersOf(headers, rules, !hasNoBody(status)))
  response.flushHeaders()
  if (isWhole) await body.dump()
  else
    for await (const piece of body) {
      if (!response.write(piece)) await becomes(response, 'drain', TIMEOUT_MS)
      if (response.destroyed) return
    }
  response.end()
}

/** Merges rule headers over those of the other server, without its connection headers. Sends cookies of both. */
function headersOf(
  { connection, 'set-cookie': cookies, ...others }: ForwardedAnswer['headers'],
  rules: ForwardOrder['rules'],
  hasLength: boolean,
): Outgoing['headers'] {
  const listed = namesIn(connection === undefined ? undefined : String(connection))
  const own = Object.entries(others).flatMap(([name, value]) =>
    value === undefined || MESSAGE_HEADERS.has(name) || listed.has(name)
      ? []
      : [{ name, value: [value].flat().join(', ') }],
  )
  const merged: Outgoing['headers'] = {}
  for (const { name, value } of responseHeaders(rules, own)) merged[name] = value
  const all = [cookies ?? [], merged['set-cookie'] ?? [], rules.cookies].flat()
  if (all.length > 0) merged['set-cookie'] = all
  // The length stays, so that a truncated body is detected.
  if (hasLength && others['content-length'] !== undefined) merged['content-length'] = String(others['content-length'])
  return merged
}
