/** Bodies and answers of the runner protocol. docs/building.md: Runner protocol. */
import type { IncomingMessage } from 'node:http'
import { Ajv, type ValidateFunction } from 'ajv'
import type { Static, TSchema } from 'typebox'
import { MAX_PARTS, parseWeighed } from '../../platform/schema/json-weight.ts'
import { closing, json } from '../../platform/verdict/plain-answer.ts'
import { readShortBody } from '../../platform/verdict/short-body.ts'
import type { EdgeResponse } from '../../platform/verdict/visitor-answer.ts'
import { READERS } from '../../readers.ts'

const ajv = new Ajv()
const compiled = new Map<TSchema, ValidateFunction>()

const FINISH = READERS['result of a build']
/** TABLE bodies of the protocol: bytes, and names, values and containers. A file of a result is a container with six fields. */
const LIMITS = {
  short: { bytes: READERS['request of a runner'].bytes, parts: MAX_PARTS },
  log: { bytes: READERS['log of a build'].bytes, parts: MAX_PARTS },
  finish: { bytes: FINISH.bytes, parts: 13 * (FINISH.parts + 1) },
} as const
export type BodyKind = keyof typeof LIMITS

/** Returns an error with a code and a sentence. */
export function fault(status: number, code: string, message: string): EdgeResponse {
  return json(status, { error: { code, message } })
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
  kind: BodyKind,
): Promise<{ value: Static<T> } | { answer: EdgeResponse }> {
  const { bytes } = LIMITS[kind]
  const text = await readShortBody(request, bytes)
  if (text === undefined) {
    return { answer: closing(fault(413, 'payload_too_large', `The body has more than ${bytes} bytes.`)) }
  }
  const read = parseBody(text, schema, kind)
  return 'value' in read ? read : { answer: fault(400, 'bad_request', read.sentence) }
}

/** Parses and checks a body. Returns a sentence where it is invalid. */
export function parseBody<T extends TSchema>(
  text: string,
  schema: T,
  kind: BodyKind,
): { value: Static<T> } | { sentence: string } {
  const read = parseWeighed(text, LIMITS[kind].parts)
  if ('sentence' in read) return { sentence: `The body ${read.sentence}.` }
  const check = compiled.getOrInsertComputed(schema, () => ajv.compile(schema))
  if (check(read.value)) return { value: read.value as Static<T> }
  return { sentence: `The body is wrong: ${ajv.errorsText(check.errors, { dataVar: 'body' })}.` }
}
