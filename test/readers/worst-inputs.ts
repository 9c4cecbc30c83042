/** TABLE the worst inputs of each reader of src/readers.ts: what would cost a careless one the most, at any size. */

import { BlockList } from 'node:net'
import { Readable } from 'node:stream'
import type { TSchema } from 'typebox'
import { assertionOptions, verifyAssertion } from '../../src/accounts/second-factor/passkeys.ts'
import { readAuthorizationState } from '../../src/accounts/single-sign-on/authorization-state.ts'
import { fetchOnce, Unreadable } from '../../src/cli/command/import/response.ts'
import { addExtended } from '../../src/delivery/archive/extended.ts'
import { ArchiveError } from '../../src/delivery/archive/fault.ts'
import { readHeader } from '../../src/delivery/archive/header.ts'
import { openDigest } from '../../src/delivery/files/digest.ts'
import { readCronLease, readCronResult } from '../../src/delivery/protocol/cron-channel.ts'
import { readLogReport } from '../../src/delivery/protocol/log-report.ts'
import { FileNames, Finish, LogBatch } from '../../src/delivery/protocol/runner-protocol.ts'
import { BadSnapshot, readHostFacts, readLine } from '../../src/delivery/protocol/snapshot.ts'
import { readUsageReport } from '../../src/delivery/protocol/usage-report.ts'
import { type BodyKind, parseBody } from '../../src/delivery/runners/answers.ts'
import { credentialsOf } from '../../src/integrations/oauth/client.ts'
import { answerCode } from '../../src/operations/edge/site-sign-in.ts'
import { readVisitor } from '../../src/operations/edge/visitor.ts'
import { parseBearer } from '../../src/platform/access/authenticate.ts'
import { readStart } from '../../src/platform/adapters/egress.ts'
import { GIT_CLIENTS } from '../../src/platform/adapters/git.ts'
import { openIdentityProvider, ProviderError } from '../../src/platform/adapters/identity-provider.ts'
import { readPage } from '../../src/platform/adapters/s3.ts'
import { readBodyOf, singleHeader } from '../../src/platform/http/parse-request.ts'
import { readQuery, rejectUnknownFilters, rejectUnknownParameters, splitQuery } from '../../src/platform/http/query.ts'
import { unversionedUrl } from '../../src/platform/http/route.ts'
import type { BrowserRequest } from '../../src/platform/pages/browser-session.ts'
import { acceptsGzip } from '../../src/platform/pages/compress.ts'
import { readCookies } from '../../src/platform/pages/cookies.ts'
import { readSubmittedForm } from '../../src/platform/pages/form.ts'
import { savedFormPage, saveForm } from '../../src/platform/pages/saved-form.ts'
import type { Screen } from '../../src/platform/pages/screen.ts'
import { Refusal } from '../../src/platform/refusals/refusal.ts'
import { Type } from '../../src/platform/schema/builder.ts'
import { matchesPathExactly } from '../../src/platform/server/strict-paths.ts'
import { unsupportedRoutes } from '../../src/platform/server/unsupported-routes.ts'
import { readTraceparent } from '../../src/platform/tracing/traces.ts'
import { bearerOf } from '../../src/platform/verdict/plain-answer.ts'
import { matchRecords } from '../../src/projects/domain-verification/challenge.ts'
import { parseDotenv } from '../../src/projects/env-files/dotenv.ts'
import { READERS, type ReaderName } from '../../src/readers.ts'
import { ROUTES } from '../../src/routes.ts'
import { readSource, WrongAnswer } from '../../src/runner/lease/control-plane.ts'
import { readVisit } from '../../src/sites/visitors/visit.ts'
import { header, record } from '../delivery/archive/tar.ts'
import { WORST as WORST_LISTS } from '../delivery/deploys/worst-lists.ts'
import { WORST as WORST_BODIES } from '../platform/http/worst-list-bodies.ts'
import type { World } from '../support/world.ts'
import { COOKIE_READERS, HEADER_READERS, type HeaderReader } from './visitor-headers.ts'

/** Reads a file as an upload does. */
async function digestOf(pieces: Buffer[]): Promise<unknown> {
  const reading = openDigest(Readable.from(pieces))
  for await (const _ of reading.pieces);
  return reading.digest()
}

/** Gives the reading of an input of so many bytes at most. What comes before the reading, and what it refuses, is not of interest. */
export type Worst = (bytes: number, world: World) => (() => unknown) | Promise<() => unknown>

/** `unit` again and again. */
function repeated(unit: string, bytes: number): string {
  return unit.repeat(Math.max(0, Math.ceil(bytes / unit.length))).slice(0, Math.max(0, bytes))
}

/** So many parts as may be, each of the same length: `begin`, filled up, `end`. */
function spread(begin: string, fill: string, end: string, bytes: number, parts: number): string {
  const length = Math.max(begin.length + end.length, Math.floor(bytes / parts))
  const count = Math.min(parts, Math.floor(bytes / length))
  return `${begin}${repeated(fill, length - begin.length - end.length)}${end}`.repeat(count)
}

/** Pairs with names of their own. */
function named(prefix: string, between: string, bytes: number, most = Number.POSITIVE_INFINITY): string {
  const pairs: string[] = []
  for (let at = 0, length = 0; length < bytes - 20 && at < most; at++) {
    const pair = `${prefix}${at.toString(36)}${between}`
    pairs.push(pair)
    length += pair.length
  }
  return pairs.join('')
}

const USAGE_LINE = {
  ...{ deploymentId: 'dpl_1', hour: 0, requests: 1, bytes: 1 },
  statuses: { '2xx': 1, '3xx': 0, '4xx': 0, '5xx': 0 },
}

/** How a reader refuses. */
const EXPECTED = [Refusal, ProviderError, Unreadable, ArchiveError]

function unlessRefused(read: () => unknown): () => Promise<void> {
  return async () => {
    try {
      await read()
    } catch (error) {
      if (!EXPECTED.some((kind) => error instanceof kind)) throw error
    }
  }
}

/** A reading of texts: each unit is repeated, behind each beginning and before each end. */
function texts(
  units: readonly string[],
  read: (text: string) => unknown,
  { begins = [''], ends = [''] }: { begins?: readonly string[]; ends?: readonly string[] } = {},
): Record<string, Worst> {
  const all = units.flatMap((unit) => begins.flatMap((begin) => ends.map((end) => ({ unit, begin, end }))))
  return Object.fromEntries(
    all.map(({ unit, begin, end }) => [
      JSON.stringify(`${begin}${unit}…${end}`),
      (bytes) => {
        const text = `${begin}${repeated(unit, bytes - begin.length - end.length)}${end}`
        return unlessRefused(() => read(text))
      },
    ]),
  )
}

/** The texts of several readers, by name. */
function textsOf(readers: Readonly<Record<string, HeaderReader>>): Record<string, Worst> {
  const all = Object.entries(readers).flatMap(([name, { units, begins, read }]) =>
    Object.entries(texts(units, read, begins && { begins })).map(
      ([what, worst]) => [`${name}: ${what}`, worst] as const,
    ),
  )
  return Object.fromEntries(all)
}

const Form = Type.Object({
  list: Type.Optional(Type.Array(Type.String())),
  text: Type.Optional(Type.String()),
})
const SCREEN = { form: Form } as unknown as Screen
const UNITS = [
  '&',
  'list&',
  'list=&',
  'text&',
  'x=1&',
  'a=%41&',
  '%41',
  '%C3%A9',
  '%F0%9F%98%80',
  '%',
  '%ff',
  '%0',
  '+',
  '=',
  'é',
  '%22',
  '%5C',
  '%0D%0A',
  '%00',
]

function requestOf(body: string): BrowserRequest {
  const rawHeaders = ['Content-Type', 'application/x-www-form-urlencoded', 'Sec-Fetch-Site', 'same-origin']
  return {
    id: '',
    originalUrl: '/console/x',
    params: {},
    raw: { rawHeaders, socket: {} },
    body: Buffer.from(body, 'latin1'),
  }
}

type ReadForm = (request: BrowserRequest) => unknown
/** Of an unauthenticated client: read, and kept until they have signed in, which is the more of what may be done with it. */
const keep: ReadForm = (request) =>
  saveForm(request, ['https://berth.example'], SCREEN, { session: undefined } as never)
const take: ReadForm = (request) => readSubmittedForm(SCREEN, request).fields()

function forms(
  read: ReadForm,
  units: readonly string[],
  bodyOf: (unit: string, bytes: number) => string,
): Record<string, Worst> {
  return Object.fromEntries(
    units.map((unit) => [
      `${JSON.stringify(unit)} in ${JSON.stringify(bodyOf(unit, 64))}`,
      (bytes) => {
        const request = requestOf(bodyOf(unit, bytes))
        return unlessRefused(() => read(request))
      },
    ]),
  )
}

const formsRead = (read: ReadForm, parts: number): Record<string, Worst> => ({
  ...forms(read, UNITS, repeated),
  ...forms(
    read,
    UNITS.filter((unit) => !unit.includes('&')),
    (unit, bytes) => `form=x&once=y&text=${repeated(unit, bytes - 19)}`,
  ),
  ...forms(read, ['list=%F0%9F%98%80', 'text=%ff', 'x=+'], (unit, bytes) => {
    const [begin, fill] = unit.split(/(?<==)/)
    return spread(begin!, fill!, '&', bytes, parts)
  }),
})

const FILTERS = {
  ...Type.Object({ target: Type.Optional(Type.Array(Type.String())) }),
  patternProperties: { '^meta-\\w+$': Type.String() },
} as unknown as typeof Form
const readFilters = (text: string) => {
  const raw = splitQuery(`/v9/projects?${text}`)
  for (const read of [
    () => rejectUnknownFilters({ query: FILTERS }, raw),
    () => rejectUnknownParameters(FILTERS, raw),
    () => readQuery(FILTERS, raw),
  ])
    unlessRefused(read)()
}

const Client = Type.Object({ client_id: Type.Optional(Type.String()), redirect_uri: Type.Optional(Type.String()) })
/** As of many variables: whatever they hold, they are validated and copied. */
const Many = Type.Array(Type.Unknown())
const JSON_ITEMS = ['{}', '[]', '0', '""', '1e5', 'null', '{"a":1}', '"\\u0041"', '"é"', '[[[[[[[[]]]]]]]]', '-']
/** Arrays of as many items as fit, and texts that are not JSON. */
function jsons(read: (text: string) => unknown): Record<string, Worst> {
  const reading =
    (make: (bytes: number) => string): Worst =>
    (bytes) => {
      const text = make(bytes)
      return unlessRefused(() => read(text))
    }
  const items = (item: string, bytes: number) => {
    const count = Math.max(1, Math.floor((bytes - 1) / (Buffer.byteLength(item) + 1)))
    return `[${`${item},`.repeat(count).slice(0, -1)}]`
  }
  return {
    ...Object.fromEntries(JSON_ITEMS.map((item) => [`[${item},…]`, reading((bytes) => items(item, bytes))])),
    'a declared field of items': reading((bytes) => `{"client_id":${items('{"a":{"b":[]}}', bytes - 14)}}`),
    'names of its own': reading((bytes) => `{${named('"', '":0,', bytes - 10)}"z":0}`),
    'a long name': reading((bytes) => `{"${repeated('a', bytes - 7)}":0}`),
    'a long text': reading((bytes) => `["${'\\u00e9'.repeat((bytes - 4) / 6)}"]`),
    'quotes in a text': reading((bytes) => `["${'\\"'.repeat((bytes - 4) / 2)}"]`),
    'only opened': reading((bytes) => repeated('[', bytes)),
    'only opened objects': reading((bytes) => repeated('{"a":', bytes)),
  }
}

const PATHS = ['/', '/a', '/%2e', '#', '?', 'a']
const { find } = unsupportedRoutes(ROUTES.map(({ method, path }) => ({ method, url: path })))
const PATTERN = '/projects/:idOrName/env'
const HEADERS = [
  'cookie',
  'authorization',
  'content-type',
  'sec-fetch-site',
  'origin',
  'user-agent',
  'traceparent',
  'idempotency-key',
  'host',
]

const trustedProxies = new BlockList()
trustedProxies.addAddress('127.0.0.1')

/** A visitor's request of which everything is this text. */
function visitOf(text: string) {
  const names = ['host', 'x-forwarded-for', 'x-forwarded-proto', 'x-vercel-protection-bypass', 'cookie', 'cookie']
  const rawHeaders = names.flatMap((name) => [name, text])
  const headers = Object.fromEntries(names.map((name) => [name, text]))
  return { url: `http://${text}`, method: 'GET', headers, rawHeaders, socket: { remoteAddress: '127.0.0.1' } } as never
}

/** The answer of a server, in chunks as they come from a connection. */
function answering(text: string, contentType = 'application/json'): typeof fetch {
  const bytes = Buffer.from(text)
  return async () => {
    const chunks = Array.from({ length: Math.ceil(bytes.length / 65_536) }, (_, at) =>
      bytes.subarray(at * 65_536, (at + 1) * 65_536),
    )
    return new Response(ReadableStream.from(chunks) as unknown as ReadableStream, {
      headers: { 'content-type': contentType },
    })
  }
}

/** What asks by the global `fetch`, with this answer. */
async function withFetch<T>(stand: typeof fetch, work: () => Promise<T>): Promise<T> {
  const real = globalThis.fetch
  globalThis.fetch = stand
  try {
    return await work()
  } finally {
    globalThis.fetch = real
  }
}

const PROVIDER = { issuer: 'https://id.example', clientId: 'a', clientSecret: 'b', groupsClaim: 'groups' }

/** An entry of an archive that is about the next one, and the header before it. */
const readAttributes = (flag: string) => (text: string) => {
  const bytes = Buffer.from(text)
  addExtended({}, readHeader(header({ flag, size: bytes.length }), 0)!, bytes, 0)
}

const LOG_LINE = {
  ...{
    deploymentId: 'dpl_1',
    date: 1,
    level: 'info',
    text: 'a',
    requestId: '',
    method: '',
    host: '',
    path: '',
    status: 0,
  },
}

const SOURCE_ENTRY = { path: 'a', kind: 'file', mode: 33188, size: 1, digest: 'a'.repeat(64) }

const readRunnerBody = (schema: TSchema, kind: BodyKind) => (text: string) => void parseBody(text, schema, kind)

export const WORST: Record<ReaderName, Record<string, Worst>> = {
  headers: {
    'many headers': (bytes) => {
      const raw = Array.from({ length: Math.min(READERS.headers.parts, bytes / 8) * 2 }, (_, at) =>
        at % 2 === 0 ? HEADERS[(at / 2) % HEADERS.length]! : '',
      )
      return () => HEADERS.map((name) => singleHeader(raw, name))
    },
    ...texts(['Bearer ', ' ', 'Basic ', 'a', '00-', '='], (text) => {
      acceptsGzip(`gzip${text}`)
      for (const value of [text, `Bearer ${text}`, `Basic ${text}`, `00-${text}`]) {
        parseBearer(value)
        bearerOf({ headers: { authorization: value } } as never)
        readVisit(visitOf(text), { trustedProxies })
        readTraceparent(value)
        unlessRefused(() => credentialsOf({}, value))()
      }
    }),
  },
  'headers of a visitor': textsOf(HEADER_READERS),
  cookies: {
    ...texts(
      [';', '; ', ' ', '\t;', '=', '__Host-berth_session=;', '__Host-berth_session=a;', '\xa0', 'a=b; '],
      (text) => readCookies(['Cookie', text], 'https://berth.example'),
    ),
    ...textsOf(COOKIE_READERS),
  },
  path: texts(
    PATHS,
    (text) => {
      const path = unversionedUrl(text)
      find('PUT', path)
      matchesPathExactly(path, PATTERN, false)
    },
    { begins: ['/', '/v9/projects/'], ends: ['', '/env'] },
  ),
  query: {
    ...texts(['&', 'a&', 'a=1&', 'target&', 'target=,,,,&', ',', 'meta-a=1&', '%41', '%C3%A9', '+', '=', '%'], (text) =>
      readFilters(text),
    ),
    'a list of commas': (bytes) => () => readFilters(`target=${repeated(',', bytes - 7)}`),
    'names of its own': (bytes) => {
      const text = named('meta-', '=&', bytes, READERS.query.parts)
      return () => readFilters(text)
    },
  },
  form: formsRead(keep, READERS.form.parts),
  'form of a text': formsRead(take, READERS['form of a text'].parts),
  'form of a client': {
    ...texts(UNITS, (text) =>
      readBodyOf({ body: Client, formBody: true }, 'application/x-www-form-urlencoded', Buffer.from(text, 'latin1')),
    ),
    'one field': (bytes) => {
      const body = Buffer.from(`client_id=${repeated('%C3%A9', bytes - 10)}`)
      return unlessRefused(() =>
        readBodyOf({ body: Client, formBody: true }, 'application/x-www-form-urlencoded', body),
      )
    },
  },
  'JSON of a client': jsons((text) =>
    readBodyOf({ body: Client, formBody: true }, 'application/json', Buffer.from(text)),
  ),
  'JSON body': jsons((text) => readBodyOf({ body: Client }, 'application/json', Buffer.from(text))),
  'JSON body of many': jsons((text) => readBodyOf({ body: Many }, 'application/json', Buffer.from(text))),
  'state of single sign-on': texts(['.', 'a', 'e30', '='], (text) => readAuthorizationState('secret', text, 0)),
  'answer of a passkey': {
    ...Object.fromEntries(
      ['{"a":', '[', '[],', 'a', '{"response":{"clientDataJSON":"'].map(
        (unit) =>
          [
            unit,
            async (bytes, world) => {
              const ctx = { db: world.deps.db.read, deps: world.deps, csrfToken: 'token', now: 0 }
              await assertionOptions(ctx, 'sign in')
              const said = Buffer.from(repeated(unit, (bytes * 3) / 4 - 40)).toString('base64url')
              const answer = JSON.stringify({ id: 'a', response: { clientDataJSON: said } })
              return () =>
                Promise.all([
                  verifyAssertion(ctx, 'sign in', answer),
                  verifyAssertion(ctx, 'sign in', repeated(unit, bytes)),
                ])
            },
          ] satisfies [string, Worst],
      ),
    ),
  },
  'question of a proxy': Object.fromEntries([
    ...Object.entries(
      texts(['a', 'a.', '-', ':', '1'], (text) =>
        answerCode({} as never, { method: 'POST', headers: { 'x-sites-host': text, 'x-sites-code': text } } as never),
      ),
    ).map(([what, worst]) => [`code ${what}`, worst] as const),
    ...[
      'host',
      'x-forwarded-host',
      'x-forwarded-proto',
      'x-forwarded-for',
      'x-forwarded-uri',
      'authorization',
      '',
    ].flatMap((header) =>
      Object.entries(
        texts(
          [',', ' ', 'a.', 'a', '&', '%'],
          (text) => readVisitor({ [header]: text }, header === '' ? text : '/'),
          header === 'authorization'
            ? { begins: ['Basic '] }
            : header === ''
              ? { begins: ['/?x-vercel-protection-bypass&'] }
              : {},
        ),
      ).map(([what, worst]) => [`${header} ${what}`, worst] as const),
    ),
  ]),
  'usage report': texts(
    ['[', '{"a":', '"a",', '{},', '0,', '\\u0000', `${JSON.stringify(USAGE_LINE)},`],
    readUsageReport,
    {
      begins: ['', `{"server":"${'a'.repeat(16)}","sequence":1,"usage":[`],
      ends: ['', `${JSON.stringify(USAGE_LINE)}]}`],
    },
  ),
  'log report': texts(['[', '{"a":', '"a",', '{},', '0,', '\\u0000', `${JSON.stringify(LOG_LINE)},`], readLogReport, {
    begins: ['', `{"server":"${'a'.repeat(16)}","sequence":1,"lines":[`],
    ends: ['', `${JSON.stringify(LOG_LINE)}]}`],
  }),
  'lease of cron jobs': texts(['[', '{"a":', '"a",', '\\u0000', '"a":1,'], readCronLease, {
    begins: ['', '{"running":{'],
    ends: ['', '"b":1}}'],
  }),
  'result of a cron job': texts(['[', '{"a":', '"a",', '\\u0000'], readCronResult, {
    begins: ['', '{"id":"a","status":200,"fault":"'],
    ends: ['', '"}'],
  }),
  'request of a runner': texts(
    ['[', '"a",', '{},', '\\u0000', `"${'a'.repeat(64)}",`],
    readRunnerBody(FileNames, 'short'),
    {
      begins: ['', '{"sha256":['],
      ends: ['', '"a"]}'],
    },
  ),
  'log of a build': texts(
    ['[', '{},', '\\u0000', '{"type":"stdout","date":1,"text":"a"},'],
    readRunnerBody(LogBatch, 'log'),
    {
      begins: ['', '{"first":0,"lines":['],
      ends: ['', '{"type":"stdout","date":1,"text":"a"}]}'],
    },
  ),
  'result of a build': texts(
    ['[', '{},', '\\u0000', `${JSON.stringify(SOURCE_ENTRY)},`],
    readRunnerBody(Finish, 'finish'),
    {
      begins: ['', '{"outcome":"succeeded","builder":"a","entries":['],
      ends: ['', `${JSON.stringify(SOURCE_ENTRY)}]}`],
    },
  ),
  'kept form': {
    'many fields': (bytes) => {
      const text = `{"to":"/console","fields":{${named('"', '":"",', bytes - 60, READERS['kept form'].parts)}"z":""}}`
      return () => savedFormPage(text, 'token')
    },
    'many values': (bytes) => {
      const text = `{"to":"/console","fields":{"a":[${repeated('"",', bytes - 60)}""]}}`
      return () => savedFormPage(text, 'token')
    },
    'one value': (bytes) => {
      const text = `{"to":"/console","fields":{"a":"${repeated('<', bytes - 40)}"}}`
      return () => savedFormPage(text, 'token')
    },
    'no form': (bytes) => () => savedFormPage(repeated('[', bytes), 'token'),
  },
  'piece of a file': {
    'one piece': (bytes) => {
      const piece = Buffer.alloc(bytes, 'x')
      return () => digestOf([piece])
    },
    'pieces of a byte': (bytes) => {
      const pieces = Array.from({ length: bytes }, () => Buffer.from('x'))
      // What waits to be read is given as one piece.
      return () => digestOf([Buffer.concat(pieces)])
    },
  },
  'env file': texts(
    ['#', '\\"', ' ', '`', "'", 'export ', '#\u2028', 'A', '\n', '#\n', 'A=1\n', 'A="\n', '=\n'],
    (text) => parseDotenv(text, { lines: READERS['env file'].parts, variables: 1000 }),
    { begins: ['A=', 'A="'], ends: ['', '\u2028'] },
  ),
  'JSON body with a list': Object.fromEntries(
    Object.entries(WORST_BODIES).map(([what, make]) => [
      what,
      (bytes) => make(bytes / READERS['JSON body with a list'].bytes),
    ]),
  ),
  'file list': Object.fromEntries(
    Object.entries(WORST_LISTS).map(([what, make]) => [what, (bytes) => make(bytes / READERS['file list'].bytes)]),
  ),
  'attributes in an archive': {
    ...texts(['5 a=\n', '6 a=b\n', '=', ' ', '9', '\n', 'é', '6 a=b'], readAttributes('x'), {
      begins: ['', '30 comment=', '999999 path='],
    }),
    ...texts(['a', 'é', '\0'], readAttributes('L')),
    'as many attributes as may be': (bytes) => {
      const count = Math.min(READERS['attributes in an archive'].parts, Math.floor(bytes / 40))
      const text = record('path', 'é'.repeat(bytes / count / 2 - 10)).repeat(count)
      return unlessRefused(() => readAttributes('x')(text))
    },
    'one long path': (bytes) => {
      const text = record('path', 'é'.repeat(bytes / 2 - 10))
      return unlessRefused(() => readAttributes('x')(text))
    },
  },
  'DNS answer': texts(['a', ',', '=', '0', ', '], (text) => {
    const { parts } = READERS['DNS answer']
    const records = Array.from(
      { length: parts },
      (_, at) => `vc-domain-verify=${text.slice((at * text.length) / parts, ((at + 1) * text.length) / parts)}`,
    )
    return matchRecords({ name: 'example.com', challenge_token: 'x' } as never, records, {
      challengePrefix: 'vc-domain-verify',
    } as never)
  }),
  'answer of a receiver': Object.fromEntries(
    [1, 7, 1024, 65_536].map(
      (size) =>
        [
          `in pieces of ${size}`,
          (bytes) => {
            const chunk = Buffer.alloc(size)
            return () =>
              readStart(
                (async function* () {
                  for (let at = 0; at < bytes; at += size) yield chunk
                })(),
              )
          },
        ] satisfies [string, Worst],
    ),
  ),
  'answer of a git host': jsons((text) =>
    withFetch(answering(text), () =>
      GIT_CLIENTS.gitlab.readRepository({ baseUrl: 'https://git.example', username: null, token: 'x' }, 'a/b'),
    ),
  ),
  'answer of the identity provider': jsons((text) =>
    withFetch(answering(text), () =>
      openIdentityProvider(PROVIDER as never).addressOf(
        'https://berth.example/x',
        { state: '', nonce: '', verifier: '' },
        false,
      ),
    ),
  ),
  'line of the control plane': texts(
    ['[', '{"a":', '"a",', '{"kind":"gone"},', '\\u0000', '0,'],
    (text) => {
      for (const read of [readLine, readHostFacts]) {
        try {
          read(text)
        } catch (error) {
          if (!(error instanceof BadSnapshot)) throw error
        }
      }
    },
    { begins: ['', '{"kind":"name","name":"a","more":['], ends: ['', ']}'] },
  ),
  'page of a bucket': texts(
    ['<Key>', '<Key></Key>', '<Key>a', '<', '</Key>', '&amp;', '<NextContinuationToken>', '<Key>&#x41;</Key>'],
    (text) => {
      const body = Buffer.from(text)
      try {
        readPage(body)
      } catch (error) {
        if (!/more than 1000 keys/.test(String(error))) throw error
      }
    },
  ),
  'answer to a runner': texts(
    ['{"path":"a"},', '[', '{"a":', '0,', '"\\u0000",'],
    (text) => {
      try {
        readSource(text)
      } catch (error) {
        if (!(error instanceof WrongAnswer)) throw error
      }
    },
    { begins: ['', '['], ends: ['', '0]'] },
  ),
  'answer to an import': texts(['0,'], (text) => fetchOnce(answering(text), 'https://api.example/v9/projects', {}), {
    begins: ['['],
    ends: ['0]'],
  }),
}
