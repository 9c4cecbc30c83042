/** TABLE the readers of a visitor's headers in the sites server, with what costs each the most. src/readers.ts. */

import { RETURN_PATH, SECRET_LENGTH } from '../../src/platform/verdict/site-sign-in.ts'
import { partsOf } from '../../src/sites/router/request.ts'
import { resolve } from '../../src/sites/router/resolve.ts'
import { readPinnedDeployment } from '../../src/sites/skew/wish.ts'
import { checkPreconditions, rangeApplies } from '../../src/sites/static/conditional.ts'
import { acceptedEncodings } from '../../src/sites/static/encodings.ts'
import { sliceOf } from '../../src/sites/static/ranges.ts'
import { bypassOf, keepBypass } from '../../src/sites/visitors/bypass-cookie.ts'
import { readOwnCookie, withoutOwnCookies } from '../../src/sites/visitors/cookies.ts'
import { answerAtDoor, isOfPerson } from '../../src/sites/visitors/sign-in.ts'
import { requestOf, siteOf } from '../sites/router/sites.ts'

export type HeaderReader = { units: readonly string[]; begins?: readonly string[]; read: (text: string) => unknown }

const SECRET = 'a'.repeat(SECRET_LENGTH)
const VISITOR = { scheme: 'https' as const, host: 'site.example', port: '', uri: '/', ip: '' }
const VALIDATORS = { tags: ['"a"', 'W/"b"'], lastModified: 0 }
const ANSWER = { setHeader() {}, appendHeader() {} } as never
const COOKIES = [';', '; ', ' ', '=', 'a=b; ', 'a=%41;', '\xa0', '\xa0;']

/** A request of which each of these headers, and the query, is this text. */
function withHeaders(text: string, ...names: string[]) {
  return { ...requestOf('GET /'), search: `?${text}`, headers: new Map(names.map((name) => [name, text])) }
}

const languages = siteOf({
  routes: [{ src: '/', locale: { redirect: { de: '/de', fr: '/fr' }, cookie: 'LANG' }, continue: true }],
})
const SUBJECTS = ['cookie', 'query'].flatMap((type) =>
  ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'].map((key) => ({ type, key }) as { type: 'cookie' | 'query'; key: string }),
)

/** A visitor who comes back from a sign-in. */
function finishSignIn(path: string): Promise<unknown> {
  const admission = { refuse: async () => undefined, redeem: async () => ({ secret: SECRET, seconds: 1 }) }
  const protection = { password: undefined, signIn: { covers: 'all' }, trustedIps: undefined, bypassHashes: new Set() }
  const request = { ...requestOf('GET /'), path: RETURN_PATH, search: `?code=${SECRET}` }
  const raw = { headers: { cookie: `__Host-berth_site_begun=${SECRET}.${path}` } }
  const guard = { protection, kind: 'production', through: 'domain' }
  const visit = { visitor: VISITOR, request, credentials: {} }
  return answerAtDoor(admission, guard as never, visit as never, { raw, response: ANSWER } as never)
}

export const HEADER_READERS: Readonly<Record<string, HeaderReader>> = {
  range: {
    units: [',', '0-1,', '-', '9', ' ,'],
    begins: ['', 'bytes=', 'bytes=0-1,'],
    read: (text) => sliceOf(text, 9),
  },
  'accept-encoding': {
    units: [',', ';', 'a,', 'br;', 'br;q=1,', ' ,', '0'],
    begins: ['', 'br;q=0.'],
    read: acceptedEncodings,
  },
  conditions: {
    units: ['"', '""', '"a",', 'W/', 'W/"a"', ',', ' ', 'a'],
    begins: ['', '"'],
    read: (text) => {
      for (const name of ['if-match', 'if-none-match', 'if-unmodified-since', 'if-modified-since'])
        checkPreconditions(new Map([[name, text]]), VALIDATORS)
      rangeApplies(text, '"a"', 0)
    },
  },
  dates: {
    units: [' ', '0', 'a', 'GMT'],
    begins: ['Mon, 01 Jan 2026 00:00:00 ', 'Monday, '],
    read: (text) => checkPreconditions(new Map([['if-modified-since', text]]), VALIDATORS),
  },
  skew: {
    units: [';', '__vdpl=;', 'dpl=&', 'dpl_', '/', '%41', ' '],
    begins: ['', 'https://', '__vdpl=dpl_', 'dpl='],
    read: (text) =>
      readPinnedDeployment(withHeaders(text, 'cookie', 'x-deployment-id', 'origin', 'referer', 'sec-fetch-site'), {
        allowedDomains: ['*.example.com'],
      } as never),
  },
  languages: {
    units: [',', ';', 'de,', 'de;q=1,', 'q=', '-', ' ', ...COOKIES],
    begins: ['', 'LANG=', 'de;'],
    read: async (text) => resolve(await languages, withHeaders(text, 'accept-language', 'cookie')),
  },
  'parts of a decision': {
    units: [...COOKIES, '&', 'a&', 'a=1&', '+', '%', '%F0%9F%98%80'],
    begins: ['', 'a='],
    read: (text) => partsOf(withHeaders(text, 'cookie'), SUBJECTS),
  },
  'a page for a user': {
    units: [',', ' ', 'text/html', 'text/html ', ';'],
    begins: ['', ',', 'text/html'],
    read: (text) =>
      isOfPerson({ visitor: VISITOR, request: requestOf('GET /') } as never, { headers: { accept: text } } as never),
  },
  'the end of a sign-in': { units: ['.', 'Ly8', 'L2E', 'Lw', 'JTQx', '=', ';'], read: finishSignIn },
  'a bypass secret': {
    units: ['&', ',', 'a', 'x-vercel-protection-bypass&', ...COOKIES],
    begins: ['', 'x-vercel-protection-bypass='],
    read: (text) => {
      const headers = { cookie: text, 'x-vercel-set-bypass-cookie': text }
      const visitor = { ...VISITOR, uri: `/?${text}` }
      bypassOf({ headers } as never, visitor)
      keepBypass({ headers: { ...headers, 'x-vercel-protection-bypass': text } } as never, ANSWER, visitor)
    },
  },
}

export const COOKIE_READERS: Readonly<Record<string, HeaderReader>> = {
  'a cookie of Berth': {
    units: [...COOKIES, '__Host-berth_site=;'],
    read: (text) => readOwnCookie(text, 'berth_site', true),
  },
  'cookies of a site': {
    units: [...COOKIES, 'berth_site=;', '__Host-;'],
    begins: ['', '__host-'],
    read: withoutOwnCookies,
  },
}
