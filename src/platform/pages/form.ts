/** Parses submitted forms and checks their origin. */
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

/** Field that requests the form again with its input; nothing is saved yet. */
export const REVIEW_FIELD = 'review'
/** Hidden field with the id of the project that the page of the form showed. */
export const SHOWN_PROJECT_FIELD = 'shown'
const OWN_FIELDS: readonly string[] = [CSRF_FIELD, SUBMISSION_FIELD, REVIEW_FIELD, SHOWN_PROJECT_FIELD]

const MAX_FIELDS = READERS.form.parts

export type SubmittedForm = {
  token: string | undefined
  isReview: boolean
  /** `submissionId` identifies duplicate submissions. Undefined is what the page did not send. */
  ids: { submissionId: string | undefined; shownProject: string | undefined }
  /** Declared fields for display, before validation and without invalid bytes. */
  rawFields: Record<string, string | string[]>
  /** Declared fields. Refuses: bad_request 400. */
  fields: () => unknown
}

/**
 * Reads the declared fields of a form, as typed and (`fields`) validated. A field with an array schema may repeat. Refuses: unsupported_media_type
 * 415. `fields` refuses: bad_request 400.
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
    ids: {
      submissionId: own[SUBMISSION_FIELD] === undefined ? undefined : hash('sha256', `${url}\n${text}`, 'base64url'),
      shownProject: own[SHOWN_PROJECT_FIELD],
    },
    rawFields: fields,
    fields() {
      if (faults[0] !== undefined) refuse('bad_request', `Invalid request: ${faults[0]}.`)
      return schema === undefined ? {} : validate(schema, fields)
    },
  }
}

/** Checks that the form is from a page of this service, by browser headers and the CSRF token. Refuses: form_not_ours 403. */
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
  // Pages without Referer send `Origin: null`. Over https a browser then sends Sec-Fetch-Site.
  if (origin === 'null' && site === undefined && origins[0]!.startsWith('https:')) refuse('form_not_ours')
  const actual = Buffer.from(token ?? '')
  const expectedBytes = Buffer.from(expected ?? '')
  if (expectedBytes.length === 0 || actual.length !== expectedBytes.length || !timingSafeEqual(actual, expectedBytes))
    refuse('form_not_ours')
}

/** A submitted field. `value`: for display; `fault`: what is wrong with text that is not valid. */
type SentField = { name: string; value: string; fault?: string }

function readPair(pair: string): SentField {
  const cut = pair.indexOf('=')
  const sentValue = cut < 0 ? '' : pair.slice(cut + 1)
  const name = decodeText(cut < 0 ? pair : pair.slice(0, cut))
  // A repaired name could become that of another field.
  if (name === undefined) return { name: '', value: '', fault: 'the name of a field is not valid text' }
  const value = decodeText(sentValue)
  if (value !== undefined) return { name, value }
  const shown = showableText(sentValue)
  return {
    name,
    value: shown,
    fault: `${quotedField(name)} contains invalid characters. Check it and send the form again`,
  }
}

/** Replaces invalid UTF-8 by U+FFFD and drops NULs, for display. A bad escape stays. */
function showableText(sent: string): string {
  return unescapeForm(Buffer.from(sent, 'latin1'), true)!.toString()
}

/** Parses a form from any source. Refuses: unsupported_media_type 415. Its `fields` refuses: bad_request 400. */
export function readSubmittedForm(screen: Screen, { raw, body, originalUrl }: BrowserRequest): SubmittedForm {
  return readFields(screen.form, singleHeader(raw.rawHeaders, 'content-type'), body as Buffer | undefined, originalUrl)
}

/** Checks that a form was rendered for this browser. Refuses: form_not_ours 403. */
export function verifyCsrf(deps: Deps, sent: SubmittedForm, request: BrowserRequest, guest: BrowserSession): void {
  // Without a cookie no form was rendered for this browser.
  const expected = guest.newVisit === undefined ? guest.csrfToken : undefined
  mustBeOurs(request.raw.rawHeaders, originsOf(deps, request), sent.token, expected)
}

/** Whether the user navigated to a page from this service or by its URL, as far as the browser reports it. W3C Fetch Metadata; Sec-Purpose. */
export function isUserNavigation({ raw: { rawHeaders } }: BrowserRequest): boolean {
  const site = singleHeader(rawHeaders, 'sec-fetch-site') ?? 'none'
  return ['none', 'same-origin'].includes(site) && !singleHeader(rawHeaders, 'sec-purpose')?.includes('prefetch')
}

/** Whether a form is from this service, even if its session expired: by browser headers or the CSRF token. */
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

/** Returns the origins of this service: that of the setting; without it, also that of the request. */
export function originsOf(deps: Deps, { raw: { rawHeaders } }: BrowserRequest): string[] {
  const { origin, protocol } = new URL(deps.origin())
  return deps.config.publicUrl === undefined ? [origin, `${protocol}//${singleHeader(rawHeaders, 'host')}`] : [origin]
}
