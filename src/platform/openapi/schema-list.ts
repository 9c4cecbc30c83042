/** Renders the fields of a schema: name, type, presence, limits and description. */
import type { TSchema } from 'typebox'
import { type Html, html } from '../pages/html.ts'
import { FIELD_DESCRIPTIONS } from './field-descriptions.ts'

/** Deepest nesting to show; below it, only the type. */
const DEEPEST = 4

/** Marks required fields of a request, or optional fields of a response. */
export type Mark = 'required' | 'not always'

type Shape = TSchema & {
  type?: string | string[]
  properties?: Record<string, Shape>
  required?: string[]
  items?: Shape
  anyOf?: Shape[]
  enum?: unknown[]
  const?: unknown
  description?: string
  default?: unknown
  'x-unsupported'?: string
} & Partial<Record<'minLength' | 'maxLength' | 'minimum' | 'maximum' | 'minItems' | 'maxItems', number>>

/** Renders the fields of an object, list items or union variants; otherwise the type. */
export function schemaList(schema: TSchema, mark: Mark): Html {
  const lists = listsOf(schema, mark, 1)
  if (lists.length === 0) return html`<p><i>${typeOf(schema)}</i></p>`
  const named = isList(schema) ? html`<p><i>${typeOf(schema)}</i>, each with</p>` : undefined
  return html`${named}${lists.map((list, at) => html`${at > 0 && html`<p>or</p>`}${list}`)}`
}

/** Renders a field as a list item. `below`: its nested fields. */
export function fieldItem(name: string, schema: TSchema, mark: Mark | undefined, below?: Html): Html {
  const { description = FIELD_DESCRIPTIONS[name], 'x-unsupported': unsupported }: Shape = schema
  const summary = unsupported === undefined ? [typeOf(schema), ...limitsOf(schema)].join(', ') : 'refused'
  const words = unsupported ?? description
  return html`<li><code>${name}</code> <i>${summary}</i>${mark && html` <b class="badge">${mark}</b>`}${words && html` – ${renderInlineCode(words)}`}${below}</li>`
}

/** Renders text with backticks as code. */
export function renderInlineCode(text: string): Html {
  return html`${text.split('`').map((part, at) => (at % 2 === 1 ? html`<code>${part}</code>` : html`${part}`))}`
}

/** Returns all field names of a schema, at every depth. */
export function fieldNames(schema: Shape): string[] {
  const { properties = {}, items, anyOf = [] } = schema
  const inner = [...Object.values(properties), ...anyOf, ...(items ? [items] : [])]
  return [...Object.keys(properties), ...inner.flatMap(fieldNames)]
}

function listsOf(schema: Shape, mark: Mark, depth: number): Html[] {
  const inner = schema.items ?? schema
  return (inner.anyOf ?? [inner])
    .filter(({ properties }) => properties !== undefined)
    .map((shape) => fieldList(shape, mark, depth))
}

function fieldList({ properties = {}, required = [] }: Shape, mark: Mark, depth: number): Html {
  const items = Object.entries(properties).map(([name, schema]) => {
    const isMarked = required.includes(name) === (mark === 'required')
    const lists = depth < DEEPEST ? listsOf(schema, mark, depth + 1) : []
    const below = html`<details><summary>Fields of ${name}</summary>${lists}</details>`
    return fieldItem(name, schema, isMarked ? mark : undefined, lists.length > 0 ? below : undefined)
  })
  return html`<ul class="fields">${items}</ul>`
}

function isList({ items }: Shape): boolean {
  return items !== undefined
}

/** Returns a type such as `string`, `array of integer`, `"a" or "b"`. */
function typeOf(schema: Shape): string {
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(', ')
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.anyOf) return [...new Set(schema.anyOf.map(typeOf))].join(' or ')
  if (schema.items) return `array of ${typeOf(schema.items)}${[schema.type].flat().includes('null') ? ' or null' : ''}`
  return [schema.type ?? 'anything'].flat().join(' or ')
}

/** Returns limits such as `1 to 100 characters`. */
function limitsOf(schema: Shape): string[] {
  const limit = (from: number | undefined, to: number | undefined, unit: string) => {
    if (from === undefined && to === undefined) return []
    if (from === to) return [`exactly ${to}${unit}`]
    if (to === undefined) return from === 0 ? [] : [`at least ${from}${unit}`]
    return [from === undefined || from === 0 ? `at most ${to}${unit}` : `${from} to ${to}${unit}`]
  }
  return [
    ...limit(schema.minLength, schema.maxLength, ' characters'),
    ...limit(schema.minimum, schema.maximum, ''),
    ...limit(schema.minItems, schema.maxItems, ' items'),
    ...(schema.default === undefined ? [] : [`${JSON.stringify(schema.default)} by default`]),
  ]
}
