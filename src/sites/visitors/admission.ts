/**
 * Asks the control plane whether a visitor may see a protected site: what opens it is known there alone. While it is away nobody is let in.
 * docs/deploying-sites.md: What the sites server knows, Protected hosts.
 */
import type { Logger } from 'pino'
import { type Dispatcher, Pool } from 'undici'
import { networkOf } from '../../platform/base/network.ts'
import { openSemaphore } from '../../platform/fairness/semaphore.ts'
import { type Answer, MOMENT_SECONDS, pageAnswer } from '../../platform/verdict/visitor-answer.ts'
import { READERS } from '../../readers.ts'
import { ERROR_HEADER } from './send.ts'
import type { Visit } from './visit.ts'

export type Admission = {
  /** The answer to a visitor who is not let in; undefined: may come in. It never throws. */
  refuse(visit: Visit): Promise<Answer | undefined>
  close(): Promise<void>
}

/** Visitors of whom it is asked at once; addresses take turns, and none has more than half of what is free. */
const AT_ONCE = 32
/** Passwords are checked in turn, so an answer may take a while. */
const ANSWER_MS = 10_000
const WAIT_MS = 5000
const CONNECT_MS = 3000
const MOST_BYTES = READERS['line of the control plane'].bytes

/** Headers of its answer that are for the visitor. */
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

/** Asks the listener of a control plane at `origin`, with BERTH_SITES_TOKEN. */
export function openAdmission(origin: string, token: string, log: Logger): Admission {
  const pool = new Pool(origin, { connections: AT_ONCE, pipelining: 1, connect: { timeout: CONNECT_MS } })
  const slots = openSemaphore({ slots: AT_ONCE, mayTake: (_, inUse, free) => inUse < free })
  let isLogged = false
  return {
    async refuse(visit) {
      const owner = networkOf(visit.visitor.ip)
      if (!(await slots.take(owner, WAIT_MS))) return closed(visit)
      try {
        const answer = await ask(pool, token, visit)
        isLogged = false
        return answer
      } catch (error) {
        if (!isLogged)
          log.warn({ err: error }, 'the control plane does not say who may see protected sites: nobody may')
        isLogged = true
        return closed(visit)
      } finally {
        slots.release(owner)
      }
    },
    close: () => pool.destroy(),
  }
}

function closed({ visitor }: Visit): Answer {
  return pageAnswer('BACK_IN_A_MOMENT', 503, visitor, { 'retry-after': MOMENT_SECONDS })
}

/** Throws where the answer is none about this visitor. */
async function ask(pool: Pool, token: string, { visitor, credentials }: Visit): Promise<Answer | undefined> {
  const { authorization, bypass } = credentials
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
    },
    headersTimeout: ANSWER_MS,
    bodyTimeout: ANSWER_MS,
  })
  const text = await readText(body)
  if (statusCode === 200) return undefined
  // What it says of a visitor has one of these; a wrong token and a fault have none.
  if (headers['x-edge-error'] === undefined && headers.location === undefined)
    throw new Error(`the control plane answered ${statusCode}: ${text.slice(0, 200).trim()}`)
  const passed = PASSED_ON.flatMap((name) => {
    const value = headers[name]
    return value === undefined ? [] : [[name, String(value)]]
  })
  const code = headers['x-edge-error']
  const named = code === undefined ? {} : { [ERROR_HEADER]: String(code) }
  return { status: statusCode, headers: { ...Object.fromEntries(passed), ...named }, body: text }
}

async function readText(body: Dispatcher.ResponseData['body']): Promise<string> {
  const pieces: Buffer[] = []
  let bytes = 0
  for await (const piece of body) {
    bytes += piece.length
    if (bytes > MOST_BYTES) throw new Error('the control plane sent a longer answer than any can be')
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString()
}
