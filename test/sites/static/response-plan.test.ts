/** How a static file is answered. docs/deploying-sites.md: Static files. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  planResponse,
  type ResponsePlan,
  type RuleHeaders,
  type StaticEntry,
} from '../../../src/sites/static/response-plan.ts'

const PAGE: StaticEntry = {
  path: '/docs/über.html',
  digest: 'd'.repeat(64),
  size: 5000,
  contentType: 'text/html; charset=utf-8',
  status: 200,
  forms: [],
}
const PLAIN = `"${PAGE.digest}"`
const BR = `W/"${PAGE.digest}-br"`
const ZSTD = `W/"${PAGE.digest}-zstd"`
const BOTH: StaticEntry = {
  ...PAGE,
  forms: [
    { encoding: 'zstd', size: 1100 },
    { encoding: 'br', size: 1000 },
  ],
}
const PICTURE: StaticEntry = { ...PAGE, path: '/a.png', contentType: 'image/png' }
const NO_RULES: RuleHeaders = { headers: [], cookies: [], responseTransforms: [] }

function plan(
  entry: StaticEntry,
  headers: Record<string, string> = {},
  { method = 'GET', rules = {} }: { method?: string; rules?: Partial<RuleHeaders> } = {},
): ResponsePlan {
  return planResponse({ method, headers: new Map(Object.entries(headers)) }, entry, { ...NO_RULES, ...rules })
}

/** A plan in a line: `200 br 0+1000`. */
function lineOf({ status, body, wanted, headers }: ResponsePlan): string {
  const bytes = body.kind === 'file' ? ` ${body.encoding ?? 'plain'} ${body.slice.first}+${body.slice.length}` : ''
  const sent = body.kind === 'file' ? bytes : body.kind === 'text' ? ' text' : ''
  if (body.kind === 'file') assert.equal(headers['content-length'], String(body.slice.length))
  return `${status}${sent}${wanted === undefined ? '' : ` wants ${wanted}`}`
}

test('a file is sent whole, with its type, its digest as tag, and so that it is asked about each time', () => {
  const whole = plan(PAGE)
  assert.equal(lineOf(whole), '200 plain 0+5000')
  assert.deepEqual(whole.headers, {
    'accept-ranges': 'bytes',
    'cache-control': 'public, max-age=0, must-revalidate',
    'content-disposition': 'inline; filename="%C3%BCber.html"',
    'content-length': '5000',
    'content-type': 'text/html; charset=utf-8',
    etag: PLAIN,
    vary: 'accept-encoding',
  })
})

test('HEAD has the headers of GET and no body, and asks for no form', () => {
  for (const headers of [{}, { 'accept-encoding': 'br' }, { range: 'bytes=0-1' }] as Record<string, string>[]) {
    const { range: _, ...others } = headers
    const head = plan(BOTH, headers, { method: 'HEAD' })
    assert.deepEqual(head.headers, plan(BOTH, others).headers)
    assert.deepEqual([head.status, head.body], [200, { kind: 'none' }])
  }
  assert.equal(plan(PAGE, { 'accept-encoding': 'br' }, { method: 'HEAD' }).wanted, undefined)
})

test('other methods are answered 405 with those that there are', () => {
  for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH']) {
    const refused = plan(PAGE, { 'if-none-match': PLAIN, range: 'bytes=0-1' }, { method })
    assert.equal(lineOf(refused), '405 text')
    assert.deepEqual([refused.headers.allow, refused.headers.etag], ['GET, HEAD', undefined])
  }
})

/** TABLE requests for a page, and the answer where no form is there, and where both are. */
const NEGOTIATED: readonly (readonly [headers: Record<string, string>, none: string, both: string])[] = [
  [{}, '200 plain 0+5000', '200 plain 0+5000'],
  [{ 'accept-encoding': 'gzip, br, zstd' }, '200 plain 0+5000 wants br', '200 br 0+1000'],
  [{ 'accept-encoding': 'zstd' }, '200 plain 0+5000 wants zstd', '200 zstd 0+1100'],
  [{ 'accept-encoding': 'br;q=0.1, zstd' }, '200 plain 0+5000 wants zstd', '200 zstd 0+1100'],
  [{ 'accept-encoding': 'gzip' }, '200 plain 0+5000', '200 plain 0+5000'],
  // A part is of the plain form, because two servers may encode a file differently.
  [{ 'accept-encoding': 'br', range: 'bytes=0-9' }, '206 plain 0+10', '206 plain 0+10'],
  [{ 'accept-encoding': 'br', range: 'bytes=-500' }, '206 plain 4500+500', '206 plain 4500+500'],
  [{ 'accept-encoding': 'br', range: 'bytes=0-1,3-4' }, '200 plain 0+5000 wants br', '200 br 0+1000'],
  [{ 'accept-encoding': 'br', range: 'bytes=5000-' }, '416 text', '416 text'],
  [{ range: 'bytes=0-9', 'if-range': PLAIN }, '206 plain 0+10', '206 plain 0+10'],
  [{ range: 'bytes=0-9', 'if-range': '"x"' }, '200 plain 0+5000', '200 plain 0+5000'],
  [{ range: 'bytes=5000-', 'if-range': '"x"' }, '200 plain 0+5000', '200 plain 0+5000'],
  [{ range: 'bytes=0-9', 'if-range': BR, 'accept-encoding': 'br' }, '200 plain 0+5000 wants br', '200 br 0+1000'],
  // A precondition comes before a range.
  [{ range: 'bytes=0-9', 'if-none-match': PLAIN }, '304', '304'],
  [{ range: 'bytes=9000-', 'if-match': '"x"' }, '412 text', '412 text'],
  [{ 'if-match': PLAIN, 'accept-encoding': 'br' }, '200 plain 0+5000', '200 plain 0+5000'],
  [{ 'if-match': BR, 'accept-encoding': 'br' }, '412 text', '412 text'],
]

test('the form, the part and the status follow from the request and from what is there', () => {
  for (const [headers, none, both] of NEGOTIATED) {
    assert.equal(lineOf(plan(PAGE, headers)), none, JSON.stringify(headers))
    assert.equal(lineOf(plan(BOTH, headers)), both, JSON.stringify(headers))
  }
})

test('where one accepted form is there it is sent, and no other is asked for', () => {
  const zstdOnly = { ...PAGE, forms: [{ encoding: 'zstd' as const, size: 1100 }] }
  assert.equal(lineOf(plan(zstdOnly, { 'accept-encoding': 'br, zstd' })), '200 zstd 0+1100')
  assert.equal(lineOf(plan(zstdOnly, { 'accept-encoding': 'br' })), '200 plain 0+5000 wants br')
})

test('each form has a tag of its own, and a client with any form that they accept needs no other', () => {
  const accepting = { 'accept-encoding': 'br, zstd' }
  assert.deepEqual(
    [
      plan(BOTH).headers.etag,
      plan(BOTH, accepting).headers.etag,
      plan(BOTH, { 'accept-encoding': 'zstd' }).headers.etag,
    ],
    [PLAIN, BR, ZSTD],
  )
  assert.equal(plan(BOTH, accepting).headers['content-encoding'], 'br')
  for (const [entry, tag] of [
    [PAGE, PLAIN],
    [PAGE, BR],
    [BOTH, PLAIN],
    [BOTH, BR],
    [BOTH, ZSTD],
  ] as const) {
    const known = plan(entry, { ...accepting, 'if-none-match': tag })
    assert.deepEqual([known.status, known.headers.etag], [304, tag])
  }
  // A cache asks with the tags of all forms that it has, also of those that this visitor cannot read.
  assert.equal(lineOf(plan(BOTH, { 'if-none-match': BR })), '200 plain 0+5000')
  assert.equal(plan(BOTH, { 'if-none-match': `${BR}, ${PLAIN}` }).headers.etag, PLAIN)
})

test('304 and refusals carry no header of a body that is not there, and keep those of the rules', () => {
  const rules = {
    headers: [
      { name: 'content-security-policy', value: "default-src 'self'" },
      { name: 'cache-control', value: 'public, max-age=31536000, immutable' },
    ],
  }
  const known = plan(PAGE, { 'if-none-match': PLAIN }, { rules })
  assert.deepEqual(known.headers, {
    'accept-ranges': 'bytes',
    'cache-control': 'public, max-age=31536000, immutable',
    'content-security-policy': "default-src 'self'",
    etag: PLAIN,
    vary: 'accept-encoding',
  })
  const behind = plan(PAGE, { range: 'bytes=9000-' }, { rules })
  assert.equal(behind.headers['content-range'], 'bytes */5000')
  assert.equal(behind.headers['content-security-policy'], "default-src 'self'")
  assert.equal(behind.headers['cache-control'], 'public, max-age=0, must-revalidate')
  assert.equal(behind.headers['content-type'], 'text/plain; charset=utf-8')
  assert.equal(behind.body.kind === 'text' && String(behind.body.text.length), behind.headers['content-length'])
})

test('a part names its place and the tag of the whole', () => {
  const { headers } = plan(PAGE, { range: 'bytes=10-19', 'accept-encoding': 'br' })
  assert.deepEqual(
    [headers['content-range'], headers['content-length'], headers.etag, headers['content-encoding'], headers.vary],
    ['bytes 10-19/5000', '10', PLAIN, undefined, 'accept-encoding'],
  )
})

test('the page of an error answers every method, whole and without conditions, and may be encoded', () => {
  const page = { ...BOTH, status: 404 }
  for (const method of ['GET', 'POST', 'DELETE']) {
    const answer = plan(page, { 'if-none-match': PLAIN, 'if-match': '"x"', range: 'bytes=0-1' }, { method })
    assert.equal(lineOf(answer), '404 plain 0+5000')
  }
  assert.equal(lineOf(plan(page, { 'accept-encoding': 'br', 'if-none-match': BR })), '404 br 0+1000')
  assert.equal(lineOf(plan(page, {}, { method: 'HEAD' })), '404')
  assert.equal(plan(page, {}, { method: 'HEAD' }).headers['content-length'], '5000')
})

test('a status that has no body gets none', () => {
  for (const status of [204, 205, 304]) {
    const { headers, body } = plan({ ...PAGE, status })
    assert.deepEqual([body.kind, headers['content-length'], headers['content-type']], ['none', undefined, undefined])
  }
})

test('the headers of rules win, but for those that follow from the bytes', () => {
  const { headers } = plan(
    PICTURE,
    {},
    {
      rules: {
        headers: [
          { name: 'content-type', value: 'image/webp' },
          { name: 'cache-control', value: 'no-store' },
          { name: 'etag', value: '"mine"' },
          { name: 'accept-ranges', value: 'none' },
          { name: 'content-range', value: 'bytes 0-1/2' },
          { name: 'content-length', value: '7' },
          { name: 'x-own', value: 'yes' },
        ],
        cookies: ['a=1', 'b=2'],
        responseTransforms: [{ op: 'delete', match: { eq: 'content-disposition' }, value: '' }],
      },
    },
  )
  assert.deepEqual(headers, {
    'accept-ranges': 'bytes',
    'cache-control': 'no-store',
    'content-length': '5000',
    'content-type': 'image/webp',
    etag: PLAIN,
    'set-cookie': ['a=1', 'b=2'],
    'x-own': 'yes',
  })
})

test('what a rule says is encoded already is sent as it is', () => {
  const rules = { headers: [{ name: 'content-encoding', value: 'br' }] }
  const { headers, ...answer } = plan(BOTH, { 'accept-encoding': 'br, zstd' }, { rules })
  assert.equal(lineOf({ headers, ...answer }), '200 plain 0+5000')
  assert.deepEqual([headers['content-encoding'], headers.etag, headers.vary], ['br', PLAIN, undefined])
})

test('an answer varies by the accepted codings only where it does, and says so in addition to what rules say', () => {
  const varied = (value: string) => plan(PAGE, {}, { rules: { headers: [{ name: 'vary', value }] } }).headers.vary
  assert.deepEqual(
    [varied('cookie'), varied('Accept-Encoding, cookie'), varied('*'), plan(PICTURE).headers.vary],
    ['cookie, accept-encoding', 'Accept-Encoding, cookie', '*', undefined],
  )
  assert.equal(lineOf(plan(PICTURE, { 'accept-encoding': 'br' })), '200 plain 0+5000')
  assert.equal(plan({ ...PAGE, size: 10 }).headers.vary, undefined)
})

test('an empty file is a file', () => {
  const empty = { ...PAGE, size: 0 }
  assert.equal(lineOf(plan(empty)), '200 plain 0+0')
  assert.equal(plan(empty, { range: 'bytes=0-' }).headers['content-range'], 'bytes */0')
  assert.equal(lineOf(plan(empty, { range: 'bytes=-5' })), '200 plain 0+0')
})

test('a date is sent and counts where there is one', () => {
  const dated = { ...PAGE, lastModified: Date.UTC(1994, 10, 6, 8, 49, 37) }
  const date = 'Sun, 06 Nov 1994 08:49:37 GMT'
  assert.equal(plan(dated).headers['last-modified'], date)
  assert.equal(lineOf(plan(dated, { 'if-modified-since': date })), '304')
  assert.equal(lineOf(plan(dated, { range: 'bytes=0-9', 'if-range': date })), '206 plain 0+10')
  assert.equal(lineOf(plan(PAGE, { 'if-modified-since': date })), '200 plain 0+5000')
  assert.equal(lineOf(plan(PAGE, { range: 'bytes=0-9', 'if-range': date })), '200 plain 0+5000')
})
