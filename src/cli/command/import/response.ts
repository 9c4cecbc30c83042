/** A complete response of an import server. docs/moving-in.md: Requests and retries. */

import { readWithin } from '../../../platform/fairness/read-within.ts'
import { truncateText } from '../../../platform/http/validate.ts'
import { READERS } from '../../../readers.ts'
import { oneLine } from '../../command-line/print.ts'

/** A list of 20 projects with 300 variables each is smaller. */
const MAX_BYTES = READERS['answer to an import'].bytes
/** A longer requested pause is reported to the user, who runs the import again later. */
export const MAX_PAUSE_MS = 15 * 60_000

export type ServerReply = { status: number; body: unknown; pauseMs: number | undefined; resumesAt: number }
/** A response that a retry does not change. */
export class Unreadable extends Error {}

/** Sends one request and reads its response. Throws Unreadable for a redirect, a too large response, and invalid JSON, and the errors of `fetch`. */
export async function fetchOnce(ask: typeof fetch, url: string, request: RequestInit): Promise<ServerReply> {
  const answer = await ask(url, request)
  const elsewhere = redirectMessage(url, answer)
  if (elsewhere !== undefined) throw new Unreadable(`${elsewhere}. Where you trust it, give the address of its API`)
  const text = await textOf(answer)
  const isJson = answer.headers.get('content-type')?.includes('json') === true
  const resets = resetOf(answer.headers)
  const isLast = answer.headers.get('x-ratelimit-remaining') === '0'
  return {
    status: answer.status,
    body: parsed(url, text, isJson, answer.ok),
    pauseMs: retryOf(answer.headers) ?? (resets === undefined ? undefined : Math.max(0, resets - Date.now())),
    resumesAt: isLast && resets !== undefined ? Math.min(resets, Date.now() + MAX_PAUSE_MS) : 0,
  }
}

/** Returns a message for a redirect, which is not followed, because its destination would get the token. Undefined for other responses. */
export function redirectMessage(
  url: string,
  { status, headers }: Pick<Response, 'status' | 'headers'>,
): string | undefined {
  const location = headers.get('location')
  if (status < 300 || status > 399 || location === null) return undefined
  const to = URL.parse(location, url)?.href ?? location
  return `${url.replace(/\?.*/, '')} redirects to ${truncateText(oneLine(to.replace(/\?.*/, '')), 200)}, which is not followed: it would get the token`
}

async function textOf(answer: Response): Promise<string> {
  const tooLong = () =>
    new Unreadable(`${answer.url} answered more than ${MAX_BYTES / 1024 / 1024} MiB, which no answer of this API is`)
  return (await readWithin(answer.body ?? [], MAX_BYTES, tooLong)).toString()
}

function parsed(url: string, text: string, isJson: boolean, isOk: boolean): unknown {
  if (text === '') return undefined
  try {
    if (isJson) return JSON.parse(text)
  } catch {
    // Reported below, as another kind of response.
  }
  if (!isOk) return undefined
  throw new Unreadable(
    `${url.replace(/\?.*/, '')} answered something that is not JSON: is this the address of the API?`,
  )
}

/** `Retry-After`, in seconds or as a date. */
function retryOf(headers: Headers): number | undefined {
  const text = headers.get('retry-after')
  if (text === null) return undefined
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - Date.now()
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined
}

/** `X-RateLimit-Reset`, in seconds since the epoch. */
function resetOf(headers: Headers): number | undefined {
  const seconds = Number(headers.get('x-ratelimit-reset') ?? Number.NaN)
  return Number.isFinite(seconds) ? seconds * 1000 : undefined
}
