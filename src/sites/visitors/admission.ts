/**
 * Checks with the control plane whether a visitor may see a protected site: only it stores the secrets. While it is unavailable,
 * access is denied. docs/deploying-sites.md: Data of the sites server, Protected hosts.
 */
import type { Logger } from 'pino'
import { type Dispatcher, Pool } from 'undici'
import { networkOf } from '../../platform/base/network.ts'
import { readWithin } from '../../platform/fairness/read-within.ts'
import { createSemaphore } from '../../platform/fairness/semaphore.ts'
import { isSecret, REDEEM_PATH, type Redeemed, SIGN_IN_HEADERS } from '../../platform/verdict/site-sign-in.ts'
import { type EdgeResponse, MOMENT_SECONDS, pageAnswer } from '../../platform/verdict/visitor-answer.ts'
import { READERS } from '../../readers.ts'
import { ERROR_HEADER } from './send.ts'
import type { Visit } from './visit.ts'

type NotLetIn = { answer: EdgeResponse; signInPage: string | undefined }

export type Admission = {
  /** Returns the response if access is denied, undefined if it is allowed. Never throws. */
  refuse(visit: Visit): Promise<NotLetIn | undefined>
  /** Redeems a sign-in code for a cookie, if the browser has this state; otherwise returns the error response. Never throws. */
  redeem(visit: Visit, code: string, state: string): Promise<Redeemed | EdgeResponse>
  close(): Promise<void>
}

/** Concurrent checks. Addresses are served round-robin, and one has at most half of the free slots. */
const AT_ONCE = 32
/** Password checks are queued, so a response may take long. */
const ANSWER_MS = 10_000
const TIMEOUTS = { headersTimeout: ANSWER_MS, bodyTimeout: ANSWER_MS }
const WAIT_MS = 5000
const CONNECT_MS = 3000
const MAX_BYTES = READERS['line of the control plane'].bytes

const PASSED_ON = [
  'cache-control',
  'content-security-policy',
  'content-type',
  'location',
  'referrer-policy',
  'retry-after',
  'www-authenticate',
  'x-content-type-options',
] as const

/** Opens a client of the control plane at `origin`, with BERTH_SITES_TOKEN. */
export function openAdmission(origin: string, token: string, log: Logger): Admission {
  const pool = new Pool(origin, { connections: AT_ONCE, pipelining: 1, connect: { timeout: CONNECT_MS } })
  const slots = createSemaphore({ slots: AT_ONCE, canAcquire: (_, inUse, free) => inUse < free })
  let isLogged = false
  /** Requests that time out or find no free slot get a temporary error page. */
  const inTurn = async <T>(visit: Visit, ask: () => Promise<T>): Promise<T | EdgeResponse> => {
    const owner = networkOf(visit.visitor.ip)
    if (!(await slots.acquire(owner, WAIT_MS))) return closed(visit)
    try {
      const answer = await ask()
      isLogged = false
      return answer
    } catch (error) {
      if (!isLogged)
        log.warn({ err: error }, 'the control plane cannot check access to protected sites; access is denied')
      isLogged = true
      return closed(visit)
    } finally {
      slots.release(owner)
    }
  }
  return {
    async refuse(visit) {
      const refused = await inTurn(visit, () => askFor(pool, token, visit))
      return refused && 'body' in refused ? { answer: refused, signInPage: undefined } : refused
    },
    redeem: (visit, code, state) => inTurn(visit, () => askToRedeem(pool, token, visit, { code, state })),
    close: () => pool.destroy(),
  }
}

function closed({ visitor }: Visit): EdgeResponse {
  return pageAnswer('BACK_IN_A_MOMENT', 503, visitor, { 'retry-after': MOMENT_SECONDS })
}

/** Throws if the response is not a decision about this visitor. */
async function askFor(pool: Pool, token: string, { visitor, credentials }: Visit): Promise<NotLetIn | undefined> {
  const { authorization, bypass, session } = credentials
  const { statusCode, headers, body } = await pool.request({
    method: 'GET',
    path: `/edge/v1/check?token=${encodeURIComponent(token)}`,
    headers: {
      'x-forwarded-host': visitor.host + visitor.port,
      'x-forwarded-proto': visitor.scheme,
      'x-forwarded-for': visitor.ip,
      'x-forwarded-uri': visitor.uri,
      ...(authorization !== undefined && { authorization }),
      ...(bypass !== undefined && { 'x-vercel-protection-bypass': bypass }),
      ...(isSecret(session) && { [SIGN_IN_HEADERS.session]: session }),
      ...(visitor.wantsSourceMap && { [SIGN_IN_HEADERS.sourceMap]: '1' }),
    },
    ...TIMEOUTS,
  })
  const text = await readText(body)
  if (statusCode === 200) return undefined
  // A decision has one of these headers; a wrong token or an internal error has none.
  if (headers['x-edge-error'] === undefined && headers.location === undefined)
    throw new Error(`the control plane answered ${statusCode}: ${text.slice(0, 200).trim()}`)
  const passed = PASSED_ON.flatMap((name) => {
    const value = headers[name]
    return value === undefined ? [] : [[name, String(value)]]
  })
  const code = headers['x-edge-error']
  const named = code === undefined ? {} : { [ERROR_HEADER]: String(code) }
  const signInPage = headers[SIGN_IN_HEADERS.page]
  return {
    answer: { status: statusCode, headers: { ...Object.fromEntries(passed), ...named }, body: text },
    signInPage: signInPage === undefined ? undefined : String(signInPage),
  }
}

/** Throws if the response is not about this code. */
async function askToRedeem(
  pool: Pool,
  token: string,
  { visitor }: Visit,
  { code, state }: { code: string; state: string },
): Promise<Redeemed | EdgeResponse> {
  const { statusCode, body } = await pool.request({
    method: 'POST',
    path: REDEEM_PATH,
    headers: {
      authorization: `Bearer ${token}`,
      [SIGN_IN_HEADERS.host]: visitor.host,
      [SIGN_IN_HEADERS.code]: code,
      [SIGN_IN_HEADERS.state]: state,
    },
    ...TIMEOUTS,
  })
  const text = await readText(body)
  if (statusCode === 410) return signInOver(visitor)
  if (statusCode !== 200) throw new Error(`the control plane answered ${statusCode}: ${text.slice(0, 200).trim()}`)
  return JSON.parse(text) as Redeemed
}

/** Returns the response for a sign-in that cannot be completed. */
export function signInOver(visitor: Visit['visitor']): EdgeResponse {
  return pageAnswer('SIGN_IN_OVER', 403, visitor, { [ERROR_HEADER]: 'SIGN_IN_OVER' })
}

async function readText(body: Dispatcher.ResponseData['body']): Promise<string> {
  const tooLong = () => new Error('the control plane sent a response above the size limit')
  return (await readWithin(body, MAX_BYTES, tooLong)).toString()
}
