/** The cookies of the pages: of signed-in users, of anonymous sessions, the account that a browser had open last, what its last form changed, its theme and its time zone. */
import { createHmac } from 'node:crypto'
import { singleHeader } from '../http/parse-request.ts'
import { cookiePairs, soleCookie } from '../verdict/cookie-pairs.ts'

/** Field of the CSRF token; every form has it. */
export const CSRF_FIELD = 'form'

/** Hidden field with a new value per rendered page; identifies duplicate submissions. */
export const SUBMISSION_FIELD = 'once'

/** The theme of a browser; undefined: that of the system. */
export type Theme = 'light' | 'dark' | undefined

/**
 * Secrets of a browser: of its session, and of the forms of an anonymous session. `account`: the slug of the account that it had open last. `done`: a
 * sentence for the next page (done.ts). `timeZone`: a known one; undefined: UTC.
 */
export type BrowserCookies = Record<'session' | 'visit' | 'account' | 'done' | 'timeZone', string | undefined> & {
  theme: Theme
}

const SESSION = 'berth_session'
const VISIT = 'berth_visit'
const ACCOUNT = 'berth_account'
const THEME = 'berth_theme'
const TIME_ZONE = 'berth_time_zone'
const DONE = 'berth_done'
/** The next page, and reloads by its script meanwhile, show the sentence. */
const DONE_SECONDS = 15
/** Browsers keep no cookie longer. */
const CHOICE_SECONDS = 400 * 24 * 3600
const SECRET_VALUE = /^\w{43}$/
const SLUG_VALUE = /^[\w.-]{1,100}$/
const THEME_VALUE = /^(?:light|dark)$/
const TIME_ZONE_VALUE = /^[\w+/-]{1,64}$/
const DONE_VALUE = /^[\w-]{1,3000}\.[\w-]{43}$/

/**
 * Returns the name of a cookie. `__Host-` binds it to this host, this path and https. Browsers refuse that over plain http, so on localhost the name
 * has no prefix (docs/sign-in-and-consent.md: Passwords and sessions).
 */
function cookieName(name: string, origin: string): string {
  return isSecure(origin) ? `__Host-${name}` : name
}

function isSecure(origin: string): boolean {
  return origin.startsWith('https:')
}

/** Reads the cookies of a browser. A repeated name counts as absent. */
export function readCookies(rawHeaders: readonly string[], origin: string): BrowserCookies {
  const pairs = cookiePairs(singleHeader(rawHeaders, 'cookie'))
  const cookieIn = (name: string, form: RegExp) => {
    const value = soleCookie(pairs, cookieName(name, origin))
    return value !== undefined && form.test(value) ? value : undefined
  }
  const timeZone = cookieIn(TIME_ZONE, TIME_ZONE_VALUE)
  return {
    session: cookieIn(SESSION, SECRET_VALUE),
    visit: cookieIn(VISIT, SECRET_VALUE),
    account: cookieIn(ACCOUNT, SLUG_VALUE),
    done: cookieIn(DONE, DONE_VALUE),
    theme: cookieIn(THEME, THEME_VALUE) as Theme,
    timeZone: timeZone !== undefined && known.has(timeZone) ? timeZone : undefined,
  }
}

const known: ReadonlySet<string> = new Set(['UTC', ...Intl.supportedValuesOf('timeZone')])

/** Returns the names of all time zones, UTC first. Formatting throws for others. */
export function timeZones(): string[] {
  return [...known]
}

/** Returns the `Set-Cookie` headers with the longest lifetime of a session; null deletes a cookie, undefined keeps it. */
export function writeCookies(
  cookies: { [name in 'session' | 'visit' | 'theme' | 'timeZone']?: string | null | undefined } & {
    [name in 'account' | 'done']?: string | undefined
  },
  origin: string,
  lastMs: number,
): string[] {
  const age = lastMs / 1000
  const line = (name: string, value: string | null | undefined, seconds = age) =>
    value === undefined
      ? []
      : [
          `${cookieName(name, origin)}=${value ?? ''}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${value === null ? 0 : seconds}` +
            (isSecure(origin) ? '; Secure' : ''),
        ]
  return [
    ...line(SESSION, cookies.session),
    ...line(VISIT, cookies.visit),
    ...line(ACCOUNT, cookies.account),
    ...line(THEME, cookies.theme, CHOICE_SECONDS),
    ...line(TIME_ZONE, cookies.timeZone, CHOICE_SECONDS),
    ...line(DONE, cookies.done, DONE_SECONDS),
  ]
}

/** Returns the CSRF token of a session or anonymous session. */
export function csrfTokenOf(secret: string): string {
  return createHmac('sha256', secret).update('form').digest('base64url')
}

/** Returns the CSP nonce of the console: one per session, from which its secret cannot be derived. */
export function nonceOf(secret: string): string {
  return createHmac('sha256', secret).update('nonce').digest('base64url')
}
