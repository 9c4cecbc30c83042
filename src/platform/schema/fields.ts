/** Schemas in a form that suits the OpenAPI document, the validator and the serializer. */
import type { Static, TSchema } from 'typebox'
import { LAST_DATE_MS } from '../base/clock.ts'
import { Type } from './builder.ts'

/** Returns the schema or null, as `type: [..., "null"]`: one error message instead of a union's three. */
export function Nullable<T extends TSchema>(schema: T): ReturnType<typeof Type.Unsafe<Static<T> | null>> {
  const plain = schema as TSchema & { type?: string; enum?: unknown[] }
  if (plain.type === undefined) throw new Error('Nullable needs a schema with one type')
  return Type.Unsafe<Static<T> | null>({
    ...plain,
    type: [plain.type, 'null'],
    ...(plain.enum && { enum: [...plain.enum, null] }),
  })
}

/** Returns an enum of strings. */
export function OneOf<const T extends readonly string[]>(...values: T) {
  return Type.Unsafe<T[number]>({ type: 'string', enum: [...values] })
}

/**
 * Returns the schema of an unsupported field. It is refused when set, so that no user relies on a missing protection. null, false, `off`, `default`
 * and combinations of these count as unset. docs/clients.md.
 */
export function Unsupported(why: string) {
  return Type.Unsafe<unknown>({ 'x-unsupported': why })
}

/** Returns the schema of any JSON value up to `maxBytes`, checked before later fields are read. */
export function AnyJson(maxBytes: number, options?: Record<string, unknown>) {
  return Type.Unsafe<unknown>({ ...options, 'x-most-bytes': maxBytes })
}

/** As `AnyJson`, for an object. */
export function AnyObject(maxBytes: number) {
  return Type.Object({}, { additionalProperties: true, 'x-most-bytes': maxBytes })
}

/** Returns the schema of a query list: comma-separated, or with the key repeated. At most 100. */
export function CommaSeparated<T extends TSchema>(item: T, description: string) {
  return Type.Array(item, { minItems: 1, maxItems: 100, description })
}

/** Milliseconds since the epoch. */
export const Timestamp = Type.Integer({ minimum: 0 })
/** A time that a caller chooses: not after the last one that can be shown as a date. */
export const ChosenTime = Type.Integer({ minimum: 0, maximum: LAST_DATE_MS })

/** An account as named by an operator. `platform/access/names.ts` resolves it to an id. */
export const AccountName = Type.String({ minLength: 1, maxLength: 254, description: 'id, slug, username or email' })

/** The page object next to every list. Specification: Pagination object; docs/spec/wire.md 3.4: three keys, numbers or null. */
export const Pagination = Type.Object(
  {
    count: Type.Integer(),
    next: Nullable(Type.Integer()),
    prev: Nullable(Type.Integer()),
  },
  { title: 'Pagination' },
)

export const PageQuery = {
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, description: 'rows on a page, 20 by default' })),
  until: Type.Optional(
    Type.Integer({ minimum: 0, description: 'only rows before this: `next` of the page before, or a timestamp' }),
  ),
}

/** Query of a page linked from an email. A mail program may truncate the link; the page then reports it as invalid. */
export const LinkQuery = Type.Object({ link: Type.Optional(Type.String({ maxLength: 100 })) })
