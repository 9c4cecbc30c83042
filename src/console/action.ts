/** A form of the console is a route asked by a browser: what was refused is shown beside what was typed. docs/console.md: How it is built. */
import type { Static, TSchema } from 'typebox'
import type { RefusalKey } from '../errors.ts'
import type { Page } from '../platform/pages/frame.ts'
import { type Html, html } from '../platform/pages/html.ts'
import {
  type ConsoleCtx,
  consoleScreen,
  type RouteCall,
  SAVED_QUERY,
  type Screen,
  type ScreenInput,
} from '../platform/pages/screen.ts'
import { Refusal } from '../platform/refusals/refusal.ts'
import { changedBody, withInitialValues } from './edit-form.ts'
import { findAccountOfPath } from './frame.ts'
import { userMessage } from './names/error-messages.ts'
import type { Refused } from './refused.ts'

/** TABLE the field that a refusal is about, where its sentence names none. */
const FIELD_OF: Partial<Record<RefusalKey, string>> = {
  invalid_project_name: 'name',
  project_name_taken: 'name',
  env_key_characters: 'key',
  env_key_length: 'key',
  env_key_reserved: 'key',
  env_already_exists: 'key',
  env_conflict: 'key',
  env_value_length: 'value',
  env_system_value: 'value',
  env_limit: 'value',
  env_missing_target: 'target',
  invalid_domain: 'name',
  domain_forbidden: 'name',
  domain_on_project: 'name',
  domain_on_other_project: 'name',
  domain_owned_by_your_other_account: 'name',
  conflict_with_verified_domain: 'name',
  domain_not_allowed: 'name',
  redirect_to_itself: 'redirect',
  environment_of_domain: 'customEnvironmentId',
  integration_slug_taken: 'slug',
  invalid_environment_slug: 'slug',
  environment_slug_taken: 'slug',
  too_many_environments: 'slug',
  slug_taken: 'slug',
  too_many_slugs: 'slug',
  member_exists: 'email',
}

/** A page that may show what was refused of one of its forms. */
export type RenderForm = (ctx: ConsoleCtx, input: ScreenInput, refused?: Refused) => Promise<Page>

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
  /** What the route is asked, for the account that the address names. `now`: in milliseconds. */
  wish: (input: ScreenInput<unknown, Static<F>>, now: number) => RouteCall
  /** Of a form of a change, whose page has `editFields`: only the keys of the body that were changed are sent, and the page that follows says that it is saved. Each list: keys that are sent together. */
  changes?: readonly (readonly string[])[]
  /** What the fields of the route are called in the form, where that is another name. */
  names?: Record<string, string>
  /** The address of the page that follows (`answer` is what was sent where nothing was changed), or a page that shows the answer this once. The form of such a page says `data-turbo="false"`. */
  to: (answer: A, input: ScreenInput<unknown, Static<F>>, ctx: ConsoleCtx) => string | Promise<Page>
  /** The page that shows the refusal: the one with the form. */
  again: RenderForm
  /** As of a page: the password was given within the last hour. The page with the form says so too. */
  fresh?: true
  /** As of a page: the most bytes of the form, where they are more than usual. */
  bodyLimit?: number
}

/**
 * A form that asks one route. What the route refuses comes back on the page of the form, with the status of the refusal and what was
 * typed. A session that ended, and a fault of ours, is a page by itself.
 */
export function action<F extends TSchema, A = unknown>(spec: Action<F, A>): Screen {
  const { path, name, form, asks, shows, wish, changes, names, to, again, fresh, bodyLimit } = spec
  return consoleScreen({
    method: 'POST',
    path,
    name,
    ...(form && { form: changes ? withInitialValues(form) : form }),
    ...(fresh && { requiresReauthentication: fresh }),
    ...(bodyLimit && { bodyLimit }),
    savesForm: true,
    calls: [asks, ...shows],
    run: async (ctx, input) => {
      const asked = input as ScreenInput<unknown, Static<F>>
      try {
        if (input.error) throw input.error
        const account = input.params.slug === undefined ? undefined : await findAccountOfPath(ctx, input.params)
        const whole = wish(asked, ctx.now)
        const bodyOf = (fields: Static<F>) => wish({ ...asked, form: fields }, ctx.now).body as object
        const body = changes && form ? changedBody(form, asked.form, bodyOf, changes) : whole.body
        // Where nothing was changed no route is asked, and nothing is saved: nobody is told of a change that is none.
        const isSame = changes !== undefined && body === undefined
        const answer = isSame
          ? (whole.body as A)
          : await ctx.ask<A>(asks, { ...(account && { account }), ...whole, body })
        const next = await to(answer, asked, ctx)
        return typeof next === 'string' ? { redirectTo: changes && !isSame ? `${next}${SAVED_QUERY}` : next } : next
      } catch (error) {
        if (!(error instanceof Refusal) || ALONE.has(error.key)) throw error
        return { ...(await again(ctx, input, formErrorOf(error, input.form, names))), status: error.status }
      }
    },
  })
}

/** Refusals that no form can mend. The first two lead to the pages on which people prove who they are. */
const ALONE: ReadonlySet<RefusalKey> = new Set(['invalid_token', 'sign_in_again', 'internal_server_error'])

/** What a refusal says of a form, in words for people: "Invalid request: `name` should be …" is of the field `name`. `names`: as of an action. */
export function formErrorOf(
  { message, key, extra }: Refusal,
  form: unknown,
  names: Record<string, string> = {},
): Refused {
  const named = /`([\w.]+)`/.exec(message)?.[1]
  const about = named ?? FIELD_OF[key]
  const field = about && (names[about] ?? about.split('.')[0])
  const called = named === undefined || field === undefined ? message : message.replace(`\`${named}\``, `\`${field}\``)
  return { key, message: userMessage(called), field, typed: (form ?? {}) as Record<string, unknown>, extra }
}

/** The refusal above a form; undefined when there is none. */
export function formErrorNotice(refused: Refused | undefined): Html | undefined {
  return refused && html`<p class="notice bad" role="alert" id="fault">${refused.message}</p>`
}

/** One field of a form: its label, its input with what was typed before, and what is wrong with it. */
export function field(name: string, label: string, options: FieldOptions = {}): Html {
  const { value, type = 'text', required, refused, attributes } = options
  // A password is typed again.
  const typed = type === 'password' ? undefined : (refused?.typed[name] ?? value)
  return labeledInput(
    name,
    label,
    options,
    (about) =>
      html`<input type="${type}" id="${name}" name="${name}" value="${typed === undefined ? '' : String(typed)}"${required && html` required`}${about}${attributes}>`,
  )
}

/** A label, its input, and below it the hint and the refusal that is about it. `input` gets the attributes that tie it to both. */
export function labeledInput(
  name: string,
  label: string,
  { hint, refused }: Pick<FieldOptions, 'hint' | 'refused'>,
  input: (about: Html) => Html,
): Html {
  const wrong = refused !== undefined && refused.field === name
  const about = [hint && `${name}-hint`, wrong && `${name}-fault`].filter(Boolean).join(' ')
  return html`<label for="${name}">${label}</label>
${input(html`${about !== '' && html` aria-describedby="${about}"`}${wrong && html` aria-invalid="true"`}`)}
${hint && html`<p class="hint soft small" id="${name}-hint">${hint}</p>`}
${wrong && fieldErrorNotice(name, label, refused)}`
}

/** What is wrong with a field, beside it, which says what the field is called there (`label`). */
export function fieldErrorNotice(name: string, label: string, { message }: Refused): Html {
  const said = message.replace(/^Invalid request: /, '').replace(`\`${name}\``, `“${label}”`)
  return html`<p class="field-fault" id="${name}-fault">${said}</p>`
}

export type FieldOptions = {
  value?: string | number | undefined
  type?: 'text' | 'email' | 'url' | 'number' | 'password' | 'search' | 'date'
  hint?: string
  required?: boolean
  refused?: Refused | undefined
  /** Such as `autocomplete="off"`, as markup. */
  attributes?: Html
}
