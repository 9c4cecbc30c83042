/** Forms of the pages: what is sent, and whether it was sent from a page of ours. */
import { hash, timingSafeEqual } from 'node:crypto'
import type { TSchema } from 'typebox'
import type { Deps } from '../../context.ts'
import { READERS } from '../../readers.ts'
import { singleHeader } from '../http/parse-request.ts'
import { decodeText, pairsOf, unescapeForm } from '../http/query.ts'
import { quotedField, validate } from '../http/validate.ts'
import { Refusal, refuse } from '../refusals/refusal.ts'
import type { BrowserRequest, BrowserSession } from './browser-session.ts'
import { CSRF_FIELD, csrfTokenOf, SUBMISSION_FIELD } from './cookies.ts'
import type { Screen } from './screen.ts'

/** The field that asks for the form again, with what is sent in it: nothing is done yet. */
export const REVIEW_FIELD = 'review'
/** The fields that are about the form and not of it. */
const OWN_FIELDS: readonly string[] = [CSRF_FIELD, SUBMISSION_FIELD, REVIEW_FIELD]

const MAX_FIELDS = READERS.form.parts

/** A form as it was sent. */
export type SubmittedForm = {
  token: string | undefined
  isReview: boolean
  /** By what it is known when it is sent twice; undefined where its page did not say. */
  submissionId: string | undefined
  /** The declared fields as a page can show them: before the schema, and without bytes that are no text. */
  rawFields: Record<string, string | string[]>
  /** The declared fields. Refuses: bad_request 400. */
  fields: () => unknown
}

/**
 * The declared fields of a form: as they were typed, and (`fields`) as the schema has them, or refused. A field whose schema is an
 * array gathers every time it is given; any other one is given once. Refuses: unsupported_media_type 415. `fields` refuses: bad_request 400.
 */
function readFields(
  schema: TSchema | undefined,
  contentType: string | undefined,
  bytes: Buffer | undefined,
  url: string,
): SubmittedForm {
  const text = bytes?.toString('latin1') ?? ''
  if (text !== '' && !/^application\/x-www-form-urlencoded\s*(;|$)/i.test(contentType ?? '')) {
    refuse('unsupported_media_type', 'The body must be a form (application/x-www-form-urlencoded).')
  }
  const properties = (schema as { properties?: Record<string, { type?: string }> } | undefined)?.properties ?? {}
  const fields: Record<string, string | string[]> = {}
  const own: Record<string, string | undefined> = {}
  const faults: string[] = []
  let count = 0
  for (const pair of pairsOf(text)) {
    if (++count > MAX_FIELDS) {
      faults.unshift(`the form has more than ${MAX_FIELDS} fields. Send fewer at a time`)
      break
    }
    if (pair === '') continue
    const { name, value, fault } = readPair(pair)
    if (fault !== undefined) faults.push(fault)
    if (OWN_FIELDS.includes(name)) own[name] = value
    if (!Object.hasOwn(properties, name)) continue
    const previous = fields[name]
    if (Array.isArray(previous)) previous.push(value)
    else if (properties[name]!.type === 'array') fields[name] = [value]
    else if (previous === undefined) fields[name] = value
    else faults.push(`\`${name}\` is given more than once. Check what is shown and send the form again`)
  }
  return {
    token: own[CSRF_FIELD],
    isReview: own[REVIEW_FIELD] !== undefined,
    submissionId: own[SUBMISSION_FIELD] === undefined ? undefined : hash('sha256', `${url}\n${text}`, 'base64url'),
    rawFields: fields,
    fields() {
      if (faults[0] !== undefined) refuse('bad_request', `Invalid request: ${faults[0]}.`)
      return schema === undefined ? {} : validate(schema, fields)
    },
  }
}

/**
 * Lets a form pass that a page of ours sent: the browser says so, where it says anything, and the token is the one of this
 * browser's session. Refuses: form_not_ours 403.
 */
function mustBeOurs(
  rawHeaders: readonly string[],
  origins: readonly string[],
  token: string | undefined,
  expected: string | undefined,
): void {
  const site = singleHeader(rawHeaders, 'sec-fetch-site')
  if (site !== undefined && site !== 'same-origin') refuse('form_not_ours')
  const origin = singleHeader(rawHeaders, 'origin')
  if (origin !== undefined && origin !== 'null' && !origins.includes(origin)) {
    refuse('form_not_ours', `This form was not sent from ${origins[0]}. Open the page there and try again.`)
  }
  // Pages that send no Referer send `Origin: null`. Over https a browser then says by Sec-Fetch-Site where the form was.
  if (origin === 'null' && site === undefined && origins[0]!.startsWith('https:')) refuse('form_not_ours')
  const actual = Buffer.from(token ?? '')
  const expectedBytes = Buffer.from(expected ?? '')
  if (expectedBytes.length === 0 || actual.length !== expectedBytes.length || !timingSafeEqual(actual, expectedBytes))
    refuse('form_not_ours')
}

/** A field as it was sent. `value`: as a page can show it; `fault`: why it is no text, and what to do, where it is none. */
type SentField = { name: string; value: string; fault?: string }

function readPair(pair: string): SentField {
  const cut = pair.indexOf('=')
  const sentValue = cut < 0 ? '' : pair.slice(cut + 1)
  const name = decodeText(cut < 0 ? pair : pair.slice(0, cut))
  // A name is never mended: it could become that of another field.
  if (name === undefined) return { name: '', value: '', fault: 'the name of a field is not valid text' }
  const value = decodeText(sentValue)
  if (value !== undefined) return { name, value }
  const shown = showableText(sentValue)
  return {
    name,
    value: shown,
    fault: `${quotedField(name)} holds bytes that are no text. Check what is shown and send the form again`,
  }
}

/** What a page shows of a value that is no text: without NUL, and with U+FFFD in the place of bytes that are not UTF-8. A bad escape stays as it is. */
function showableText(sent: string): string {
  return unescapeForm(Buffer.from(sent, 'latin1'), true)!.toString()
}

/** The form as it was sent, by whomever. Refuses: unsupported_media_type 415. Its `fields` refuses: bad_request 400. */
export function readSubmittedForm(screen: Screen, { raw, body, originalUrl }: BrowserRequest): SubmittedForm {
  return readFields(screen.form, singleHeader(raw.rawHeaders, 'content-type'), body as Buffer | undefined, originalUrl)
}

/** Lets a form pass that a page of ours sent to this browser. Refuses: form_not_ours 403. */
export function verifyCsrf(deps: Deps, sent: SubmittedForm, request: BrowserRequest, guest: BrowserSession): void {
  // A visitor who has no cookie was shown no form.
  const expected = guest.newVisit === undefined ? guest.csrfToken : undefined
  mustBeOurs(request.raw.rawHeaders, originsOf(deps, request), sent.token, expected)
}

/** Whether the person asked for a page, by a page of ours or by its address, where the browser says so. W3C Fetch Metadata; Sec-Purpose. */
export function isUserNavigation({ raw: { rawHeaders } }: BrowserRequest): boolean {
  const site = singleHeader(rawHeaders, 'sec-fetch-site') ?? 'none'
  return ['none', 'same-origin'].includes(site) && !singleHeader(rawHeaders, 'sec-purpose')?.includes('prefetch')
}

/** Whether a page of ours sent a form whose session may be over: the browser says so, or the token is of this session. */
export function isSameOriginForm(
  { raw: { rawHeaders } }: BrowserRequest,
  origins: readonly string[],
  { token }: SubmittedForm,
  { session }: BrowserSession,
): boolean {
  const isFromHere = singleHeader(rawHeaders, 'sec-fetch-site') === 'same-origin'
  try {
    mustBeOurs(rawHeaders, origins, token, isFromHere ? token : session && csrfTokenOf(session))
    return true
  } catch (error) {
    if (error instanceof Refusal) return false
    throw error
  }
}

/** The origins that pages of ours have: the one that the setting says; without it, also the one that was asked. */
export function originsOf(deps: Deps, { raw: { rawHeaders } }: BrowserRequest): string[] {
  const { origin, protocol } = new URL(deps.origin())
  return deps.config.publicUrl === undefined ? [origin, `${protocol}//${singleHeader(rawHeaders, 'host')}`] : [origin]
}
