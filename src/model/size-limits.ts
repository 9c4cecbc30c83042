/** Size limits of project settings: for those of any shape together, and for all. docs/limits.md. */
import type { TSchema } from 'typebox'
import { refuse } from '../platform/refusals/refusal.ts'

/** Returns the properties that accept a value of any shape, at any depth. */
export function freeFormFields(properties: Record<string, TSchema>): string[] {
  return Object.keys(properties).filter((name) => isOpen(properties[name]!))
}

function isOpen(schema: TSchema): boolean {
  const { type, properties, items, anyOf, additionalProperties } = schema as Shape
  if (anyOf !== undefined) return anyOf.some(isOpen)
  if (type === undefined) return !('enum' in schema || 'const' in schema)
  if (typeof additionalProperties === 'object') return true
  if (additionalProperties === true || (has(type, 'object') && properties === undefined)) return true
  if (has(type, 'array') && (items === undefined || isOpen(items))) return true
  return Object.values(properties ?? {}).some(isOpen)
}

type Shape = {
  type?: string | string[]
  properties?: Record<string, TSchema>
  items?: TSchema
  anyOf?: TSchema[]
  additionalProperties?: boolean | TSchema
}

function has(type: string | string[], name: string): boolean {
  return [type].flat().includes(name)
}

/**
 * Checks that the named fields together have at most `most` bytes of JSON. Larger stored values may stay or shrink. Refuses: bad_request 400, naming
 * the largest field.
 */
export function mustNotExceedSize(before: object, after: object, names: readonly string[], max: number): void {
  const weights = weigh(after, names)
  const sum = sumOf(weights)
  if (sum <= max || sum <= sumOf(weigh(before, names))) return
  const [heaviest] = weights.sort((a, b) => b.bytes - a.bytes)
  const which = names.length === 1 ? `\`${names[0]}\`` : `\`${heaviest!.name}\`, with the settings that count with it,`
  refuse('bad_request', `Invalid request: ${which} should be at most ${max / 1024} KiB of JSON, not ${sum} bytes.`)
}

function weigh(settings: object, names: readonly string[]): { name: string; bytes: number }[] {
  const values = settings as Record<string, unknown>
  return names
    .filter((name) => values[name] !== undefined)
    .map((name) => ({ name, bytes: Buffer.byteLength(JSON.stringify(values[name])) }))
}

function sumOf(weights: { bytes: number }[]): number {
  return weights.reduce((sum, { bytes }) => sum + bytes, 0)
}
