/**
 * Members sign in to a protected site: a browser that is not let in goes to the page for that on the control plane, and comes back with a code, which
 * becomes a cookie of this host. What a browser holds meanwhile ties the code to it. docs/edge.md: Members sign in.
 */
import type { IncomingMessage } from 'node:http'
import { randomText } from '../../platform/base/ids.ts'
import { pageOf } from '../../platform/verdict/error-page.ts'
import type { HostProtection } from '../../platform/verdict/hosts.ts'
import { isForMembers } from '../../platform/verdict/protection.ts'
import {
  challengeOf,
  isSecret,
  mayHoldSession,
  RETURN_PATH,
  SECRET_LENGTH,
} from '../../platform/verdict/site-sign-in.ts'
import { type EdgeResponse, pageAnswer } from '../../platform/verdict/visitor-answer.ts'
import { type Admission, signInOver } from './admission.ts'
import type { Exchange } from './carry-out.ts'
import { ownCookie, readOwnCookie } from './cookies.ts'
import type { Visit } from './visit.ts'

/** As long as a person may take to sign in. */
const BEGUN_SECONDS = 600
/** Of a longer address the person sees the first page of the site. A cookie has 4 KiB. */
const MAX_PATH = 2000
const BASE = 'http://here.invalid'

/** The answer to a visitor of a protected host: undefined where they may come in. */
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
  // Where a password is asked for, whoever knows it need not be a member: members say that they are.
  return { ...answer, body: pageOf('PASSWORD_OR_MEMBERS', 401, visit.visitor.host) }
}

/** Whether a person looks at what is answered, in a browser that keeps a cookie for this host alone. Frames, scripts, pictures and programs are answered as ever. */
export function isOfPerson({ visitor, request }: Visit, { headers }: IncomingMessage): boolean {
  const isRead = request.method === 'GET' || request.method === 'HEAD'
  const isForPeople = /(?:^|,)\s*text\/html\s*(?:[,;]|$)/i.test(headers.accept ?? '')
  const isPage = (headers['sec-fetch-dest'] ?? 'document') === 'document'
  return isRead && isForPeople && isPage && mayHoldSession(visitor.scheme, visitor.host)
}

/** Two tabs that begin at once share a state, so that the second does not end the first. */
function begin({ visitor }: Visit, { raw, response }: Exchange, signInPage: string): EdgeResponse | undefined {
  const isSecure = visitor.scheme === 'https'
  const origin = URL.parse(`${visitor.scheme}://${visitor.host}${visitor.port}`)?.origin
  const state = readBegun(raw, isSecure)?.state ?? randomText(SECRET_LENGTH)
  const path = Buffer.from(pathOnHost(visitor.uri)).toString('base64url')
  response.setHeader('set-cookie', ownCookie('berth_site_begun', `${state}.${path}`, BEGUN_SECONDS, isSecure))
  const query = new URLSearchParams({ site: origin ?? '', challenge: challengeOf(state) })
  return pageAnswer('SIGN_IN', 303, visitor, { location: `${signInPage}?${query}` })
}

/** The browser is back. Whoever is in already, by another tab, goes on. */
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

/** What a browser holds that began here. */
function readBegun({ headers }: IncomingMessage, isSecure: boolean): { state: string; path: string } | undefined {
  const [state, path = ''] = (readOwnCookie(headers.cookie, 'berth_site_begun', isSecure) ?? '').split('.')
  return isSecret(state) ? { state, path: pathOnHost(Buffer.from(path, 'base64url').toString()) } : undefined
}

/** A path and query that lead nowhere but to this host, as a browser will read them: `//host`, `/\host` and `/.//host` are other hosts. */
function pathOnHost(uri: string): string {
  const url = URL.parse(uri, BASE)
  const path = url?.origin === BASE ? url.pathname + url.search : '/'
  return path.startsWith('//') || path.length > MAX_PATH || url?.pathname === RETURN_PATH ? '/' : path
}
