/** Validates values by schema, with a message that names the invalid field, and drops or rejects undeclared fields. */
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import type { TSchema } from 'typebox'
import { someOf } from '../base/text.ts'
import { refuse } from '../refusals/refusal.ts'
import { weighsAtMost } from '../schema/json-weight.ts'

const MAX_CHOICES = 50

/** No coercion, defaults or removal: a value matches its schema or is refused. */
const ajv = new Ajv({ allowUnionTypes: true, verbose: true })
ajv.addKeyword({ keyword: 'x-most-bytes', validate: (max: number, value: unknown) => weighsAtMost(value, max) })
ajv.addKeyword({ keyword: 'x-unsupported', validate: (_: string, value: unknown) => asksForNothing(value) })
const validators = new WeakMap<TSchema, ValidateFunction>()

/** Lists allowed values; of a long list, the first ones. /docs lists all. */
function choices(values: unknown[]): string {
  return someOf(
    values.map((value) => JSON.stringify(value)),
    MAX_CHOICES,
  )
}

function asksForNothing(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) return Object.values(value).every(asksForNothing)
  return !value || value === 'off' || value === 'default'
}

export type Shape = {
  type?: string
  properties?: Record<string, TSchema & { type?: string }>
  patternProperties?: Record<string, TSchema>
  additionalProperties?: boolean
  items?: TSchema
  anyOf?: TSchema[]
}

/** Returns a valid value. `place`: its path in the body, for the message. Refuses: bad_request 400. */
export function validate(schema: TSchema, value: unknown, place = ''): unknown {
  let validator = validators.get(schema)
  if (validator === undefined) {
    validator = ajv.compile(schema)
    validators.set(schema, validator)
  }
  if (!validator(value)) refuse('bad_request', `Invalid request: ${sentence(validator.errors ?? [], place)}.`)
  return value
}

/** Returns the most useful message: that of the deepest error. Among equals, it prefers the variant of a union whose type matched. */
function sentence(faults: ErrorObject[], at: string): string {
  const fault = faults.reduce((best, next) => (isNearer(next, best) ? next : best))
  const inside = fault.instancePath.slice(1).replaceAll('/', '.').replaceAll('~1', '/').replaceAll('~0', '~')
  const path = [at, inside].filter((part) => part !== '').join('.')
  const { missingProperty, allowedValues } = fault.params
  const place = quotedField(path)
  if (fault.keyword === 'required') {
    return `missing required property ${quotedField(path === '' ? missingProperty : `${path}.${missingProperty}`)}`
  }
  if (fault.keyword === 'type') return `${place} should be ${typesAt(faults, fault).join(' or ')}`
  if (fault.keyword === 'const') return `${place} should be ${JSON.stringify(fault.params.allowedValue)}`
  if (fault.keyword === 'enum') {
    return `${place} should be one of ${choices(allowedValues)}`
  }
  if (fault.keyword === 'minItems' && fault.params.limit === 1) return `${place} should not be empty`
  if (fault.keyword === 'x-unsupported') return `${place} is not a setting that Berth has; leave it out`
  if (fault.keyword === 'x-most-bytes')
    return `${place} should be at most ${(fault.schema as number) / 1024} KiB of JSON`
  // A pattern is not readable, so its description is used (test/platform/openapi/openapi.test.ts).
  if (fault.keyword === 'pattern') return `${place} should be ${fault.parentSchema?.description}`
  return `${place} ${fault.message?.replace(/^must /, 'should ')}`
}

/** Returns the allowed types; without a matching variant, those of the whole union. */
function typesAt(faults: ErrorObject[], { instancePath }: ErrorObject): string[] {
  const ofType = faults.filter((fault) => fault.keyword === 'type' && fault.instancePath === instancePath)
  return [...new Set(ofType.flatMap(({ params }) => params.type as string | string[]))]
}

function isNearer(a: ErrorObject, b: ErrorObject): boolean {
  const depth = ({ instancePath }: ErrorObject) => instancePath.split('/').length
  if (depth(a) !== depth(b)) return depth(a) > depth(b)
  // "should match a schema in anyOf" follows the errors of the variants and names nothing.
  const nearness = ({ keyword, data, params }: ErrorObject) => {
    if (keyword === 'anyOf') return 0
    const allowed: unknown[] | undefined = keyword === 'const' ? [params.allowedValue] : params.allowedValues
    const isOther = allowed?.every((value) => typeof value !== typeof data)
    return keyword === 'type' || isOther ? 1 : 2
  }
  return nearness(a) > nearness(b)
}

/** Quotes the path of a field for a message, truncated. */
export function quotedField(path: string): string {
  return path === '' ? 'the body' : `\`${truncateText(path, 100)}\``
}

/** Truncates a text for a message. */
export function truncateText(text: string, length = 30): string {
  return text.length > length ? `${text.slice(0, length)}…` : text
}

/**
 * Returns a copy with the declared fields at every depth. Unknown ones are dropped, because real clients send more (docs/spec/client-requests.md
 * C.2). `dropped` receives their paths below `path`.
 */
export function pickDeclared(schema: TSchema, value: unknown, dropped?: string[], path = ''): unknown {
  if (Array.isArray(value)) {
    const items = variantFor(schema, value).items
    return items ? value.map((item, at) => pickDeclared(items, item, dropped, `${path}${at}.`)) : value
  }
  if (typeof value !== 'object' || value === null) return value
  const variant = variantFor(schema, value)
  if (variant.properties === undefined || variant.additionalProperties === true) return value
  const result: Record<string, unknown> = {}
  for (const key of Object.keys(value)) {
    const property = Object.hasOwn(variant.properties, key) ? variant.properties[key] : undefined
    if (property === undefined) dropped?.push(`${path}${key}`)
    else result[key] = pickDeclared(property, (value as Record<string, unknown>)[key], dropped, `${path}${key}.`)
  }
  return result
}

/** Refuses: bad_request 400 for an undeclared field, which it names below `path`. */
export function mustBeDeclared(schema: TSchema, value: unknown, path: string): void {
  if (typeof value !== 'object' || value === null) return
  const { items, properties, additionalProperties } = variantFor(schema, value)
  if (Array.isArray(value)) {
    for (const [at, item] of value.entries()) if (items) mustBeDeclared(items, item, `${path}${at}.`)
    return
  }
  if (properties === undefined || additionalProperties === true) return
  for (const [key, inner] of Object.entries(value)) {
    if (!Object.hasOwn(properties, key)) {
      const names = Object.keys(properties).join(', ') || 'nothing'
      refuse(
        'bad_request',
        `Invalid request: ${quotedField(`${path}${key}`)} is not an allowed field here. Allowed: ${names}.`,
      )
    }
    mustBeDeclared(properties[key]!, inner, `${path}${key}.`)
  }
}

/** Returns the array or object variant of a union; our unions differ only in that. */
function variantFor(schema: TSchema, value: object): Shape {
  const shape = schema as Shape
  const expected = Array.isArray(value) ? 'array' : 'object'
  return (shape.anyOf as Shape[] | undefined)?.find((variant) => variant.type === expected) ?? shape
}

/** Most fields named in a response, and the characters of each. */
const MAX_NAMED = 20
const MAX_NAMED_LENGTH = 100

/** Returns the header that lists ignored fields of a write, so that a typo is noticed. docs/spec/decisions.md: Projects. */
export function ignoredHeader(dropped: readonly string[]): Record<string, string> {
  if (dropped.length === 0) return {}
  // Characters outside a header's range are percent-encoded.
  const names = dropped
    .slice(0, MAX_NAMED)
    .map((path) => encodeURIComponent(path.slice(0, MAX_NAMED_LENGTH).toWellFormed()))
  const more = dropped.length > MAX_NAMED ? ['...'] : []
  return { 'x-berth-ignored': [...names, ...more].join(', ') }
}
