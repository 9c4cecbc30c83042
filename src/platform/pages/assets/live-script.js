// Keeps the open page as the store is: it hears that something on it has changed, and asks for the page again. docs/console.md: Live pages.
// Loaded by pages of the console as it stands here. Without it every page works as before.

const AGAIN_MS = 1000
const RECONNECT_MS = 3000

/** The open stream, and the page that it is for. */
let stream
let followed
/** The stamp of a change that the page does not show yet. */
let changedAt
let timer
/** Whether a form is on its way. */
let isSending = false

/** What the page shows, as the server wrote it; undefined on a page that does not follow. */
function shownAt() {
  return document.querySelector('meta[name="berth-live"]')?.content
}

/** Opens the stream of the page that is seen, and closes that of any other one. */
function follow() {
  const shown = shownAt()
  const page = shown !== undefined && document.visibilityState === 'visible' ? location.pathname : undefined
  if (page === followed) return
  stream?.close()
  stream = undefined
  followed = page
  if (page === undefined) return
  stream = new EventSource(`/console/live?${new URLSearchParams({ page, since: shown })}`)
  stream.addEventListener('change', ({ data }) => {
    changedAt = JSON.parse(data).at
    refresh()
  })
  for (const last of ['ended', 'full']) stream.addEventListener(last, () => stream.close())
  stream.addEventListener('error', reconnect)
}

/** The browser would ask with the stamp of a page that is gone, so the next stream is a new one. What was refused is not asked again. */
function reconnect({ target }) {
  if (target !== stream || target.readyState === EventSource.CLOSED) return
  target.close()
  setTimeout(
    () => {
      if (target !== stream) return
      followed = undefined
      follow()
    },
    RECONNECT_MS * (1 + Math.random()),
  )
}

/** Asks for the page again, once nothing is typed on it and nothing else is on its way. */
function refresh() {
  clearTimeout(timer)
  if (changedAt === undefined) return
  if (isShown(changedAt)) {
    changedAt = undefined
    return
  }
  const { session } = window.Turbo
  const isBusy = isSending || session.navigator.currentVisit !== undefined
  if (document.visibilityState !== 'visible' || shownAt() === undefined || isTypedIn() || isBusy) {
    timer = setTimeout(refresh, AGAIN_MS)
    return
  }
  changedAt = undefined
  session.refresh(document.baseURI, { method: 'morph' })
}

/** Whether the page was read after the change. */
function isShown(at) {
  const [by, moment] = at.split('.')
  const [shownBy, shown] = (shownAt() ?? '').split('.')
  return by === shownBy && Number(shown) >= Number(moment)
}

/** Whether a field holds something else than the server wrote into it. */
function isTypedIn() {
  return [...document.querySelectorAll('input, textarea, select')].some((field) => {
    if (field.type === 'hidden') return false
    if (field.type === 'checkbox' || field.type === 'radio') return field.checked !== field.defaultChecked
    if (field.type === 'file') return field.files.length > 0
    if (field.localName !== 'select') return field.value !== field.defaultValue
    const written = [...field.options].filter((option) => option.defaultSelected)
    const chosen = [...field.selectedOptions]
    if (written.length === 0) return chosen.some((option) => option !== field.options[0])
    return written.length !== chosen.length || written.some((option) => !option.selected)
  })
}

/** Says that the page is asked for by `refresh`, and not by its person: that is no use of the session. Other visits have no `method`. */
function sayRefresh({ detail: { fetchOptions } }) {
  const { currentVisit } = window.Turbo.session.navigator
  if (currentVisit?.refresh.method !== undefined) fetchOptions.headers['x-berth-refresh'] = '1'
}

/**
 * A page for everybody, such as the one that asks for a password, has another policy and its style in itself. Turbo would read it under the
 * policy of this one. A frame that is led there stays as it is.
 */
function leave(event) {
  const { redirected, url } = event.detail.fetchResponse.response
  if (!redirected || /^\/console(\/|$)/.test(new URL(url).pathname)) return
  event.preventDefault()
  if (event.target.localName !== 'turbo-frame') window.location.assign(url)
}

document.addEventListener('turbo:load', follow)
document.addEventListener('turbo:before-fetch-request', sayRefresh)
document.addEventListener('turbo:before-fetch-response', leave)
// A refusal has no such frame: what stands there stays.
document.addEventListener('turbo:frame-missing', (event) => event.preventDefault())
document.addEventListener('turbo:submit-start', () => {
  isSending = true
})
document.addEventListener('turbo:submit-end', () => {
  isSending = false
})
document.addEventListener('visibilitychange', follow)
window.addEventListener('pagehide', () => stream?.close())
window.addEventListener('pageshow', ({ persisted }) => {
  if (!persisted) return
  followed = undefined
  follow()
})
// What somebody has opened stays open.
document.addEventListener('turbo:before-morph-attribute', (event) => {
  if (event.detail.attributeName === 'open' && event.target.matches('details, dialog')) event.preventDefault()
})
follow()
