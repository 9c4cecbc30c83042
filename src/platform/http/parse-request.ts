/** Parses requests strictly: a value is accepted unchanged or refused with a message that names it. */

import { isUtf8 } from 'node:buffer'
import type { TSchema } from 'typebox'
import type { Params } from '../../context.ts'
import { READERS } from '../../readers.ts'
import { Refusal, refuse } from '../refusals/refusal.ts'
import { Type } from '../schema/builder.ts'
import { DEEPEST, excessOf, MAX_PARTS } from '../schema/json-weight.ts'
import { refuseRepeated, splitPairs } from './query.ts'
import { mustBeDeclared, pickDeclared, quotedField, truncateText, validate } from './validate.ts'

/** Returns the value of a header; undefined if it is missing or sent twice. `name` is in lower case. */
export function singleHeader(rawHeaders: readonly string[], name: string): string | undefined {
  let value: string | undefined
  for (let at = 0; at < rawHeaders.length; at += 2) {
    if (rawHeaders[at]!.length !== name.length || rawHeaders[at]!.toLowerCase() !== name) continue
    if (value !== undefined) return undefined
    value = rawHeaders[at + 1]
  }
  return value
}

/** Returns the values of a repeatable header as one comma-separated list; empty if it is missing. */
export function allOf(rawHeaders: readonly string[], name: string): string {
  const values: string[] = []
  for (let at = 0; at < rawHeaders.length; at += 2)
    if (rawHeaders[at]!.length === name.length && rawHeaders[at]!.toLowerCase() === name)
      values.push(rawHeaders[at + 1]!)
  return values.join()
}

/**
 * Returns the bytes of a text body without a byte order mark (RFC 8259 8.1). Refuses: unsupported_media_type 415 for a content coding such as gzip
 * (RFC 9110 8.4).
 */
export function textBodyOf(rawHeaders: readonly string[], bytes: Buffer | undefined): Buffer | undefined {
  if (bytes === undefined || bytes.length === 0) return bytes
  for (let at = 0; at < rawHeaders.length; at += 2) {
    if (rawHeaders[at]!.toLowerCase() !== 'content-encoding') continue
    const coding = rawHeaders[at + 1]!.trim()
    if (!/^(identity)?$/i.test(coding)) {
      const message = `The body is sent with \`Content-Encoding: ${truncateText(coding)}\`. Send it as it is, without a Content-Encoding.`
      refuse('unsupported_media_type', message)
    }
  }
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes
}

/** Returns the path parameters. Refuses: bad_request 400 for a NUL, which neither database stores. */
export function readParams(params: Params): Params {
  for (const [name, value] of Object.entries(params)) {
    if (value.includes('\0')) refuse('bad_request', `Invalid request: \`${name}\` contains a NUL character.`)
  }
  return params
}

/**
 * Parses the body of a route: JSON, plain text or a form. `dropped` receives the paths of undeclared JSON fields. Refuses: unsupported_media_type
 * 415, bad_request 400; of a form invalid_request 400.
 */
export function readBodyOf(
  route: { auth?: string; body?: TSchema; textBody?: true; formBody?: true; anyTypeBody?: true },
  contentType: string | undefined,
  bytes: Buffer | undefined,
  dropped?: string[],
): unknown {
  if (route.textBody) return readText(contentType, bytes)
  if (route.anyTypeBody) return readBody(route.body, 'application/json', bytes)
  if (route.auth === 'operator') return readStrictBody(route.body, contentType, bytes)
  if (!route.formBody) return readBody(route.body, contentType, bytes, dropped)
  try {
    if (!isForm(contentType)) return withValues(readBody(route.body, contentType, bytes) as Record<string, unknown>)
    return withValues(pickDeclared(route.body!, validate(route.body!, readForm(bytes))) as Record<string, unknown>)
  } catch (error) {
    // OAuth has its own error code (RFC 6749, 5.2).
    if (error instanceof Refusal && error.key === 'bad_request') refuse('invalid_request', error.message)
    throw error
  }
}

/** Returns the OAuth parameters with a value: an empty one counts as omitted. RFC 6749 3.1 and 3.2. */
export function withValues<P extends Record<string, unknown>>(parameters: P): P {
  return Object.fromEntries(Object.entries(parameters).filter(([, value]) => value !== '')) as P
}

function isForm(contentType: string | undefined): boolean {
  return /^application\/x-www-form-urlencoded\s*(;|$)/i.test(contentType ?? '')
}

/** Parses a form. Refuses: bad_request 400 for a bad escape, invalid UTF-8, a NUL, too many fields, or a repeated field. */
function readForm(bytes: Buffer | undefined): Record<string, string> {
  const text = bytes?.toString('latin1') ?? ''
  const { values, again, fault } = splitPairs(text, READERS['form of a client'].parts, 'the form')
  if (fault) refuse('bad_request', `Invalid request: ${fault}.`)
  for (const key of again.keys()) refuseRepeated(key)
  return { ...values }
}

const NOTHING = Type.Object({})

/**
 * Parses a JSON body of the operator API. Its clients send no unknown fields, so one is an error. Refuses as `readBody`, and 400 for an undeclared
 * field, which it names.
 */
function readStrictBody(
  schema: TSchema | undefined,
  contentType: string | undefined,
  bytes: Buffer | undefined,
): unknown {
  const body = readJson(contentType, bytes)
  if (schema !== undefined) validate(schema, body)
  mustBeDeclared(schema ?? NOTHING, body, '')
  return schema === undefined ? undefined : pickDeclared(schema, body)
}

/** Returns the declared fields of a JSON body. Refuses 415, and 400 for invalid JSON or a schema mismatch. */
function readBody(
  schema: TSchema | undefined,
  contentType: string | undefined,
  bytes: Buffer | undefined,
  dropped?: string[],
): unknown {
  if (schema === undefined) return undefined
  const body = readJson(contentType, bytes)
  return pickDeclared(schema, validate(schema, body), dropped)
}

/** Parses any JSON; an empty object without a body. */
function readJson(contentType: string | undefined, bytes: Buffer | undefined): unknown {
  const present = bytes !== undefined && bytes.length > 0
  if (present && !/^application\/(json|[\w.+-]+\+json)\s*(;|$)/i.test(contentType ?? ''))
    refuse('unsupported_media_type')
  return present ? parseJson(bytes) : {}
}

/** Returns a plain text body. Refuses 415, and 400 for invalid UTF-8 or a NUL. */
function readText(contentType: string | undefined, bytes: Buffer | undefined): string {
  if (bytes === undefined || bytes.length === 0) return ''
  if (!/^text\/plain\s*(;|$)/i.test(contentType ?? '')) {
    refuse('unsupported_media_type', 'The body must be text/plain.')
  }
  if (!isUtf8(bytes)) refuse('bad_request', 'Invalid request: the body is not valid UTF-8.')
  const text = bytes.toString('utf8')
  if (text.includes('\0')) refuse('bad_request', 'Invalid request: the body contains a NUL character.')
  return text
}

/** Refuses: bad_request 400, for a body of more than `max` parts, or of too many levels. */
export function refuseExcess(excess: 'parts' | 'depth', max: number): never {
  if (excess === 'depth') refuse('bad_request', `Invalid request: the body is nested more than ${DEEPEST} levels deep.`)
  const message = `the body holds more than ${max.toLocaleString('en')} names and values. Send it in several requests`
  refuse('bad_request', `Invalid request: ${message}.`)
}

function parseJson(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) refuse('bad_request', 'Invalid request: the body is not valid UTF-8.')
  const excess = excessOf(bytes)
  if (excess !== undefined) refuseExcess(excess, MAX_PARTS)
  let value: unknown
  try {
    value = JSON.parse(bytes.toString('utf8'))
  } catch (error) {
    // The parser's own message quotes the body, which may contain a secret, so only the position is used.
    const place = /at position \d+/.exec(String(error))?.[0]
    refuse('bad_request', `Invalid request: the body is not valid JSON${place ? ` (${place})` : ''}.`)
  }
  mustBeStorable(value)
  return value
}

/** Refuses: bad_request 400, for a value that a database cannot store unchanged. `place`: its path in the body. */
export function mustBeStorable(value: unknown, place?: string): void {
  const found = errorIn(value)
  const fault = found && place !== undefined ? below(place, found) : found
  if (fault) refuse('bad_request', `Invalid request: ${quotedField(fault.place)} ${fault.what}.`)
}

type FieldError = { place: string; what: string }

/** Finds NULs, lone surrogates, numbers beyond 2^53 and keys that would pollute a prototype. Builds the path only for a finding. */
function errorIn(value: unknown): FieldError | undefined {
  if (typeof value === 'string') return textError(value)
  if (typeof value === 'number' && Math.abs(value) > Number.MAX_SAFE_INTEGER)
    return { place: '', what: 'is beyond 2^53' }
  if (typeof value !== 'object' || value === null) return undefined
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length; at++) {
      const fault = errorIn(value[at])
      if (fault) return below(String(at), fault)
    }
    return undefined
  }
  for (const key of Object.keys(value)) {
    if (key === '__proto__') return { place: key, what: 'is not allowed' }
    const fault = textError(key) ?? errorIn((value as Record<string, unknown>)[key])
    if (fault) return below(key, fault)
  }
  return undefined
}

function below(key: string, { place, what }: FieldError): FieldError {
  return { place: place === '' ? key : `${key}.${place}`, what }
}

function textError(text: string): FieldError | undefined {
  if (text.includes('\0')) return { place: '', what: 'contains a NUL character' }
  if (!text.isWellFormed()) return { place: '', what: 'contains a lone surrogate' }
  return undefined
}
