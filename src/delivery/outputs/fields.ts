/** Parses fields of tenants' JSON. An invalid value adds an error with file and field, and becomes undefined. */
import { OUTPUT_LIMITS } from '../protocol/output-limits.ts'
import { addError, type Report } from './faults.ts'

export type Field = { report: Report; file: string; name: string; value: unknown }

export type TextLimits = { min?: number; max: number; form?: readonly [RegExp, string] }

/** Adds an error about a field. */
export function refuseField({ report, file, name }: Field, message: string): undefined {
  addError(report, file, name, message)
}

/** Returns the field of a key. Its value is undefined if missing or null. */
export function member(parent: Field, key: string): Field {
  const object = parent.value as Record<string, unknown>
  const value = Object.hasOwn(object, key) ? (object[key] ?? undefined) : undefined
  return { ...parent, name: parent.name === '' ? key : `${parent.name}.${key}`, value }
}

/** Returns whether the value is an object. Undefined adds no error. `choices`: allowed types, for the message. */
export function isObject(field: Field, choices = 'an object'): boolean {
  const { value } = field
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return true
  if (value !== undefined) refuseField(field, `must be ${choices}.`)
  return false
}

/** Returns a text, or undefined. */
export function textOf(field: Field, { min = 0, max, form }: TextLimits): string | undefined {
  const { value } = field
  if (value === undefined) return undefined
  if (typeof value !== 'string') return refuseField(field, 'must be a string.')
  if (value.length < min) return refuseField(field, 'must not be empty.')
  if (value.length > max) {
    return refuseField(field, `has ${value.length} characters. At most ${max} are allowed.`)
  }
  if (!value.isWellFormed() || value.includes('\0')) return refuseField(field, 'must be Unicode text without NUL.')
  return form === undefined || form[0].test(value) ? value : refuseField(field, form[1])
}

/** Returns a whole number, or undefined. `other`: other allowed types, for the message. */
export function integerOf(field: Field, min: number, max: number, alternative = ''): number | undefined {
  const { value } = field
  if (value === undefined) return undefined
  if (Number.isInteger(value) && (value as number) >= min && (value as number) <= max) return value as number
  return refuseField(field, `must be ${alternative}a whole number from ${min} to ${max}.`)
}

/** Returns whether a flag is set. */
export function flagOf(field: Field): boolean {
  if (field.value === undefined || typeof field.value === 'boolean') return field.value === true
  refuseField(field, 'must be true or false.')
  return false
}

/** Returns one of these strings, or undefined. */
export function choiceOf<const T extends readonly string[]>(field: Field, choices: T): T[number] | undefined {
  if (field.value === undefined || choices.includes(field.value as string)) return field.value as T[number] | undefined
  return refuseField(field, `must be one of ${choices.join(', ')}.`)
}

/** Returns the items of a list, or undefined. A list above the limit is an error and is not read. `other`: as in `integerOf`. */
export function itemsOf(field: Field, max: number, alternative = ''): Field[] | undefined {
  const { value } = field
  if (value === undefined) return undefined
  if (!Array.isArray(value)) return refuseField(field, `must be ${alternative}a list.`)
  if (value.length > max) return refuseField(field, `has ${value.length} entries. At most ${max} are allowed.`)
  return value.map((item, at) => ({ ...field, name: `${field.name}[${at}]`, value: item ?? undefined }))
}

/** Returns the texts of a list, or undefined. `other`: as in `integerOf`. */
export function textsOf(field: Field, max: number, limits: TextLimits, alternative = ''): string[] | undefined {
  return itemsOf(field, max, alternative)?.flatMap((item) => required(item, (value) => textOf(value, limits)) ?? [])
}

/** Returns the fields of an object by key, or undefined. */
export function entriesOf(field: Field, max: number): [key: string, field: Field][] | undefined {
  if (!isObject(field)) return undefined
  const keys = Object.keys(field.value as object)
  if (keys.length > max) return refuseField(field, `has ${keys.length} entries. At most ${max} are allowed.`)
  return keys.map((key) => [key, { ...member(field, key), name: `${field.name}[${JSON.stringify(key)}]` }])
}

/** Reads a required field. */
export function required<T>(field: Field, read: (field: Field) => T | undefined): T | undefined {
  return field.value === undefined ? refuseField(field, 'is missing.') : read(field)
}

/** Parses a JSON file. Returns undefined and adds an error if it is invalid, or too costly to parse. */
export function parseField(file: Field, bytes: Uint8Array): Field | undefined {
  const max = OUTPUT_LIMITS.jsonTokens
  if (tokensOf(bytes) > max) return refuseField(file, `has more than ${max} values. Remove some.`)
  try {
    return { ...file, value: JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)) as unknown }
  } catch {
    return refuseField(file, 'is not JSON in UTF-8.')
  }
}

/** Counts brackets, colons and commas outside of strings. */
function tokensOf(bytes: Uint8Array): number {
  const [quote, backslash] = [0x22, 0x5c]
  let tokens = 0
  let isText = false
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]!
    if (byte === quote) isText = !isText
    else if (isText && byte === backslash) at++
    else if (!isText && STRUCTURE.has(byte)) tokens++
  }
  return tokens
}

const STRUCTURE: ReadonlySet<number> = new Set(Buffer.from('[{,:'))

/** Removes undefined fields. */
export function defined<T extends object>(object: T): { [key in keyof T]?: Exclude<T[key], undefined> } {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined)) as {
    [key in keyof T]?: Exclude<T[key], undefined>
  }
}
