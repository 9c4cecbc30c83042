/**
 * Schemas with TypeBox types. TypeBox's own module has 500 files and costs every start 100 ms and 20 MB, for a dozen functions that only write JSON
 * Schema: docs/decisions/0080.
 */
import type { TSchema, Type as TypeBox } from 'typebox'

type Builder = Pick<
  typeof TypeBox,
  | 'Array'
  | 'Boolean'
  | 'Enum'
  | 'Integer'
  | 'Literal'
  | 'Null'
  | 'Number'
  | 'Object'
  | 'Optional'
  | 'Partial'
  | 'String'
  | 'Union'
  | 'Unknown'
  | 'Unsafe'
>
type Options = Record<string, unknown>
type Properties = Record<string, TSchema>

/** Optional properties; the mark is not part of the schema. */
const optional = new WeakSet<TSchema>()

export const Type = {
  Array: (items: TSchema, options?: Options) => ({ type: 'array', items, ...options }),
  Boolean: (options?: Options) => ({ type: 'boolean', ...options }),
  Enum: (values: unknown[], options?: Options) => ({ enum: values, ...options }),
  Integer: (options?: Options) => ({ type: 'integer', ...options }),
  Literal: (value: unknown, options?: Options) => ({ type: typeof value, const: value, ...options }),
  Null: (options?: Options) => ({ type: 'null', ...options }),
  Number: (options?: Options) => ({ type: 'number', ...options }),
  Object: object,
  Optional(schema: TSchema) {
    const copy = { ...schema }
    optional.add(copy)
    return copy
  },
  Partial({ properties, required: _, ...rest }: TSchema & { properties: Properties; required?: string[] }) {
    const some = Object.entries(properties).map(([name, schema]) => [name, Type.Optional(schema)] as const)
    return { ...rest, properties: Object.fromEntries(some) }
  },
  String: (options?: Options) => ({ type: 'string', ...options }),
  Union: (anyOf: TSchema[], options?: Options) => ({ anyOf, ...options }),
  Unknown: (options?: Options) => ({ ...options }),
  Unsafe: (schema: TSchema) => schema,
} as unknown as Builder

function object(properties: Properties, options?: Options) {
  const required = Object.keys(properties).filter((name) => !optional.has(properties[name]!))
  return { type: 'object', ...(required.length > 0 && { required }), properties, ...options }
}
