/**
 * A form of a change sends what was changed. Of two people who change different fields of the same thing, neither undoes what the other
 * did, however long the form was open. docs/console.md: Forms.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Static, TSchema } from 'typebox'
import { validate } from '../platform/http/validate.ts'
import { type Html, html, unescapeText } from '../platform/pages/html.ts'
import { csrfFields, type UserPageCtx } from '../platform/pages/screen.ts'
import { Refusal } from '../platform/refusals/refusal.ts'
import { Type } from '../platform/schema/builder.ts'
import type { Refused } from './refused.ts'

/** The field that holds the others as they were first shown. A form that has it is one of a change. */
export const INITIAL_VALUES_FIELD = 'was'

/** The schema of a form of a change. `form`: that of the fields that people see. */
export function withInitialValues<F extends TSchema>(form: F): F {
  const { properties } = form as unknown as { properties: Record<string, TSchema> }
  return Type.Object({ ...properties, [INITIAL_VALUES_FIELD]: Type.Optional(Type.String()) }) as unknown as F
}

/**
 * The fields of a form of a change, with the hidden ones. `inputs`: the fields that people see, with what was typed where it was refused.
 * `refused`: of this form. A page that shows a refusal keeps what was first shown.
 */
export function editFields(
  ctx: UserPageCtx,
  refused: Refused | undefined,
  inputs: (refused: Refused | undefined) => Html,
): Html {
  const was = refused?.typed[INITIAL_VALUES_FIELD] ?? initialFormData(inputs(undefined))
  return html`${csrfFields(ctx)}<input type="hidden" name="${INITIAL_VALUES_FIELD}" value="${String(was)}">
${inputs(refused)}`
}

/**
 * The fields as they were first shown, by the schema of the form; undefined where the form does not say them, or says no fields of it. Then all
 * that was typed is taken for changed, as of a program that sends a form. Whoever forges it changes what their rights allow, and no more.
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

/** What a form changes in the body that its fields make (`bodyOf`); undefined: nothing. `groups`: as of `changedKeys`. */
export function changedBody<F extends TSchema, B extends object>(
  form: F,
  sent: Static<F>,
  bodyOf: (fields: Static<F>) => B,
  groups?: readonly (readonly string[])[],
): Partial<B> | undefined {
  const shown = initialFields(form, sent)
  return shown === undefined ? bodyOf(sent) : changedKeys(bodyOf(sent), bodyOf(shown), groups)
}

/**
 * The part of a body that was changed. `shown`: the body that the form makes unchanged; `groups`: keys that mean something only together, so
 * that all of them are sent where one was changed. Undefined: nothing was changed.
 */
export function changedKeys<B extends object>(
  typed: B,
  shown: object,
  groups: readonly (readonly string[])[] = [],
): Partial<B> | undefined {
  const before = shown as Record<string, unknown>
  const differs = (key: string) => !isDeepStrictEqual((typed as Record<string, unknown>)[key], before[key])
  const changed = Object.entries(typed).filter(([key]) =>
    (groups.find((one) => one.includes(key)) ?? [key]).some(differs),
  )
  return changed.length === 0 ? undefined : (Object.fromEntries(changed) as Partial<B>)
}

/** A control: an input, or a choice or a text of several lines with what is in it. Text in markup is escaped, so what looks like a control is one. */
const CONTROL = /<input\b([^>]*)>|<(select|textarea)\b([^>]*)>([\s\S]*?)<\/\2>/g

/** What a browser sends of fields that nobody touched. HTML standard, 4.10.21.4: constructing the form data set. */
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

/** A box that is not ticked sends nothing. A line of text has no line ends in a browser. */
function inputValue(input: string): string | undefined {
  const isBox = ['checkbox', 'radio'].includes(attributeOf(input, 'type') ?? '')
  const value = attributeOf(input, 'value')
  if (isBox) return / checked(?=\s|$)/.test(input.replaceAll(/"[^"]*"/g, '""')) ? (value ?? 'on') : undefined
  return (value ?? '').replaceAll(/[\r\n]/g, '')
}

/** Where no choice is made, a browser takes the first. */
function chosenOf(options: string): string | undefined {
  const [first, ...others] = [...options.matchAll(/<option\b([^>]*)>([^<]*)/g)]
  const chosen = [first, ...others].find((one) => / selected(?=\s|$)/.test(one?.[1] ?? '')) ?? first
  return chosen && (attributeOf(chosen[1]!, 'value') ?? unescapeText(chosen[2]!))
}

/** A browser leaves out the first line break of a text, and sends CR LF for each other one. */
function linesOf(content: string): string {
  return unescapeText(content)
    .replace(/^\r?\n/, '')
    .replaceAll(/\r\n?|\n/g, '\r\n')
}
