/** The OpenAPI document as a judge: whether an answer is one that it says of the operation, with nothing that it does not say. */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { REFUSALS } from '../../src/errors.ts'
import { type Route, refusalsOf } from '../../src/platform/http/route.ts'
import { openApiDocument } from '../../src/platform/openapi/document.ts'
import { ROUTES } from '../../src/routes.ts'
import type { ApiResponse } from '../support/world.ts'

// biome-ignore lint/suspicious/noExplicitAny: a document is walked as JSON
type Json = any

export const DOCUMENT: Json = JSON.parse(JSON.stringify(openApiDocument(ROUTES)))

/** What the document says of a route. */
export function operationOf(route: Route): Json {
  return DOCUMENT.paths[route.path.replaceAll(/:(\w+)/g, '{$1}')][route.method.toLowerCase()]
}

const ajv = new Ajv2020({ strict: false, schemas: [{ $id: 'document', ...closed(DOCUMENT) }] })
const validators = new Map<string, ValidateFunction>()

/** Every object of the document, with no room for a field that it does not name. */
function closed(value: Json): Json {
  if (Array.isArray(value)) return value.map(closed)
  if (typeof value !== 'object' || value === null) return value
  const copy = Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, closed(inner)]))
  const shut = value.type === 'object' && value.properties && !value.patternProperties
  return shut && !('additionalProperties' in value) ? { ...copy, additionalProperties: false } : copy
}

/** What is wrong with the answer to a request of this route; undefined when the document says it. */
export function faultOf(route: Route, answer: ApiResponse): string | undefined {
  const said = operationOf(route).responses[answer.status]
  if (said === undefined) return `${answer.status} is not declared`
  const [type, media] = Object.entries<Json>(said.content ?? {})[0] ?? []
  const contentType = answer.headers['content-type'] as string | undefined
  if (type === undefined) {
    if (answer.text !== '' || contentType !== undefined) return `a body where the document has none: ${contentType}`
    return undefined
  }
  if (contentType?.split(';')[0] !== type) return `its type is ${contentType} and not ${type}`
  if (type === 'text/plain') return undefined
  const pointer = `#/paths/${step(route.path.replaceAll(/:(\w+)/g, '{$1}'))}/${route.method.toLowerCase()}/responses/${answer.status}/content/${step(type)}/schema`
  const $ref = media.schema.$ref ?? pointer
  let validate = validators.get($ref)
  if (validate === undefined) {
    validate = ajv.compile({ $ref: `document${$ref}` })
    validators.set($ref, validate)
  }
  // Lines of JSON: the document says what one of them is.
  const body = type === 'application/stream+json' ? JSON.parse(answer.text.split('\n', 1)[0]!) : answer.body
  if (!validate(body)) return `not its schema: ${ajv.errorsText(validate.errors).slice(0, 300)}`
  return answer.status === route.status ? undefined : faultOfRefusal(route, answer)
}

function step(name: string): string {
  return encodeURIComponent(name.replaceAll('~', '~0').replaceAll('/', '~1'))
}

/** What would reveal the inside: places in the program, its libraries, SQL. */
const INSIDE = /\.ts:\d|\bat \w+ \(|node_modules|sqlite|postgres|kysely|constraint failed|syntax error at or near/i

function faultOfRefusal(route: Route, { status, body }: ApiResponse): string | undefined {
  const { code, message } = body.error
  const declared = refusalsOf(route).some((key) => REFUSALS[key][0] === status && REFUSALS[key][1] === code)
  if (!declared) return `${status} ${code} is not declared`
  if (message.length === 0 || message.length > 1000) return `a sentence of ${message.length} characters`
  return INSIDE.test(message) ? `it reveals the inside: ${message}` : undefined
}
