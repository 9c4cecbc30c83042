/** Bodies and answers of the runner protocol. docs/building.md: Runner protocol. */
import type { IncomingMessage } from 'node:http'
import { Ajv, type ValidateFunction } from 'ajv'
import type { Static, TSchema } from 'typebox'
import { readShortBody } from '../../platform/verdict/short-body.ts'
import type { EdgeResponse } from '../../platform/verdict/visitor-answer.ts'
import { READERS } from '../../readers.ts'

const ajv = new Ajv()
const compiled = new Map<TSchema, ValidateFunction>()

/** TABLE bodies of the protocol, by their reader. */
const MOST = {
  short: READERS['request of a runner'].bytes,
  log: READERS['log of a build'].bytes,
  finish: READERS['result of a build'].bytes,
} as const

/** Returns a JSON answer. */
export function json(status: number, body: unknown): EdgeResponse {
  const headers = { 'content-type': 'application/json', 'cache-control': 'no-store' }
  return { status, headers, body: typeof body === 'string' ? body : JSON.stringify(body) }
}

/** Returns an error with a code and a sentence. */
export function fault(status: number, code: string, message: string): EdgeResponse {
  return json(status, { error: { code, message } })
}

/** Returns the answer to a request whose body is not read to its end. */
export function closing(answer: EdgeResponse): EdgeResponse {
  return { ...answer, headers: { ...answer.headers, connection: 'close' } }
}

/** Returns 409: another attempt has the build, or it has ended. */
export function leaseLost(): EdgeResponse {
  return fault(409, 'lease_lost', 'The lease is lost: another attempt has the build, or it has ended. End its sandbox.')
}

/**
 * Reads and checks a JSON body. Returns an answer where it is too long (413) or invalid (400). Call it in the same event loop turn as
 * the request, before parts of the body are lost.
 */
export async function readJson<T extends TSchema>(
  request: IncomingMessage,
  schema: T,
  reader: keyof typeof MOST,
): Promise<{ value: Static<T> } | { answer: EdgeResponse }> {
  const text = await readShortBody(request, MOST[reader])
  if (text === undefined) {
    return { answer: closing(fault(413, 'payload_too_large', `The body has more than ${MOST[reader]} bytes.`)) }
  }
  const read = parseBody(text, schema)
  return 'value' in read ? read : { answer: fault(400, 'bad_request', read.sentence) }
}

/** Parses and checks a body. Returns a sentence where it is invalid. */
export function parseBody<T extends TSchema>(text: string, schema: T): { value: Static<T> } | { sentence: string } {
  const check = compiled.getOrInsertComputed(schema, () => ajv.compile(schema))
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return { sentence: 'The body should be JSON.' }
  }
  if (check(value)) return { value: value as Static<T> }
  return { sentence: `The body is wrong: ${ajv.errorsText(check.errors, { dataVar: 'body' })}.` }
}
