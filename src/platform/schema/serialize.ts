/** Serializes responses by schema, so that only declared fields leave. */
import fastJson from 'fast-json-stringify'
import type { TSchema } from 'typebox'
import { mapInSlices } from '../base/event-loop.ts'

const serializers = new WeakMap<TSchema, (answer: unknown) => string>()

/** Longer texts are converted to bytes: for text Node.js reserves three times its length and keeps it for busy lists. */
const LONG = 8192

/** Serializes a response by its schema. */
export function serialize(schema: TSchema, answer: unknown): string | Buffer {
  return bytesOf(textOf(schema, answer))
}

/** As `serialize`, for a response with a list: row by row, with pauses if rows are large. An optional list may be missing. */
export async function serializeList(schema: TSchema, answer: unknown): Promise<string | Buffer> {
  const { items, properties = {} } = schema as TSchema & { items?: TSchema; properties?: Record<string, TSchema> }
  if (items !== undefined) return writeRows(items, answer as unknown[], { before: '[', between: ',', after: ']' })
  const [name, list] = Object.entries(properties).find(([, property]) => 'items' in property)!
  const { [name]: listed } = answer as Record<string, unknown[] | undefined>
  if (listed === undefined) return serialize(schema, answer)
  const around = textOf(schema, { ...(answer as object), [name]: [] })
  // In a string value its quotes would be escaped, so this is the list.
  const at = around.indexOf(`"${name}":[]`) + name.length + 4
  return writeRows((list as unknown as { items: TSchema }).items, listed, {
    before: around.slice(0, at),
    between: ',',
    after: around.slice(at),
  })
}

/** As `serializeList`, for a bare list with one line per row. */
export async function serializeLines(schema: TSchema & { items?: TSchema }, rows: unknown[]): Promise<string | Buffer> {
  return writeRows(schema.items!, rows, { before: '', between: '\n', after: rows.length > 0 ? '\n' : '' })
}

type Around = { before: string; between: string; after: string }

/** Converts to bytes in pieces: a mebibyte at once would block for some 30 ms. */
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

/** Compiled at the first response and shared by all routes of one schema: compiling all at the start would cost a fifth of it. */
function textOf(schema: TSchema, answer: unknown): string {
  let serializer = serializers.get(schema)
  if (serializer === undefined) {
    serializer = fastJson(schema as Parameters<typeof fastJson>[0])
    serializers.set(schema, serializer)
  }
  return serializer(answer)
}
