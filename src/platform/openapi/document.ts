/** Generates the OpenAPI 3.1 document from the route table. */
import type { TSchema } from 'typebox'
import { REFUSALS } from '../../errors.ts'
import { EVENT_NAMES } from '../../events.ts'
import { VERSION } from '../base/version.ts'
import { familyName } from '../http/query.ts'
import { acceptsIdempotencyKey, type Route, refusalsOf } from '../http/route.ts'
import { ErrorBody } from '../refusals/error-body.ts'
import { type EventExamples, eventOperation } from './events.ts'
import { type Example, exampleOf } from './examples.ts'
import { FIELD_DESCRIPTIONS } from './field-descriptions.ts'

const ACCOUNT_PARAMETERS: Place<'query'>[] = [
  { name: 'teamId', in: 'query', schema: { type: 'string' }, description: 'the team to act for, by id' },
  { name: 'slug', in: 'query', schema: { type: 'string' }, description: 'the team to act for, by slug' },
]

const KEY_PARAMETER: Parameter = {
  name: 'Idempotency-Key',
  in: 'header',
  schema: { type: 'string', minLength: 1, maxLength: 255 },
  description: 'repeated with the same key within 24 hours, the request runs once and returns the same response',
}

const FILE_BODY = { content: { 'application/octet-stream': { schema: { type: 'string', format: 'binary' } } } }

/** Builds the document as a plain object. `examples` are by operationId, `eventExamples` by event. */
export function openApiDocument(
  routes: readonly Route[],
  examples: Readonly<Record<string, Example>> = {},
  eventExamples: EventExamples = {},
): object {
  const paths: Record<string, Record<string, object>> = {}
  const schemas: Record<string, unknown> = { Error: ErrorBody }
  for (const route of routes) {
    const path = route.path.replaceAll(/:(\w+)/g, '{$1}')
    paths[path] ??= {}
    paths[path][route.method.toLowerCase()] = operationOf(route, examples[route.operationId])
  }
  const webhooks = Object.fromEntries(EVENT_NAMES.map((name) => [name, eventOperation(name, eventExamples[name])]))
  return {
    openapi: '3.1.0',
    info: {
      title: 'Berth',
      version: VERSION,
      license: { name: 'MIT', identifier: 'MIT' },
      description:
        'Each public operation is also available at any /v1 to /v13 and without a version. Errors: {"error": {"code", "message"}}.',
    },
    servers: [{ url: '/', description: 'where this document was read' }],
    security: [{ bearer: [] }],
    tags: [...new Set(routes.map((route) => route.tag))].map((name) => ({ name })),
    paths: named(worded(paths), schemas),
    webhooks: worded(webhooks),
    components: {
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer' }, client: { type: 'http', scheme: 'basic' } },
      schemas,
    },
  }
}

/** Copies a value, with titled schemas moved to the components and referenced. */
function named(value: unknown, schemas: Record<string, unknown>): unknown {
  if (Array.isArray(value)) return value.map((item) => named(item, schemas))
  if (typeof value !== 'object' || value === null) return value
  const copy = withInner(value, (inner) => named(inner, schemas)) as Record<string, unknown>
  if (typeof copy.title !== 'string' || copy.type === undefined) return copy
  schemas[copy.title] = copy
  return { $ref: `#/components/schemas/${copy.title}` }
}

/** Copies a value, with descriptions for properties that have none. */
function worded(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(worded)
  if (typeof value !== 'object' || value === null) return value
  const copy = withInner(value, worded) as Schema
  for (const [name, property] of Object.entries(copy.properties ?? {}))
    if (property.description === undefined && FIELD_DESCRIPTIONS[name] !== undefined)
      copy.properties![name] = { ...property, description: FIELD_DESCRIPTIONS[name] }
  return copy
}

/** Copies an object with `change` applied to each value except examples. */
function withInner(value: object, change: (inner: unknown) => unknown): object {
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key, key === 'example' ? inner : change(inner)]),
  )
}
type Schema = { properties?: Record<string, { description?: string }> }

function operationOf(route: Route, example: Example | undefined): object {
  return {
    operationId: route.operationId,
    summary: route.summary,
    description: operationDescription(route),
    tags: [route.tag],
    ...(route.needs?.length && { 'x-permissions': route.needs }),
    parameters: parametersOf(route, example),
    // An app authenticates by HTTP Basic or in the form.
    ...(route.auth === 'client' && { security: [{ client: [] }, {}] }),
    ...(route.body && { requestBody: { content: contentOf(route, example) } }),
    ...(route.fileBody && { requestBody: FILE_BODY }),
    responses: { [route.status]: successOf(route, example), ...refusalResponses(route) },
  }
}

const ASKERS: Record<Route['auth'], string> = {
  public: 'Acts for the account of the token, or for the team in `teamId` or `slug`.',
  operator: 'For operators: requires the operator token.',
  client: 'For apps: requires their client secret, as HTTP Basic or in the body.',
}

/** Returns the notes of an operation: authentication, permissions, events and guarantees. */
export function operationDescription({ auth, method, needs = [], emits = [], noStore }: Route): string {
  const named = (words: readonly string[]) => words.map((word) => `\`${word}\``).join(', ')
  return [
    ASKERS[auth],
    needs.length > 0 && `Needs ${named(needs)}.`,
    emits.length > 0 && `Publishes ${named(emits)}.`,
    noStore && 'The response contains a secret and is never cached.',
    method !== 'GET' && 'A rejected request changes nothing.',
  ]
    .filter(Boolean)
    .join(' ')
}

/** Returns the parameters of path, query and headers, with example values. */
export function parametersOf(route: Route, example: Example | undefined): Parameter[] {
  const parameters = [...pathParameters(route), ...queryParameters(route)].map((parameter) => {
    const exampleText = exampleOf(route, example, parameter.in, parameter.name)
    return exampleText === undefined ? parameter : { ...parameter, example: typed(exampleText, parameter.schema) }
  })
  return [...parameters, ...headerParameters(route), ...(acceptsIdempotencyKey(route) ? [KEY_PARAMETER] : [])]
}

function headerParameters({ fileBody = {} }: Route): Place<'header'>[] {
  return Object.entries(fileBody).map(([name, description]) => ({
    name,
    in: 'header',
    schema: { type: 'string' },
    description,
  }))
}

/** Parses a query value to the JSON type of its schema. */
function typed(text: string, schema: Parameter['schema']): unknown {
  return ['integer', 'number', 'boolean'].includes((schema as { type?: string }).type ?? '') ? JSON.parse(text) : text
}

export type Parameter = Place<'path' | 'query' | 'header'>
type Place<In> = { name: string; in: In; required?: true; schema: TSchema; description?: string; example?: unknown }

function pathParameters(route: Route): Place<'path'>[] {
  return [...route.path.matchAll(/:(\w+)/g)].map(([, name]) => ({
    name: name!,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }))
}

function queryParameters(route: Route): Place<'query'>[] {
  const { properties, patternProperties }: Record<string, Record<string, TSchema> | undefined> = route.query ?? {}
  const families = Object.entries(patternProperties ?? {}).map(([pattern, schema]) => [familyName(pattern), schema])
  const required: readonly string[] = route.query?.required ?? []
  const own = [...Object.entries(properties ?? {}), ...families].map(([name, schema]) => ({
    name: name as string,
    in: 'query' as const,
    ...(required.includes(name as string) && { required: true as const }),
    schema: schema as TSchema,
  }))
  if (route.auth !== 'public') return own
  // A filter of the route with the same name has its own description.
  return [...own, ...ACCOUNT_PARAMETERS.filter(({ name }) => !own.some((parameter) => parameter.name === name))]
}

function contentOf(route: Route, example: Example | undefined): object {
  const schema = { schema: route.body, ...(example?.body !== undefined && { example: example.body }) }
  if (!route.formBody) return { [mediaType(route.textBody)]: schema }
  return { 'application/x-www-form-urlencoded': schema, 'application/json': schema }
}

function mediaType(text: true | undefined): string {
  return text ? 'text/plain' : 'application/json'
}

function successOf(route: Route, example: Example | undefined): object {
  const exampleField = example?.answer !== undefined && { example: example.answer }
  if (route.textReply)
    return { description: 'done', content: { [mediaType(true)]: { schema: { type: 'string' }, ...exampleField } } }
  if (!route.reply) return { description: 'done; no content' }
  const isList = route.reply.items !== undefined
  const isAlways = route.jsonLines === 'always'
  // Lines have the schema of one row, and so its example.
  const row = Array.isArray(example?.answer) && { example: example.answer[0] }
  const lines = {
    'application/stream+json': {
      schema: route.reply.items ?? route.reply,
      ...(isList ? isAlways && row : exampleField),
    },
  }
  const json = { 'application/json': { schema: route.reply, ...exampleField } }
  if (!route.jsonLines) return { description: 'done', content: json }
  return { description: 'done', content: isList && !isAlways ? { ...json, ...lines } : lines }
}

function refusalResponses(route: Route): Record<string, object> {
  const responses: Record<string, { description: string; content: object }> = {}
  for (const key of refusalsOf(route)) {
    const [status, code, sentence] = REFUSALS[key]
    const line = `\`${code}\`: ${sentence}`
    const response = responses[status]
    if (response) response.description += `\n\n${line}`
    else {
      const content = { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } }
      responses[status] = { description: line, content }
    }
  }
  return responses
}
