/**
 * Console form input, saved during reauthentication in a hidden field of the sign-in page. So it is in no URL, cookie or database. docs/console.md:
 * Sessions.
 */

import { READERS } from '../../readers.ts'
import { Type } from '../schema/builder.ts'
import type { BrowserRequest, BrowserSession } from './browser-session.ts'
import { CSRF_FIELD } from './cookies.ts'
import { note } from './face/notes.ts'
import { isSameOriginForm, REVIEW_FIELD, readSubmittedForm, SHOWN_PROJECT_FIELD } from './form.ts'
import type { Page } from './frame.ts'
import { type Html, html } from './html.ts'
import { localPath } from './local-path.ts'
import type { Screen } from './screen.ts'

/** Larger input is not saved, because the form that carries it has a limit too (platform/server/serve.ts). */
const MAX_BYTES = READERS['kept form'].bytes

export const SavedFormField = Type.Optional(Type.String({ maxLength: MAX_BYTES }))

/** Target of the form, and its fields as typed. */
type KeptForm = { to: string; fields: Record<string, string | string[]> }

/**
 * Serializes a form sent without a session or without a recent sign-in. Undefined for a form from elsewhere. Undefined for large input, which is not
 * even parsed because its sender is unknown. Refuses as `readSubmittedForm`.
 */
export function saveForm(
  request: BrowserRequest,
  origins: readonly string[],
  screen: Screen,
  guest: BrowserSession,
): string | undefined {
  if (((request.body as Buffer | undefined)?.length ?? 0) > READERS.form.bytes) return undefined
  const sent = readSubmittedForm(screen, request)
  if (!isSameOriginForm(request, origins, sent, guest)) return undefined
  const { shownProject } = sent.ids
  const own = shownProject === undefined ? {} : { [SHOWN_PROJECT_FIELD]: shownProject }
  const saved: KeptForm = { to: request.originalUrl, fields: { ...sent.rawFields, ...own } }
  const text = JSON.stringify(saved)
  return text.length > MAX_BYTES || encodeURIComponent(text).length > MAX_BYTES ? undefined : text
}

/** Renders the hidden field. */
export function savedFormField(saved: string | undefined): Html | undefined {
  return saved === undefined
    ? undefined
    : html`<input type="hidden" name="kept" value="${saved}">
${note('info', 'What you typed is kept. You get back to it once you have signed in again.')}`
}

/** Returns the page that restores the form. `csrfToken`: of the current session. Undefined for text that this service did not create. */
export function savedFormPage(text: string | undefined, csrfToken: string): Page | undefined {
  const saved = readKept(text)
  if (saved === undefined) return undefined
  const fields = Object.entries(saved.fields).flatMap(([name, values]) =>
    [values].flat().map((value) => [name, value] as const),
  )
  return {
    title: 'Back to what you typed',
    body: html`<h1>You are signed in</h1>
<p>Your input was not sent yet.</p>
<form method="post" action="${saved.to}">
<input type="hidden" name="${CSRF_FIELD}" value="${csrfToken}">
<input type="hidden" name="${REVIEW_FIELD}" value="1">
${fields.map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
<p class="line"><button class="btn primary">Back to what you typed</button><a class="btn" href="/console">Leave it</a></p>
</form>`,
  }
}

function readKept(text: string | undefined): KeptForm | undefined {
  if (text === undefined) return undefined
  try {
    const { to, fields } = JSON.parse(text) as KeptForm
    const isText = (value: unknown) => typeof value === 'string'
    const values = Object.values(fields).flat()
    const isWhole = values.length <= READERS['kept form'].parts && values.every(isText)
    return isWhole && localPath(to, '') !== '' ? { to: localPath(to, ''), fields } : undefined
  } catch {
    return undefined
  }
}
