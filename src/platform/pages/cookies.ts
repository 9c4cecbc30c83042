/** The two cookies of the pages: of a person who is signed in, and of a visitor who is not yet. */
import { createHmac } from 'node:crypto'
import { singleHeader } from '../http/parse-request.ts'

/** The field of the token; every form has it. */
export const CSRF_FIELD = 'form'

/** The field that is another one each time that a page is shown: by it a form is known that is sent twice. */
export const SUBMISSION_FIELD = 'once'

/** What a browser brings: the secret of its session, and the secret that ties the forms of a visitor to the browser. */
export type Secrets = { session: string | undefined; visit: string | undefined }

const SESSION = 'berth_session'
const VISIT = 'berth_visit'

/**
 * The name of a cookie. `__Host-` ties it to this host, this path and https, and browsers refuse it over plain http: there,
 * which is for one's own machine, the name goes without (docs/sign-in-and-consent.md: Passwords and sessions).
 */
function cookieName(name: string, origin: string): string {
  return isSecure(origin) ? `__Host-${name}` : name
}

function isSecure(origin: string): boolean {
  return origin.startsWith('https:')
}

/**
 * The secrets in the `Cookie` header, by the grammar of RFC 6265 4.2.1: names are compared exactly, and around a pair only spaces and tabs are passed
 * over. A sub-domain may set any other name, such as ours behind U+00A0. A name that is there twice says two things, and so nothing.
 */
export function readCookies(rawHeaders: readonly string[], origin: string): Secrets {
  const pairs = (singleHeader(rawHeaders, 'cookie') ?? '').split(';').map((pair) => {
    const cut = pair.indexOf('=')
    return { name: pair.slice(0, Math.max(cut, 0)).replace(/^[ \t]+/, ''), value: pair.slice(cut + 1) }
  })
  const secretIn = (name: string) => {
    const matches = pairs.filter((pair) => pair.name === cookieName(name, origin))
    return matches.length === 1 ? /^(\w{43})[ \t]*$/.exec(matches[0]!.value)?.[1] : undefined
  }
  return { session: secretIn(SESSION), visit: secretIn(VISIT) }
}

/** The `Set-Cookie` headers that give a browser these secrets for as long as a session lasts at most; null takes one away, undefined leaves it. */
export function writeCookies(
  cookies: { session?: string | null | undefined; visit?: string | null | undefined },
  origin: string,
  lastMs: number,
): string[] {
  const age = lastMs / 1000
  const line = (name: string, value: string | null | undefined) =>
    value === undefined
      ? []
      : [
          `${cookieName(name, origin)}=${value ?? ''}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${value === null ? 0 : age}` +
            (isSecure(origin) ? '; Secure' : ''),
        ]
  return [...line(SESSION, cookies.session), ...line(VISIT, cookies.visit)]
}

/** The token that a form carries: only a page that was made for the holder of the secret has it. */
export function csrfTokenOf(secret: string): string {
  return createHmac('sha256', secret).update('form').digest('base64url')
}

/** The nonce of the console's Content-Security-Policy: one for each session, and no way back to its secret. */
export function nonceOf(secret: string): string {
  return createHmac('sha256', secret).update('nonce').digest('base64url')
}
