/** What a form changed, as a sentence on the page that follows it. docs/console.md: Forms. */
import { createHmac, timingSafeEqual } from 'node:crypto'
import type { BrowserSession } from './browser-session.ts'
import { note } from './face/notes.ts'
import { html } from './html.ts'
import type { Done, View } from './screen.ts'

const MAX_CHARACTERS = 300

/**
 * Returns the value of the cookie with the sentence of a redirect. It is signed with the session: another program that sets cookies for this host
 * cannot make the console say something.
 */
export function doneCookie(view: View, { session }: BrowserSession): string | undefined {
  if (!('redirectTo' in view) || view.done === undefined || session === undefined) return undefined
  const { sentence, next } = typeof view.done === 'string' ? { sentence: view.done } : view.done
  const parts = [sentence.slice(0, MAX_CHARACTERS), ...(next === undefined ? [] : [next.words, next.path])]
  const text = Buffer.from(JSON.stringify(parts)).toString('base64url')
  return `${text}.${macOf(session, view.redirectTo, text)}`
}

/** Puts the sentence of the last redirect above the page at `url`, if it is of this page and session. A page that redirects (`isPage`) hands it on. */
export function showDone(view: View, guest: BrowserSession, url: string, isPage = false): void {
  const done = doneAt(guest, url)
  if (done === undefined) return
  if ('redirectTo' in view && isPage) view.done ??= done
  if (!('body' in view) || view.status !== undefined) return
  const [content, actions] =
    typeof done === 'string'
      ? [done]
      : [done.sentence, html`<a class="btn small" href="${done.next.path}">${done.next.words}</a>`]
  view.body = html`${note('good', content, { role: 'status', actions })}${view.body}`
}

function doneAt({ session, done = '' }: BrowserSession, url: string): Done | undefined {
  if (session === undefined) return undefined
  const [text = '', mac = ''] = done.split('.')
  const [actual, expected] = [Buffer.from(mac), Buffer.from(macOf(session, url, text))]
  if (actual.length !== expected.length || !timingSafeEqual(actual, expected)) return undefined
  const [sentence, words, path] = partsOf(Buffer.from(text, 'base64url').toString())
  return words === undefined || path === undefined ? sentence : { sentence: sentence!, next: { words, path } }
}

/** An earlier version wrote the sentence alone. Its cookies are ignored. */
function partsOf(text: string): string[] {
  try {
    return JSON.parse(text) as string[]
  } catch {
    return []
  }
}

function macOf(session: string, url: string, text: string): string {
  return createHmac('sha256', session)
    .update(`done ${url.split('?')[0]} ${text}`)
    .digest('base64url')
}
