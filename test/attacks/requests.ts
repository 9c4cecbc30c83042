/** Requests made from the OpenAPI document: as it asks for them, nearly so, and not at all. */
import fc from 'fast-check'
import { type Route, unversionedPath } from '../../src/platform/http/route.ts'
import { ROUTES } from '../../src/routes.ts'
import { DOCUMENT, operationOf } from './document.ts'

// biome-ignore lint/suspicious/noExplicitAny: a document is walked as JSON
type Json = any

/** What a name in the path, or a value that names something, is taken from when the request is sent. */
export type Named = { from: 'sample' } | { from: 'known'; at: number } | { from: 'text'; text: string }

export type Request = {
  operationId: string
  version: string
  path: Record<string, Named>
  query: [name: string, value: string][]
  body: Buffer | string | undefined
  /** Undefined: the request has no such header. */
  contentType: string | undefined
  caller: 'owner' | 'rival' | 'operator' | 'installation' | 'nobody'
  /** Asks what the sample of the operation asks, whole or with its body spoiled, whatever is said above. */
  sample: 'whole' | Spoil | undefined
}

/** A value that stands for the id of something that is there, until the request is sent. */
export const KNOWN = /@(\w+):(\d+)@/g

const known = (prefix: string) => fc.nat(50).map((at) => `@${prefix}:${at}@`)
const label = fc.stringMatching(/^[a-z][a-z0-9]{0,12}$/)
const word = fc.constantFrom('web', 'other', 'dev', 'main', 'team', 'staging', 'A b', 'ü', '日本', 'x')
const domain = label.map((name) => `${name}.example.com`)
const scopes = fc.constantFrom('read:project', 'read-write:project', 'read-write:domain', 'read:user')

/** What a field of this name is good with: fields that cannot be guessed from their schema. */
const GOOD: Record<string, fc.Arbitrary<unknown>> = {
  ...{ alias: domain, domain, name: fc.oneof(label, domain), redirect: domain, url: domain, slug: label },
  ...{ username: label, email: label.map((name) => `${name}@example.com`), key: fc.stringMatching(/^[A-Z_]{1,12}$/) },
  ...{ userId: known('usr'), ownerId: known('usr'), uid: known('usr'), teamId: known('team') },
  ...{ projectId: known('prj'), projectIds: fc.array(known('prj'), { minLength: 1, maxLength: 2 }) },
  ...{ ids: fc.array(known('env'), { maxLength: 3 }), deploymentId: known('dpl'), code: known('code') },
  ...{ client_id: known('client_id'), client_secret: known('client_secret'), token: known('token') },
  ...{ events: fc.constantFrom(['project.created'], ['project.renamed', 'project.removed']), scopes: fc.array(scopes) },
  ...{ redirectUrl: fc.constant('https://app.example.com/callback'), repo: fc.constant('acme/web') },
  ...{ redirect_uri: fc.constant('https://app.example.com/callback'), value: fc.oneof(word, fc.string()) },
  ...{
    sources: fc.constant(['edge']),
    upstream: fc.constant('http://127.0.0.1:1'),
    customEnvironmentIds: fc.constant([]),
  },
  ...{
    projects: fc.constantFrom('all', []),
    trustedIps: fc.constant(null),
    target: fc.constantFrom(['preview'], 'preview'),
  },
  ...{ framework: fc.constant('nextjs'), grant_type: fc.constant('authorization_code') },
}
const AT_URL = fc.constant('https://hooks.example.com/x')

function nullable(schema: Json): boolean {
  return Array.isArray(schema.type) && schema.type.includes('null')
}

/** Values that the schema takes. */
function valid(schema: Json, name = ''): fc.Arbitrary<unknown> {
  if (schema.$ref) return valid(DOCUMENT.components.schemas[schema.$ref.split('/').at(-1)], name)
  if (nullable(schema)) {
    const { type, ...rest } = schema
    const one = valid({ ...rest, type: type.find((each: string) => each !== 'null') }, name)
    return fc.oneof({ weight: 4, arbitrary: one }, { weight: 1, arbitrary: fc.constant(null) })
  }
  if (schema.enum) return fc.constantFrom(...schema.enum)
  if ('const' in schema) return fc.constant(schema.const)
  const good = GOOD[name]
  const plain = byType(schema, name)
  return good ? fc.oneof({ weight: 5, arbitrary: good }, { weight: 1, arbitrary: plain }) : plain
}

function byType(schema: Json, name: string): fc.Arbitrary<unknown> {
  if (schema.anyOf) return fc.oneof(...schema.anyOf.map((one: Json) => valid(one, name)))
  if (schema.type === 'object') return objectOf(schema)
  if (schema.type === 'array') {
    const { minItems = 0, maxItems = 20 } = schema
    const items = valid(schema.items ?? {}, '')
    return fc.array(items, { minLength: minItems, maxLength: Math.max(minItems, Math.min(maxItems, 3)) })
  }
  if (schema.type === 'boolean') return fc.boolean()
  if (schema.type === 'integer' || schema.type === 'number') return numberOf(schema)
  if (schema.type === 'string') return textOf(schema, name)
  return fc.jsonValue({ maxDepth: 2 }) as fc.Arbitrary<unknown>
}

function numberOf({ minimum = 0, maximum = Number.MAX_SAFE_INTEGER }: Json): fc.Arbitrary<unknown> {
  return fc.oneof(
    fc.integer({ min: minimum, max: Math.min(maximum, 2_000_000_000_000) }),
    fc.constantFrom(minimum, maximum),
  )
}

function textOf({ pattern, minLength = 0, maxLength = 60 }: Json, name: string): fc.Arbitrary<unknown> {
  if (/url$/i.test(name)) return AT_URL
  // fast-check writes no lookahead.
  if (pattern)
    return fc.stringMatching(new RegExp(pattern.replace(/\(\?![^$]*\$?\)/, ''))).map((text) => text.slice(0, 200))
  const some = fc.string({ unit: 'grapheme', minLength, maxLength: Math.max(minLength, Math.min(maxLength, 40)) })
  return fc.oneof(
    some,
    fc.constantFrom('x'.repeat(maxLength), 'x'.repeat(minLength)),
    ...(minLength <= 1 ? [word] : []),
  )
}

function objectOf(schema: Json): fc.Arbitrary<unknown> {
  const properties = Object.entries<Json>(schema.properties ?? {})
  if (properties.length === 0)
    return fc.dictionary(
      label,
      valid(schema.additionalProperties === true ? {} : (schema.additionalProperties ?? { type: 'string' })),
      { maxKeys: 3 },
    )
  const required = new Set<string>(schema.required ?? [])
  // Few of many: an object with each of forty settings set is refused for one of them.
  const chance = Math.max(6, properties.length)
  return fc
    .tuple(
      ...properties.map(([name, inner]) => {
        const value = valid(inner, name)
        if (required.has(name)) return value
        return fc.oneof({ weight: chance - 2, arbitrary: fc.constant(undefined) }, { weight: 3, arbitrary: value })
      }),
    )
    .map((values) =>
      Object.fromEntries(
        values.map((value, at) => [properties[at]![0], value]).filter(([, value]) => value !== undefined),
      ),
    )
}

const anyUnit = fc.array(fc.nat(0xffff), { maxLength: 12 }).map((units) => String.fromCharCode(...units))

/** Values that no schema asks for. */
const wild: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(
    ...[null, true, false, 0, -0, -1, 1.5, 1e21, -1e308, 2 ** 31, 2 ** 53 - 1, 2 ** 53, -(2 ** 53), 5e-324],
    ...['', ' ', '0', 'null', '\0', 'a\0b', '\ud800', '\udfff\ud800', '\u202e', '\u2028', '\ufeff', '🙂'.repeat(50)],
    ...[
      'x'.repeat(300),
      'x'.repeat(70_000),
      "'; drop table project; --",
      '" or 1=1 --',
      '%',
      '%00',
      '../..',
      '\r\nx: y',
    ],
    ...['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'prj_', 'team_', '{{7*7}}', '<script>'],
    ...[
      [],
      {},
      [[]],
      [null],
      { a: 1 },
      { length: -1 },
      { toString: 1 },
      { constructor: { prototype: { polluted: 1 } } },
    ],
    ...[Array(1100).fill({ value: '1.1.1.1' }), { $ref: '#' }, { toJSON: 1 }],
  ),
  fc.jsonValue({ maxDepth: 3 }) as fc.Arbitrary<unknown>,
  fc.string({ unit: 'grapheme' }),
  anyUnit,
  fc.double(),
  fc.integer(),
)

/** An object may have a `toString` that is none. */
function textual(value: unknown): string {
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

export type Spoil = { kind: number; at: number; value: unknown }
const spoils: fc.Arbitrary<Spoil> = fc.record({ kind: fc.nat(3), at: fc.nat(), value: wild })

/** One thing of a good body is another, is gone, or is added. */
export function spoiled(body: unknown, { kind, at, value }: Spoil): unknown {
  const holders: [holder: Json, key: string | number][] = []
  const walk = (holder: Json) => {
    for (const key of Object.keys(holder)) {
      holders.push([holder, key])
      if (typeof holder[key] === 'object' && holder[key] !== null) walk(holder[key])
    }
  }
  if (typeof body !== 'object' || body === null) return value
  const copy = structuredClone(body) as Json
  walk(copy)
  if (holders.length === 0 || kind === 3) return value
  const [holder, key] = holders[at % holders.length]!
  if (kind === 0) holder[key] = value
  else if (kind === 1) delete holder[key]
  else holder[EXTRA[at % EXTRA.length]!] = value
  return copy
}

const EXTRA = [
  'id',
  'accountId',
  'createdAt',
  'verified',
  'constructor',
  'toString',
  '',
  'a.b',
  'x'.repeat(300),
  '\ud800',
  '\0',
]

const POLLUTING = '"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}'

/** Texts that are not JSON, or that a careless parser reads in another way. */
const RAW: ((text: string, at: number) => string | Buffer)[] = [
  (text, at) => text.slice(0, at % (text.length + 1)),
  (text) => `{"name":"a","name":"b",${text.slice(1)}`,
  (text) => `{${POLLUTING},${text.slice(1)}`,
  (text) => `{"\\u005f_proto__":{"polluted":true},${text.slice(1)}`,
  (text, at) => `{"name":${'['.repeat(at % 9000)}${']'.repeat(at % 9000)},${text.slice(1)}`,
  (text, at) => `${'{"a":'.repeat(at % 60)}${text}${'}'.repeat(at % 60)}`,
  (text) => `{"limit":1e400,"name":9007199254740993,${text.slice(1)}`,
  (text) => `{"name":"\\ud800","value":"\\u0000",${text.slice(1)}`,
  (text) => `{"name":"\\x","value":"\\uZZZZ",${text.slice(1)}`,
  (text, at) =>
    Buffer.concat([Buffer.from(text.slice(0, at % text.length)), Buffer.from([0xff, 0xc0, 0x80]), Buffer.from(text)]),
  (text) => `\ufeff${text}`,
  (text) => `${text}${text}`,
  (text) => `${text.slice(0, -1)},}`,
  (text) => `${' '.repeat(70_000)}${text}`,
  () => '',
  () => 'name=a&name=b&%zz=%ff',
  (text) => Buffer.from(text, 'utf16le'),
]

const TYPES = [
  'text/plain',
  'application/x-www-form-urlencoded',
  '',
  'application/json; charset=utf-16',
  'multipart/form-data',
  'application/jsonx',
  'application/vnd.api+json',
]

/** How a body leaves: as it is; spoiled; or raw. */
type Shaped = { body: string | Buffer | undefined; contentType: string | undefined }

function bodyOf(route: Route): fc.Arbitrary<Shaped> {
  const content = operationOf(route).requestBody?.content
  if (content === undefined) {
    const none: Shaped = { body: undefined, contentType: undefined }
    const empty: Shaped = { body: undefined, contentType: '' }
    const some = wild.map((value): Shaped => ({ body: JSON.stringify(value) ?? '', contentType: 'application/json' }))
    return fc.oneof(
      { weight: 9, arbitrary: fc.constant(none) },
      { weight: 1, arbitrary: fc.oneof(some, fc.constant(empty)) },
    )
  }
  const [type, { schema }] = Object.entries<Json>(content)[0]!
  if (type === 'text/plain') return textBody
  const good = valid(schema)
  const asJson = (body: unknown): Shaped => ({ body: JSON.stringify(body), contentType: 'application/json' })
  const asForm = (body: unknown): Shaped => ({
    body: new URLSearchParams(
      Object.entries(body as object).map(([key, value]) => [key, textual(value).toWellFormed()]),
    ).toString(),
    contentType: 'application/x-www-form-urlencoded',
  })
  const isForm = type.endsWith('urlencoded')
  const raw = fc
    .tuple(good, fc.nat(RAW.length - 1), fc.nat())
    .map(([body, how, at]): Shaped => ({ ...asJson(body), body: RAW[how]!(JSON.stringify(body), at) }))
  return fc.oneof(
    { weight: 10, arbitrary: good.map(isForm ? asForm : asJson) },
    { weight: 6, arbitrary: fc.tuple(good, spoils).map(([body, spoil]) => asJson(spoiled(body, spoil))) },
    { weight: 2, arbitrary: raw },
    {
      weight: 1,
      arbitrary: fc
        .tuple(good, fc.constantFrom(...TYPES))
        .map(([body, contentType]) => ({ ...asJson(body), contentType })),
    },
  )
}

const lines = fc.array(
  fc.oneof(
    fc.tuple(fc.stringMatching(/^[A-Z_]{1,9}$/), fc.string()).map(([key, value]) => `${key}=${value}`),
    fc.string({ unit: 'grapheme' }),
  ),
  { maxLength: 6 },
)
const textBody: fc.Arbitrary<Shaped> = fc.oneof(
  lines.map((some): Shaped => ({ body: some.join('\n'), contentType: 'text/plain' })),
  fc.uint8Array({ maxLength: 60 }).map((bytes): Shaped => ({ body: Buffer.from(bytes), contentType: 'text/plain' })),
  fc.constantFrom(...TYPES).map((contentType): Shaped => ({ body: 'A=1', contentType })),
)

function pathOf(route: Route): fc.Arbitrary<Record<string, Named>> {
  const names = [...route.path.matchAll(/:(\w+)/g)].map(([, name]) => name!)
  const text = fc.oneof(word, label, wild.map(textual), fc.string({ unit: 'grapheme', minLength: 1 }), domain)
  const one = fc.oneof(
    { weight: 10, arbitrary: fc.constant<Named>({ from: 'sample' }) },
    { weight: 5, arbitrary: fc.nat(50).map((at): Named => ({ from: 'known', at })) },
    { weight: 2, arbitrary: text.map((said): Named => ({ from: 'text', text: said.toWellFormed().slice(0, 1000) })) },
  )
  return fc.record(Object.fromEntries(names.map((name) => [name, one])))
}

function queryOf(route: Route): fc.Arbitrary<[string, string][]> {
  const parameters: Json[] = operationOf(route).parameters.filter((one: Json) => one.in === 'query')
  const encode = (value: unknown) => encodeURIComponent(textual(value).toWellFormed())
  const own = parameters.filter(({ name }) => name !== 'teamId' && name !== 'slug')
  const good = own.map(({ name, schema }) =>
    valid(schema, name).map((value): [string, string] => [name, encode(value)]),
  )
  const bad = fc.tuple(
    fc.constantFrom(...parameters.map(({ name }) => name), 'extra', '__proto__', 'constructor', '%zz', ''),
    fc.oneof(
      wild.map(encode),
      fc.constantFrom('%00', '%zz', '%ff', '%ED%A0%80', '1e3', '-1', '9'.repeat(17), 'x'.repeat(3000), ''),
    ),
  )
  const team = fc.constantFrom<[string, string]>(
    ['teamId', '@team:0@'],
    ['teamId', '@team:1@'],
    ['slug', 'team'],
    ['slug', 'rivals'],
  )
  return fc
    .tuple(
      good.length > 0 ? fc.array(fc.oneof(...good), { maxLength: 2 }) : fc.constant<[string, string][]>([]),
      fc.oneof(
        { weight: 6, arbitrary: fc.constant<[string, string][]>([]) },
        { weight: 1, arbitrary: fc.array(bad, { minLength: 1, maxLength: 3 }) },
      ),
      fc.oneof(
        { weight: 5, arbitrary: fc.constant<[string, string][]>([]) },
        { weight: 2, arbitrary: team.map((one) => [one]) },
      ),
    )
    .map((parts) => parts.flat())
}

const versions = fc.oneof(
  { weight: 8, arbitrary: fc.constant('as written') },
  { weight: 1, arbitrary: fc.constantFrom('', '/v1', '/v13') },
)

/** Requests of one route. */
function requestOf(route: Route): fc.Arbitrary<Request> {
  const callers = fc.oneof(
    { weight: 20, arbitrary: fc.constant<Request['caller']>('owner') },
    { weight: 2, arbitrary: fc.constantFrom<Request['caller'][]>('rival', 'operator', 'installation', 'nobody') },
  )
  const samples = fc.oneof(
    { weight: 6, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: fc.oneof(fc.constant('whole' as const), spoils) },
  )
  return fc
    .tuple(versions, pathOf(route), queryOf(route), bodyOf(route), callers, samples)
    .map(([version, path, query, shaped, caller, sample]) => ({
      operationId: route.operationId,
      version,
      path,
      query,
      ...shaped,
      caller,
      sample,
    }))
}

/** Requests of all routes, each as often as any other. */
export const requests: fc.Arbitrary<Request> = fc.oneof(...ROUTES.map(requestOf))

/** The path with this in it, at the version that the request says. */
export function pathWith(route: Route, version: string, fill: (name: string) => string): string {
  const path =
    version === 'as written' || route.auth === 'operator' ? route.path : `${version}${unversionedPath(route.path)}`
  return path.replaceAll(/:(\w+)/g, (_, name) => fill(name))
}
