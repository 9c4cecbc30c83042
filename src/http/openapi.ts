/** The OpenAPI 3.1 document, made from the route table and from nothing else. */
import type { TSchema } from 'typebox'
import { REFUSALS } from '../errors.ts'
import { EVENTS } from '../events.ts'
import { familyName } from './query.ts'
import { ErrorBody } from './refusal-shape.ts'
import { type Route, refusalsOf, takesKey } from './route.ts'

const ACCOUNT_PARAMETERS = [
  { name: 'teamId', in: 'query', schema: { type: 'string' }, description: 'the team to act for, by id' },
  { name: 'slug', in: 'query', schema: { type: 'string' }, description: 'the team to act for, by slug' },
]

const KEY_PARAMETER = {
  name: 'Idempotency-Key',
  in: 'header',
  schema: { type: 'string', minLength: 1, maxLength: 255 },
  description: 'asked again with the same key within 24 hours, the request is done once and answered alike',
}

/** Builds the document as a plain object. */
export function openApiDocument(routes: readonly Route[]): object {
  const paths: Record<string, Record<string, object>> = {}
  const schemas: Record<string, unknown> = { Error: ErrorBody }
  for (const route of routes) {
    const path = route.path.replaceAll(/:(\w+)/g, '{$1}')
    paths[path] ??= {}
    paths[path][route.method.toLowerCase()] = operationOf(route)
  }
  const webhooks = Object.fromEntries(Object.entries(EVENTS).map(([name, event]) => [name, eventOf(event)]))
  return {
    openapi: '3.1.0',
    info: {
      title: 'Berth',
      version: '1',
      description:
        'Each public operation also answers at any /v1 to /v13 and without a version. Errors: {"error": {"code", "message"}}.',
    },
    security: [{ bearer: [] }],
    tags: [...new Set(routes.map((route) => route.tag))].map((name) => ({ name })),
    paths: named(paths, schemas),
    webhooks,
    components: {
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer' }, client: { type: 'http', scheme: 'basic' } },
      schemas,
    },
  }
}

/** A copy in which every schema with a title stands once, among the components, and is referred to everywhere else. */
function named(value: unknown, schemas: Record<string, unknown>): unknown {
  if (Array.isArray(value)) return value.map((item) => named(item, schemas))
  if (typeof value !== 'object' || value === null) return value
  const copy = Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, named(inner, schemas)]))
  if (typeof copy.title !== 'string' || copy.type === undefined) return copy
  schemas[copy.title] = copy
  return { $ref: `#/components/schemas/${copy.title}` }
}

function eventOf({ payload, sentWhileDisabled }: (typeof EVENTS)[keyof typeof EVENTS]): object {
  return {
    post: {
      description: sentWhileDisabled ? 'Still sent while the integration configuration is disabled.' : '',
      requestBody: { content: { 'application/json': { schema: payload } } },
      responses: { '2XX': { description: 'heard' } },
    },
  }
}

function operationOf(route: Route): object {
  return {
    operationId: route.operationId,
    summary: route.summary,
    tags: [route.tag],
    ...(route.needs?.length && { 'x-permissions': route.needs }),
    parameters: [...pathParameters(route), ...queryParameters(route), ...(takesKey(route) ? [KEY_PARAMETER] : [])],
    // An app says who it is by HTTP Basic, or in the form.
    ...(route.door === 'client' && { security: [{ client: [] }, {}] }),
    ...(route.body && { requestBody: { content: contentOf(route) } }),
    responses: { [route.status]: successOf(route), ...refusalResponses(route) },
  }
}

function pathParameters(route: Route): object[] {
  return [...route.path.matchAll(/:(\w+)/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }))
}

function queryParameters(route: Route): object[] {
  const { properties, patternProperties }: Record<string, Record<string, TSchema> | undefined> = route.query ?? {}
  const families = Object.entries(patternProperties ?? {}).map(([pattern, schema]) => [familyName(pattern), schema])
  const own = [...Object.entries(properties ?? {}), ...families].map(([name, schema]) => ({
    name,
    in: 'query',
    schema,
  }))
  return route.door === 'public' ? [...own, ...ACCOUNT_PARAMETERS] : own
}

function contentOf(route: Route): object {
  const schema = { schema: route.body }
  if (!route.formBody) return { [mediaType(route.textBody)]: schema }
  return { 'application/x-www-form-urlencoded': schema, 'application/json': schema }
}

function mediaType(text: true | undefined): string {
  return text ? 'text/plain' : 'application/json'
}

function successOf(route: Route): object {
  if (route.textReply) return { description: 'done', content: { [mediaType(true)]: { schema: { type: 'string' } } } }
  if (!route.reply) return { description: 'done; no content' }
  const lines = { 'application/stream+json': { schema: route.reply.items ?? route.reply } }
  const json = { 'application/json': { schema: route.reply } }
  if (!route.lines) return { description: 'done', content: json }
  return { description: 'done', content: route.reply.items ? { ...json, ...lines } : lines }
}

function refusalResponses(route: Route): Record<string, object> {
  const responses: Record<string, { description: string; content: object }> = {}
  for (const key of refusalsOf(route)) {
    const [status, code, sentence] = REFUSALS[key]
    const line = `\`${code}\`: ${sentence}`
    const known = responses[status]
    if (known) known.description += `\n\n${line}`
    else {
      const content = { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } }
      responses[status] = { description: line, content }
    }
  }
  return responses
}
