/** Whether a value is what a schema says, and the sentence that names what is not. */
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import type { TSchema } from 'typebox'
import { someOf } from '../base/words.ts'
import { refuse } from '../refusals/refusal.ts'
import { weighsAtMost } from '../schema/json-weight.ts'

const MOST_CHOICES = 50

/** Nothing is coerced, filled in or removed here: a value is what its schema says or is refused. */
const ajv = new Ajv({ allowUnionTypes: true, verbose: true })
ajv.addKeyword({ keyword: 'x-most-bytes', validate: (most: number, value: unknown) => weighsAtMost(value, most) })
ajv.addKeyword({ keyword: 'x-unsupported', validate: (_: string, value: unknown) => asksForNothing(value) })
const validators = new WeakMap<TSchema, ValidateFunction>()

/** What a value may be. Of very many, the first: /docs names them all. */
function choices(values: unknown[]): string {
  return someOf(
    values.map((value) => JSON.stringify(value)),
    MOST_CHOICES,
  )
}

function asksForNothing(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) return Object.values(value).every(asksForNothing)
  return !value || value === 'off' || value === 'default'
}

/** A schema as it is read field by field. */
export type Shape = {
  type?: string
  properties?: Record<string, TSchema & { type?: string }>
  patternProperties?: Record<string, TSchema>
  additionalProperties?: boolean
  items?: TSchema
  anyOf?: TSchema[]
}

/** The value, when it is what the schema says. `place`: the path of the value in the body, for the sentence. Refuses: bad_request 400. */
export function validate(schema: TSchema, value: unknown, place = ''): unknown {
  let validator = validators.get(schema)
  if (validator === undefined) {
    validator = ajv.compile(schema)
    validators.set(schema, validator)
  }
  if (!validator(value)) refuse('bad_request', `Invalid request: ${sentence(validator.errors ?? [], place)}.`)
  return value
}

/**
 * The fault that names the culprit best: of a union's many, the deepest, and of those that lie equally deep the one of the variant that came
 * nearest: a value of the right type with something else wrong is nearer than one of another type.
 */
function sentence(faults: ErrorObject[], at: string): string {
  const fault = faults.reduce((best, next) => (isNearer(next, best) ? next : best))
  const inside = fault.instancePath.slice(1).replaceAll('/', '.').replaceAll('~1', '/').replaceAll('~0', '~')
  const path = [at, inside].filter((part) => part !== '').join('.')
  const { missingProperty, type, allowedValues } = fault.params
  const place = named(path)
  if (fault.keyword === 'required') {
    return `missing required property ${named(path === '' ? missingProperty : `${path}.${missingProperty}`)}`
  }
  if (fault.keyword === 'type') return `${place} should be ${[type].flat().join(' or ')}`
  if (fault.keyword === 'enum') {
    return `${place} should be one of ${choices(allowedValues)}`
  }
  if (fault.keyword === 'minItems' && fault.params.limit === 1) return `${place} should not be empty`
  if (fault.keyword === 'x-unsupported') return `${place} is not a setting that Berth has; leave it out`
  if (fault.keyword === 'x-most-bytes')
    return `${place} should be at most ${(fault.schema as number) / 1024} KiB of JSON`
  // A pattern is for programs: every one has its words (test/platform/openapi/openapi.test.ts).
  if (fault.keyword === 'pattern') return `${place} should be ${fault.parentSchema?.description}`
  return `${place} ${fault.message?.replace(/^must /, 'should ')}`
}

function isNearer(one: ErrorObject, other: ErrorObject): boolean {
  const depth = ({ instancePath }: ErrorObject) => instancePath.split('/').length
  if (depth(one) !== depth(other)) return depth(one) > depth(other)
  // "should match a schema in anyOf" is said after those of the variants, and names nothing.
  const nearness = ({ keyword, data, params }: ErrorObject) => {
    if (keyword === 'anyOf') return 0
    const isOther = keyword === 'enum' && !params.allowedValues.some((value: unknown) => typeof value === typeof data)
    return keyword === 'type' || isOther ? 1 : 2
  }
  return nearness(one) > nearness(other)
}

/** A field in a message: its path in backquotes, cut where it is long. */
export function named(path: string): string {
  return path === '' ? 'the body' : `\`${shortened(path, 100)}\``
}

/** A text for a message, cut after `length` characters. */
export function shortened(text: string, length = 30): string {
  return text.length > length ? `${text.slice(0, length)}…` : text
}
