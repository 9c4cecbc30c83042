/** An edit form sends only changed fields, so concurrent edits of different fields of one object do not overwrite each other. docs/console.md: Forms. */
import { isDeepStrictEqual } from 'node:util'
import type { Static, TSchema } from 'typebox'
import { validate } from '../platform/http/validate.ts'
import { type Html, html, unescapeText } from '../platform/pages/html.ts'
import { csrfFields, type UserPageCtx } from '../platform/pages/screen.ts'
import { Refusal } from '../platform/refusals/refusal.ts'
import { Type } from '../platform/schema/builder.ts'
import type { FormError } from './form-error.ts'

/** Hidden field with the initial values of the others. */
export const INITIAL_VALUES_FIELD = 'was'

/** Returns the schema of an edit form. `form`: the schema of its visible fields. */
export function withInitialValues<F extends TSchema>(form: F): F {
  const { properties } = form as unknown as { properties: Record<string, TSchema> }
  return Type.Object({ ...properties, [INITIAL_VALUES_FIELD]: Type.Optional(Type.String()) }) as unknown as F
}

/** Renders the fields of an edit form with the hidden ones. `inputs` renders the visible fields. After an error, the initial values stay those first shown. */
export function editFields(
  ctx: UserPageCtx,
  error: FormError | undefined,
  inputs: (error: FormError | undefined) => Html,
): Html {
  const was = error?.typed[INITIAL_VALUES_FIELD] ?? initialFormData(inputs(undefined))
  return html`${csrfFields(ctx)}<input type="hidden" name="${INITIAL_VALUES_FIELD}" value="${String(was)}">
${inputs(error)}`
}

/**
 * Returns the initial values of an edit form. Undefined: absent or unusable, so all submitted fields count as changed. Forged values grant no
 * additional rights.
 */
export function initialFields<F extends TSchema>(form: F, sent: unknown): Static<F> | undefined {
  const was = (sent as Record<string, unknown>)[INITIAL_VALUES_FIELD]
  if (typeof was !== 'string' || was === '') return undefined
  const pairs = new URLSearchParams(was)
  const { properties } = form as unknown as { properties: Record<string, { type?: string }> }
  const shown = Object.entries(properties)
    .filter(([name]) => name !== INITIAL_VALUES_FIELD && pairs.has(name))
    .map(([name, { type }]) => [name, type === 'array' ? pairs.getAll(name) : pairs.get(name)])
  if (shown.length === 0) return undefined
  try {
    return validate(form, Object.fromEntries(shown)) as Static<F>
  } catch (error) {
    if (error instanceof Refusal) return undefined
    throw error
  }
}

/**
 * Returns the changed part of the body; undefined if nothing changed. `groups`: see `changedKeys`. `present`: fields as they are now, which take the
 * place of those that were not changed.
 */
export function changedBody<F extends TSchema, B extends object>(
  form: F,
  sent: Static<F>,
  bodyOf: (fields: Static<F>) => B,
  groups?: readonly (readonly string[])[],
  present: Partial<Static<F>> = {},
): Partial<B> | undefined {
  const shown = initialFields(form, sent)
  if (shown === undefined) return bodyOf(sent)
  const changed = changedKeys(bodyOf(sent), bodyOf(shown), groups)
  if (changed === undefined) return undefined
  const [typed, before] = [sent, shown] as Record<string, unknown>[]
  const unchanged = Object.entries(present).filter(([name]) => isDeepStrictEqual(typed![name], before![name]))
  const whole = bodyOf({ ...typed, ...Object.fromEntries(unchanged) } as Static<F>) as Record<string, unknown>
  return Object.fromEntries(Object.keys(changed).map((key) => [key, whole[key]])) as Partial<B>
}

/** Returns the changed keys of a body; undefined if nothing changed. `shown`: the unchanged body. `groups`: keys that are sent together. */
export function changedKeys<B extends object>(
  typed: B,
  shown: object,
  groups: readonly (readonly string[])[] = [],
): Partial<B> | undefined {
  const before = shown as Record<string, unknown>
  const differs = (key: string) => !isDeepStrictEqual((typed as Record<string, unknown>)[key], before[key])
  const changed = Object.entries(typed).filter(([key]) =>
    (groups.find((group) => group.includes(key)) ?? [key]).some(differs),
  )
  return changed.length === 0 ? undefined : (Object.fromEntries(changed) as Partial<B>)
}

/** Matches a form control. Text in markup is escaped, so a match is always a control. */
const CONTROL = /<input\b([^>]*)>|<(select|textarea)\b([^>]*)>([\s\S]*?)<\/\2>/g

/** Returns what a browser sends for untouched fields. HTML standard, 4.10.21.4: constructing the form data set. */
export function initialFormData({ markup }: Html): string {
  const sent = new URLSearchParams()
  for (const [, input, kind, attributes, content = ''] of markup.matchAll(CONTROL)) {
    const name = attributeOf(input ?? attributes!, 'name')
    const value = input === undefined ? (kind === 'select' ? chosenOf(content) : linesOf(content)) : inputValue(input)
    if (name !== undefined && value !== undefined) sent.append(name, value)
  }
  return sent.toString()
}

function attributeOf(attributes: string, name: string): string | undefined {
  const value = new RegExp(` ${name}="([^"]*)"`).exec(attributes)?.[1]
  return value === undefined ? undefined : unescapeText(value)
}

/** An unticked box is not sent. A text input contains no line breaks. */
function inputValue(input: string): string | undefined {
  const isBox = ['checkbox', 'radio'].includes(attributeOf(input, 'type') ?? '')
  const value = attributeOf(input, 'value')
  if (isBox) return / checked(?=\s|$)/.test(input.replaceAll(/"[^"]*"/g, '""')) ? (value ?? 'on') : undefined
  return (value ?? '').replaceAll(/[\r\n]/g, '')
}

/** Without a selected option, browsers send the first. */
function chosenOf(options: string): string | undefined {
  const [first, ...others] = [...options.matchAll(/<option\b([^>]*)>([^<]*)/g)]
  const chosen = [first, ...others].find((option) => / selected(?=\s|$)/.test(option?.[1] ?? '')) ?? first
  return chosen && (attributeOf(chosen[1]!, 'value') ?? unescapeText(chosen[2]!))
}

/** Browsers drop the first line break and send the others as CR LF. */
function linesOf(content: string): string {
  return unescapeText(content)
    .replace(/^\r?\n/, '')
    .replaceAll(/\r\n?|\n/g, '\r\n')
}
