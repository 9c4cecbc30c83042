/** What may leave: an answer as JSON text, with the fields that its schema declares and no others. */
import fastJson from 'fast-json-stringify'
import type { TSchema } from 'typebox'

const serializers = new WeakMap<TSchema, (answer: unknown) => string>()

/** Above this, text leaves as bytes: for text the platform sets aside three times its length, which a busy list never gives back. */
const LONG = 8192

/** Serializes by the schema. Compiled at the first answer and shared by all routes of one schema: fifty at the start would cost it a fifth. */
export function serialize(schema: TSchema, answer: unknown): string | Buffer {
  let serializer = serializers.get(schema)
  if (serializer === undefined) {
    serializer = fastJson(schema as Parameters<typeof fastJson>[0])
    serializers.set(schema, serializer)
  }
  const text = serializer(answer)
  return text.length > LONG ? Buffer.from(text) : text
}
