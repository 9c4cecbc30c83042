/**
 * Member sign-in at a protected site: the browser is redirected to the control plane and returns with a code, which becomes a
 * cookie of this host. A cookie with the state binds the code to the browser. docs/edge.md: Sign-in of members.
 */
import type { IncomingMessage } from 'node:http'
import { randomText } from '../../platform/base/ids.ts'
import { pageOf } from '../../platform/verdict/error-page.ts'
import type { HostProtection } from '../../platform/verdict/hosts.ts'
import { isForMembers } from '../../platform/verdict/protection.ts'
import {
  canHoldSession,
  challengeOf,
  isSecret,
  RETURN_PATH,
  SECRET_LENGTH,
} from '../../platform/verdict/site-sign-in.ts'
import { type EdgeResponse, pageAnswer } from '../../platform/verdict/visitor-answer.ts'
import { type Admission, signInOver } from './admission.ts'
import type { Exchange } from './carry-out.ts'
import { ownCookie, readOwnCookie } from './cookies.ts'
import type { Visit } from './visit.ts'

const BEGUN_SECONDS = 600
/** For a longer address, the user lands on the first page of the site. A cookie has 4 KiB. */
const MAX_PATH = 2000
const BASE = 'http://here.invalid'

/** Returns the response for a visitor of a protected host; undefined if access is allowed. */
export async function answerAtDoor(
  admission: Pick<Admission, 'refuse' | 'redeem'>,
  guard: HostProtection,
  visit: Visit,
  exchange: Exchange,
): Promise<EdgeResponse | undefined> {
  const { path, search } = visit.request
  const isOfSignIn = path === RETURN_PATH && isForMembers(guard.protection, guard)
  if (isOfSignIn && search !== '') return finish(admission, visit, exchange)
  const refused = await admission.refuse(visit)
  if (refused === undefined) return isOfSignIn ? goOn(visit, '/') : undefined
  const { answer, signInPage } = refused
  if (signInPage === undefined || !isOfPerson(visit, exchange.raw)) return answer
  if (answer.status !== 401 || isOfSignIn) return begin(visit, exchange, signInPage)
  // Visitors who know the password need not be members, so members choose to sign in.
  return { ...answer, body: pageOf('PASSWORD_OR_MEMBERS', 401, visit.visitor.host) }
}

/** Returns whether a user opens a page in a browser that stores cookies for this host; other requests get the normal response. */
export function isOfPerson({ visitor, request }: Visit, { headers }: IncomingMessage): boolean {
  const isRead = request.method === 'GET' || request.method === 'HEAD'
  const isForPeople = /(?:^|,)\s*text\/html\s*(?:[,;]|$)/i.test(headers.accept ?? '')
  const isPage = (headers['sec-fetch-dest'] ?? 'document') === 'document'
  return isRead && isForPeople && isPage && canHoldSession(visitor.scheme, visitor.host)
}

/** Tabs that start at the same time share a state, so that the second does not invalidate the first. */
function begin({ visitor }: Visit, { raw, response }: Exchange, signInPage: string): EdgeResponse | undefined {
  const isSecure = visitor.scheme === 'https'
  const origin = URL.parse(`${visitor.scheme}://${visitor.host}${visitor.port}`)?.origin
  const state = readBegun(raw, isSecure)?.state ?? randomText(SECRET_LENGTH)
  const path = Buffer.from(pathOnHost(visitor.uri)).toString('base64url')
  response.setHeader('set-cookie', ownCookie('berth_site_begun', `${state}.${path}`, BEGUN_SECONDS, isSecure))
  const query = new URLSearchParams({ site: origin ?? '', challenge: challengeOf(state) })
  return pageAnswer('SIGN_IN', 303, visitor, { location: `${signInPage}?${query}` })
}

/** Handles the return from sign-in. A visitor who signed in with another tab continues. */
async function finish(
  admission: Pick<Admission, 'redeem'>,
  visit: Visit,
  { raw, response }: Exchange,
): Promise<EdgeResponse> {
  const { visitor, request, credentials } = visit
  const isSecure = visitor.scheme === 'https'
  const code = /^\?code=(\w+)$/.exec(request.search)?.[1]
  const begun = readBegun(raw, isSecure)
  if (begun === undefined || !isSecret(code) || request.method !== 'GET')
    return credentials.session === undefined ? signInOver(visitor) : goOn(visit, '/')
  const redeemed = await admission.redeem(visit, code, begun.state)
  if ('body' in redeemed) return redeemed
  response.setHeader('set-cookie', [
    ownCookie('berth_site', redeemed.secret, redeemed.seconds, isSecure),
    ownCookie('berth_site_begun', '', 0, isSecure),
  ])
  return goOn(visit, begun.path)
}

function goOn({ visitor }: Visit, path: string): EdgeResponse {
  return pageAnswer('SIGN_IN', 303, visitor, { location: path })
}

function readBegun({ headers }: IncomingMessage, isSecure: boolean): { state: string; path: string } | undefined {
  const [state, path = ''] = (readOwnCookie(headers.cookie, 'berth_site_begun', isSecure) ?? '').split('.')
  return isSecret(state) ? { state, path: pathOnHost(Buffer.from(path, 'base64url').toString()) } : undefined
}

/** A path and query that stay on this host in a browser: `//host`, `/\host` and `/.//host` are other hosts. */
function pathOnHost(uri: string): string {
  const url = URL.parse(uri, BASE)
  const path = url?.origin === BASE ? url.pathname + url.search : '/'
  return path.startsWith('//') || path.length > MAX_PATH || url?.pathname === RETURN_PATH ? '/' : path
}
