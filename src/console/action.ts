/** A form of the console is a route asked by a browser: what was refused is shown beside what was typed. docs/console.md: How it is built. */
import type { Static, TSchema } from 'typebox'
import type { Wish } from '../pages/ask.ts'
import type { Page } from '../pages/frame.ts'
import { type Html, html } from '../pages/html.ts'
import { type ConsoleCtx, consoleScreen, type Screen, type ScreenInput } from '../pages/screen.ts'
import { Refusal } from '../refusal.ts'
import { accountIn } from './frame.ts'

/** Why a form was refused, the field that is named in it, and what was typed. */
export type Refused = { message: string; field: string | undefined; typed: Record<string, unknown> }

/** A page that may show what was refused of one of its forms. */
type Showing = (ctx: ConsoleCtx, input: ScreenInput, refused?: Refused) => Promise<Page>

type Action<F extends TSchema, A> = {
  /** Where the form goes: below the page that shows it. */
  path: string
  /** A verb and a noun, for logs and figures. */
  name: string
  form?: F
  /** The route that it asks. */
  asks: string
  /** The routes that `again` asks. */
  shows: readonly string[]
  /** What the route is asked, for the account that the address names. */
  wish: (input: ScreenInput<unknown, Static<F>>) => Wish
  /** The page that follows. */
  to: (answer: A, input: ScreenInput<unknown, Static<F>>) => string
  /** The page that shows the refusal: the one with the form. */
  again: Showing
  /** As of a page: the password was given within the last hour. The page with the form says so too. */
  fresh?: true
}

/**
 * A form that asks one route. What the route refuses because of what was typed comes back on the page of the form, with the
 * status of the refusal; what else goes wrong is a page by itself.
 */
export function action<F extends TSchema, A = unknown>(spec: Action<F, A>): Screen {
  const { path, name, form, asks, shows, wish, to, again, fresh } = spec
  return consoleScreen({
    method: 'POST',
    path,
    name,
    ...(form && { form }),
    ...(fresh && { fresh }),
    asks: [asks, ...shows],
    run: async (ctx, input) => {
      const asked = input as ScreenInput<unknown, Static<F>>
      try {
        const account = input.params.slug === undefined ? undefined : await accountIn(ctx, input.params)
        return { to: to(await ctx.ask<A>(asks, { ...(account && { account }), ...wish(asked) }), asked) }
      } catch (error) {
        if (!(error instanceof Refusal) || error.status >= 500 || error.key === 'invalid_token') throw error
        const typed = (input.form ?? {}) as Record<string, unknown>
        const refused = { message: error.message, field: fieldIn(error.message), typed }
        return { ...(await again(ctx, input, refused)), status: error.status }
      }
    },
  })
}

/** The field that a refusal names: "Invalid request: `name` should be …". */
function fieldIn(message: string): string | undefined {
  return /`([\w.]+)`/.exec(message)?.[1]
}

/** The refusal above a form; undefined when there is none. */
export function faultOf(refused: Refused | undefined): Html | undefined {
  return refused && html`<p class="notice bad" role="alert" id="fault">${refused.message}</p>`
}

/** One field of a form: its label, its input with what was typed before, and what is wrong with it. */
export function field(
  name: string,
  label: string,
  { value, type = 'text', hint, required, refused, attributes }: FieldOptions = {},
): Html {
  const wrong = refused?.field === name
  const typed = refused?.typed[name] ?? value
  const about = [hint && `${name}-hint`, wrong && 'fault'].filter(Boolean).join(' ')
  return html`<label for="${name}">${label}</label>
${hint && html`<p class="soft small" id="${name}-hint">${hint}</p>`}
<input type="${type}" id="${name}" name="${name}" value="${typed === undefined ? '' : String(typed)}"${required && html` required`}${about !== '' && html` aria-describedby="${about}"`}${wrong && html` aria-invalid="true"`}${attributes}>`
}

type FieldOptions = {
  value?: string | number
  type?: 'text' | 'email' | 'url' | 'number' | 'password' | 'search' | 'date'
  hint?: string
  required?: boolean
  refused?: Refused | undefined
  /** Such as `autocomplete="off"`, as markup. */
  attributes?: Html
}
