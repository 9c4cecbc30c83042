/** What may leave: an answer as JSON text, with the fields that its schema declares and no others. */
import fastJson from 'fast-json-stringify'
import type { TSchema } from 'typebox'
import { mapInSlices } from '../base/event-loop.ts'

const serializers = new WeakMap<TSchema, (answer: unknown) => string>()

/** Above this, text leaves as bytes: for text the platform sets aside three times its length, which a busy list never gives back. */
const LONG = 8192

/** Serializes by the schema. */
export function serialize(schema: TSchema, answer: unknown): string | Buffer {
  return bytesOf(textOf(schema, answer))
}

/**
 * As `serialize`, of an answer with a list: row after row, and where they are heavy other requests run in between. A list that the
 * schema lets be absent may be.
 */
export async function serializeList(schema: TSchema, answer: unknown): Promise<string | Buffer> {
  const { items, properties = {} } = schema as TSchema & { items?: TSchema; properties?: Record<string, TSchema> }
  if (items !== undefined) return writeRows(items, answer as unknown[], { before: '[', between: ',', after: ']' })
  const [name, list] = Object.entries(properties).find(([, property]) => 'items' in property)!
  const { [name]: listed } = answer as Record<string, unknown[] | undefined>
  if (listed === undefined) return serialize(schema, answer)
  const around = textOf(schema, { ...(answer as object), [name]: [] })
  // In a text that is a value its quotes would be escaped: this is the list.
  const at = around.indexOf(`"${name}":[]`) + name.length + 4
  return writeRows((list as unknown as { items: TSchema }).items, listed, {
    before: around.slice(0, at),
    between: ',',
    after: around.slice(at),
  })
}

/** As `serializeList`, of a bare list: a line a row. */
export async function serializeLines(schema: TSchema & { items?: TSchema }, rows: unknown[]): Promise<string | Buffer> {
  return writeRows(schema.items!, rows, { before: '', between: '\n', after: rows.length > 0 ? '\n' : '' })
}

type Around = { before: string; between: string; after: string }

/** What is long becomes bytes on the way: all of a mebibyte at once would hold the others up for some 30 ms. */
async function writeRows(schema: TSchema, rows: unknown[], { before, between, after }: Around) {
  const parts: Buffer[] = []
  let text = before
  await mapInSlices(rows.entries().toArray(), ([at, row]) => {
    text += at === 0 ? textOf(schema, row) : between + textOf(schema, row)
    if (text.length <= LONG) return
    parts.push(Buffer.from(text))
    text = ''
  })
  text += after
  return parts.length === 0 ? text : Buffer.concat([...parts, Buffer.from(text)])
}

function bytesOf(text: string): string | Buffer {
  return text.length > LONG ? Buffer.from(text) : text
}

/** Compiled at the first answer and shared by all routes of one schema: fifty at the start would cost it a fifth. */
function textOf(schema: TSchema, answer: unknown): string {
  let serializer = serializers.get(schema)
  if (serializer === undefined) {
    serializer = fastJson(schema as Parameters<typeof fastJson>[0])
    serializers.set(schema, serializer)
  }
  return serializer(answer)
}
