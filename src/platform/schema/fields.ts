/** The few shapes that TypeBox does not spell the way the OpenAPI document, the validator and the serializer all like. */
import type { Static, TSchema } from 'typebox'
import { Type } from './builder.ts'

/** The schema or null, as `type: [..., "null"]`: one error message instead of a union's three. */
export function Nullable<T extends TSchema>(schema: T): ReturnType<typeof Type.Unsafe<Static<T> | null>> {
  const plain = schema as TSchema & { type?: string; enum?: unknown[] }
  if (plain.type === undefined) throw new Error('Nullable needs a schema with one type')
  return Type.Unsafe<Static<T> | null>({
    ...plain,
    type: [plain.type, 'null'],
    ...(plain.enum && { enum: [...plain.enum, null] }),
  })
}

/** One of these strings. */
export function OneOf<const T extends readonly string[]>(...values: T) {
  return Type.Unsafe<T[number]>({ type: 'string', enum: [...values] })
}

/**
 * A field of the clients that Berth has nothing for: refused when it asks for something, so that nobody believes in a protection
 * that is not there. null, false, `off`, `default`, and what is made of these alone, ask for nothing. docs/clients.md.
 */
export function Unsupported(why: string) {
  return Type.Unsafe<unknown>({ 'x-unsupported': why })
}

/** A value of any shape in a body, of at most so many bytes as JSON: it is weighed before the fields behind it are looked at. */
export function AnyJson(mostBytes: number, options?: Record<string, unknown>) {
  return Type.Unsafe<unknown>({ ...options, 'x-most-bytes': mostBytes })
}

/** As `AnyJson`, of an object. */
export function AnyObject(mostBytes: number) {
  return Type.Object({}, { additionalProperties: true, 'x-most-bytes': mostBytes })
}

/** In a query: several values, comma-separated, or the key given again for each. At most 100. */
export function CommaSeparated<T extends TSchema>(item: T, description: string) {
  return Type.Array(item, { minItems: 1, maxItems: 100, description })
}

/** A whole number of milliseconds since the epoch. */
export const Timestamp = Type.Integer({ minimum: 0 })

/** How an operator names an account. `platform/access/names.ts` turns it into an id. */
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

/** The query of every list that pages. */
export const PageQuery = {
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, description: 'rows on a page, 20 when not given' })),
  until: Type.Optional(
    Type.Integer({ minimum: 0, description: 'only rows before this: `next` of the page before, or a timestamp' }),
  ),
}

/** The query of a page whose address is in a letter. A mail program may have cut the link: then it is none that works, which the page says. */
export const LinkQuery = Type.Object({ link: Type.Optional(Type.String({ maxLength: 100 })) })
