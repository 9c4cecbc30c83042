/** Forms of the console call API routes, and show errors next to the submitted values. docs/console.md: Implementation. */

import type { Static, TSchema } from 'typebox'
import type { RefusalKey } from '../errors.ts'
import { icon } from '../platform/pages/face/icons.ts'
import { note } from '../platform/pages/face/notes.ts'
import type { Page } from '../platform/pages/frame.ts'
import { type Html, html } from '../platform/pages/html.ts'
import type { OwnAccount } from '../platform/pages/own-accounts.ts'
import {
  type ConsoleCtx,
  consoleScreen,
  type RouteCall,
  type Screen,
  type ScreenInput,
} from '../platform/pages/screen.ts'
import { Refusal } from '../platform/refusals/refusal.ts'
import { changedBody, withInitialValues } from './edit-form.ts'
import type { FormError } from './form-error.ts'
import { findAccountOfPath } from './frame.ts'
import { doneMessage } from './names/done-messages.ts'
import { userMessage } from './names/error-messages.ts'
import { mustBeShown } from './shell/shown-project.ts'

/** TABLE Form fields by error key, for messages that name no field. */
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
  shared_env_exists: 'key',
  alias_in_use: 'alias',
  alias_not_verified: 'alias',
  alias_not_allowed: 'alias',
  already_linked: 'repo',
  production_branch: 'branch',
}

export type RenderForm = (ctx: ConsoleCtx, input: ScreenInput, error?: FormError) => Promise<Page>

type Action<F extends TSchema, A> = {
  /** Relative to the page with the form. */
  path: string
  /** For logs and metrics. */
  name: string
  form?: F
  calls: string
  /** Routes that `renderErrors` calls. */
  renderCalls: readonly string[]
  /** Checks before the call, in addition to those of the route. */
  before?: (ctx: ConsoleCtx, account: OwnAccount, params: ScreenInput['params']) => Promise<unknown>
  /** The route call, for the account in the path. `now`: in milliseconds. */
  request: (input: ScreenInput<unknown, Static<F>>, now: number) => RouteCall
  /** For edit forms with `editFields`: only changed keys of the body are sent, and the next page confirms the save. Each list: keys that are sent together. */
  changes?: readonly (readonly string[])[]
  /** Fields as they are now, where several make one key of the body: those that this form did not change are sent as they are. */
  present?: (ctx: ConsoleCtx, account: OwnAccount, params: ScreenInput['params']) => Promise<Partial<Static<F>>>
  /** Where the route has the body, if deeper: `['updates', id]`. Messages then name its fields without that. */
  within?: (params: ScreenInput['params']) => readonly string[]
  /** Form field names by route field, where they differ. */
  fieldNames?: Record<string, string>
  /** Path of the next page, or a page that shows the response once; its form needs `data-turbo="false"`. `answer`: the sent body if nothing changed. */
  next: (answer: A, input: ScreenInput<unknown, Static<F>>, ctx: ConsoleCtx) => string | Promise<Page>
  /** Renders the form again with the error. */
  renderErrors: RenderForm
  /** Requires reauthentication, like the page with the form. */
  fresh?: true
  /** Body limit in bytes, where it is not the default. */
  bodyLimit?: number
}

/**
 * Returns the screen of a form that calls one route. An error renders the form again with its status and the submitted values. An ended
 * session or an internal error gets its own page.
 */
export function action<F extends TSchema, A = unknown>(spec: Action<F, A>): Screen {
  const { path, name, form, calls, renderCalls, before, changes, within, fieldNames, renderErrors } = spec
  const { fresh, bodyLimit } = spec
  return consoleScreen({
    method: 'POST',
    path,
    name,
    ...(form && { form: changes ? withInitialValues(form) : form }),
    ...(fresh && { requiresReauthentication: fresh }),
    ...(bodyLimit && { bodyLimit }),
    savesForm: true,
    calls: [calls, ...renderCalls],
    run: async (ctx, input) => {
      const submitted = input as ScreenInput<unknown, Static<F>>
      const place = within?.(input.params) ?? []
      try {
        const account = input.params.slug === undefined ? undefined : await findAccountOfPath(ctx, input.params)
        // The page of an error shows what has the name now.
        if (account) await mustBeShown(ctx, account, input)
        if (input.error) throw input.error
        if (account) await before?.(ctx, account, input.params)
        const whole = spec.request(submitted, ctx.now)
        const body = changes ? await changesOf(spec, ctx, account, submitted) : whole.body
        // Unchanged forms call no route, and the next page confirms no save.
        const isSame = changes !== undefined && body === undefined
        const answer = isSame
          ? (whole.body as A)
          : await ctx.callRoute<A>(calls, { ...(account && { account }), ...whole, body: bodyAt(place, body) })
        const next = await spec.next(answer, submitted, ctx)
        if (typeof next !== 'string') return next
        return { redirectTo: next, done: isSame ? undefined : doneMessage(name, { ...submitted, answer }) }
      } catch (error) {
        if (!(error instanceof Refusal) || ALONE.has(error.key)) throw error
        const formError = formErrorOf(withoutPlace(error, place), input.form, fieldNames)
        return { ...(await renderErrors(ctx, input, formError)), status: error.status }
      }
    },
  })
}

/** Returns the changed part of the body of an edit form; undefined if nothing changed. */
async function changesOf<F extends TSchema, A>(
  { form, request, changes, present }: Action<F, A>,
  ctx: ConsoleCtx,
  account: OwnAccount | undefined,
  submitted: ScreenInput<unknown, Static<F>>,
): Promise<unknown> {
  const bodyOf = (fields: Static<F>) => request({ ...submitted, form: fields }, ctx.now).body as object
  const now = account && (await present?.(ctx, account, submitted.params))
  return changedBody(form!, submitted.form, bodyOf, changes, now)
}

/** Errors that a form cannot correct. The first two redirect to sign-in and reauthentication. */
const ALONE: ReadonlySet<RefusalKey> = new Set(['invalid_token', 'sign_in_again', 'internal_server_error'])

/** Returns a body as the route has it: `within` of `Action`. */
function bodyAt(place: readonly string[], body: unknown): unknown {
  return place.reduceRight((inner, name) => ({ [name]: inner }), body)
}

/** Returns a refusal that names the fields of the form, whose body is at a place. */
function withoutPlace({ message, key, extra }: Refusal, place: readonly string[]): Reason {
  return { key, extra, message: message.replace(`\`${[...place, ''].join('.')}`, '`') }
}

type Reason = Pick<Refusal, 'message' | 'key' | 'extra'>

/** Returns a refusal as a form error: "Invalid request: `name` should be …" belongs to the field `name`. `names`: `fieldNames` of `Action`. */
export function formErrorOf(
  { message, key, extra }: Reason,
  form: unknown,
  names: Record<string, string> = {},
): FormError {
  const named = /`([\w.]+)`/.exec(message)?.[1]
  const about = named ?? FIELD_OF[key]
  const [first = ''] = about?.split('.') ?? []
  const field = about && (names[about] ?? names[first] ?? first)
  const called = named === undefined || field === undefined ? message : message.replace(`\`${named}\``, `\`${field}\``)
  return { key, message: userMessage(called), field, typed: (form ?? {}) as Record<string, unknown>, extra }
}

/** Renders the error above a form. */
export function formErrorNotice(error: FormError | undefined): Html | undefined {
  return error && note('bad', error.message, { role: 'alert', id: 'fault' })
}

/** Renders a labeled input with its submitted value and error. */
export function field(name: string, label: string, options: FieldOptions = {}): Html {
  const { value, type = 'text', required, error, attributes } = options
  // Never sent back to the browser.
  const typed = type === 'password' ? undefined : (error?.typed[name] ?? value)
  return labeledInput(
    name,
    label,
    options,
    (about) =>
      html`<input type="${type}" id="${name}" name="${name}" value="${typed === undefined ? '' : String(typed)}"${required && html` required`}${about}${attributes}>`,
  )
}

/** Renders a label, an input, its hint and its error. `input` receives the attributes that reference both. */
export function labeledInput(
  name: string,
  label: string,
  { hint, error }: Pick<FieldOptions, 'hint' | 'error'>,
  input: (about: Html) => Html,
): Html {
  const wrong = error !== undefined && error.field === name
  const about = [hint && `${name}-hint`, wrong && `${name}-fault`].filter(Boolean).join(' ')
  return html`<div class="field"><label for="${name}">${label}</label>
${input(html`${about !== '' && html` aria-describedby="${about}"`}${wrong && html` aria-invalid="true"`}`)}
${hint && html`<p class="hint" id="${name}-hint">${hint}</p>`}
${wrong && fieldErrorNotice(name, label, error)}</div>`
}

/** Renders the error of a field, with its label in place of its name. */
export function fieldErrorNotice(name: string, label: string, { message }: FormError): Html {
  const sentence = message.replace(/^Invalid request: /, '').replace(`\`${name}\``, `“${label}”`)
  return html`<p class="fault" id="${name}-fault">${icon('triangle-alert')}<span>${sentence}</span></p>`
}

/** Attributes of inputs that take a name or path, which no browser may complete or correct. */
export const PLAIN_TEXT = html` autocomplete="off" autocapitalize="none" spellcheck="false"`

export type FieldOptions = {
  value?: string | number | undefined
  type?: 'text' | 'email' | 'url' | 'number' | 'password' | 'search' | 'date'
  hint?: string | undefined
  required?: boolean
  error?: FormError | undefined
  /** Such as `autocomplete="off"`, as markup. */
  attributes?: Html
}
