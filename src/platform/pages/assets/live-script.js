// Reloads the open page when it changes on the server. docs/console.md: Live updates. Served unmodified; pages work without it.

const AGAIN_MS = 1000
const RECONNECT_MS = 3000
const FRAMES_MS = 2000

/** The open stream and its page. */
let stream
let followed
/** Stamp of a change that the page does not show yet. */
let changedAt
let timer
/** Whether a form is being sent. */
let isSending = false

/** Returns the stamp of the page; undefined on a page without live updates. */
function shownAt() {
  return document.querySelector('meta[name="berth-live"]')?.content
}

/** Opens the stream of the visible page and closes others. */
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

/** Reconnects with the current stamp, which the browser would not do. A refused stream is not retried. */
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

/** Reloads the page, unless the user types or another request runs. */
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

/** Whether the page was rendered after the change. */
function isShown(at) {
  const [by, moment] = at.split('.')
  const [shownBy, shown] = (shownAt() ?? '').split('.')
  return by === shownBy && Number(shown) >= Number(moment)
}

/** Whether a field differs from the server's value. */
function isTypedIn() {
  return [...document.querySelectorAll('input, textarea, select')].some((field) => {
    // A field without a form sends nothing: it searches what the page shows.
    if (field.type === 'hidden' || field.form === null) return false
    if (field.type === 'checkbox' || field.type === 'radio') return field.checked !== field.defaultChecked
    if (field.type === 'file') return field.files.length > 0
    if (field.localName !== 'select') return field.value !== field.defaultValue
    const written = [...field.options].filter((option) => option.defaultSelected)
    const chosen = [...field.selectedOptions]
    if (written.length === 0) return chosen.some((option) => option !== field.options[0])
    return written.length !== chosen.length || written.some((option) => !option.selected)
  })
}

/** Marks reloads by this script, which do not extend the session. Other visits have no `method`. */
function sayRefresh({ target, detail: { fetchOptions } }) {
  const { currentVisit } = window.Turbo.session.navigator
  if (target.dataset?.reload !== undefined || currentVisit?.refresh.method !== undefined)
    fetchOptions.headers['x-berth-refresh'] = '1'
}

/** Reloads frames whose content grows without a change of the page, such as the log of a build. */
function reloadFrames() {
  if (document.visibilityState !== 'visible') return
  for (const frame of document.querySelectorAll('turbo-frame[data-reload]:not([busy])')) frame.reload()
}

/** Whether a link of the user opens something in this frame, such as a value. */
function isOpened({ localName, dataset }) {
  return localName === 'turbo-frame' && dataset.opens !== undefined
}

/** Loads public pages, such as the sign-in page, in full: they have another policy. Frames that no user opened stay unchanged. */
function leave(event) {
  const { redirected, url } = event.detail.fetchResponse.response
  if (!redirected || /^\/console(\/|$)/.test(new URL(url).pathname)) return
  event.preventDefault()
  if (event.target.localName !== 'turbo-frame' || isOpened(event.target)) window.location.assign(url)
}

document.addEventListener('turbo:load', follow)
document.addEventListener('turbo:before-fetch-request', sayRefresh)
document.addEventListener('turbo:before-fetch-response', leave)
// An error response has no such frame. It is shown where the user asked for it; elsewhere the current content stays.
document.addEventListener('turbo:frame-missing', (event) => {
  event.preventDefault()
  if (isOpened(event.target)) event.detail.visit(event.detail.response)
})
// What was opened is read once: without its address, no morph loads it again. The focus was on the link that it replaces.
document.addEventListener('turbo:frame-load', ({ target }) => {
  if (!isOpened(target)) return
  target.removeAttribute('src')
  target.tabIndex = -1
  target.focus()
})
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
// Elements that the user opened stay open.
document.addEventListener('turbo:before-morph-attribute', (event) => {
  if (event.detail.attributeName === 'open' && event.target.matches('details, dialog')) event.preventDefault()
})
setInterval(reloadFrames, FRAMES_MS)
follow()
