// `g` and a letter open a section of the navigation, `j` and `k` move in lists, and `?` lists the keys. Pages work without it.
const FIELDS = 'input:not([type=checkbox]), textarea, select, [contenteditable]'
/** So long the letter after `g` is awaited. */
const PAUSE_MS = 1500
/** TABLE keys of every page. */
const EVERYWHERE = [
  ['/', 'Search or run a command'],
  ['Ctrl K', 'Search or run a command'],
  ['?', 'Show these keys'],
  ['Esc', 'Close what is open'],
]
/** TABLE keys of a page with a list, and what they do. */
const IN_LISTS = [
  ['j', 'Next row'],
  ['k', 'Previous row'],
  ['Enter', 'Open the row'],
]
const ROWS = 'main :is(.rows > li, .grid > li, .table tbody tr)'

let goneAt = Number.NEGATIVE_INFINITY

function element(name, properties = {}, ...children) {
  const one = Object.assign(document.createElement(name), properties)
  one.append(...children)
  return one
}

function sections() {
  return [...document.querySelectorAll('.side [data-go]')]
}

/** The link of each row that has one. */
function rowLinks() {
  const links = [...document.querySelectorAll(ROWS)].map((one) => one.querySelector('.to') ?? one.querySelector('a'))
  return links.filter((link) => link?.checkVisibility())
}

/** Moves the focus to the next row, or to the one before. It stays in the list. */
function moveBy(step) {
  const links = rowLinks()
  const own = document.activeElement?.closest(ROWS)
  const to = links.findIndex((link) => own?.contains(link)) + step
  links[Math.min(Math.max(to, 0), links.length - 1)]?.focus()
}

function row([keys, words]) {
  const parts = keys.split(' ').flatMap((key) => [element('kbd', {}, key), ' '])
  return element(
    'li',
    { className: 'line' },
    element('span', {}, words),
    element('span', { className: 'end' }, ...parts),
  )
}

function list(title, rows) {
  return [element('h3', {}, title), element('ul', { className: 'plain' }, ...rows.map(row))]
}

function showKeys() {
  const close = element('button', { className: 'btn', type: 'submit' }, 'Close')
  const own = sections().map((link) => [`g ${link.dataset.go}`, link.textContent.trim()])
  const dialog = element(
    'dialog',
    { className: 'keys', ariaLabel: 'Keyboard shortcuts' },
    element('h2', {}, 'Keyboard shortcuts'),
    ...list('On every page', EVERYWHERE),
    ...(rowLinks().length > 0 ? list('In a list', IN_LISTS) : []),
    ...(own.length > 0 ? list('Go to', own) : []),
    element('form', { method: 'dialog' }, close),
  )
  dialog.addEventListener('close', () => dialog.remove())
  dialog.addEventListener('click', ({ target }) => target === dialog && dialog.close())
  document.body.append(dialog)
  dialog.showModal()
}

document.addEventListener('keydown', (event) => {
  const { key, ctrlKey, metaKey, altKey, target, timeStamp } = event
  const isTyped = target.closest?.(FIELDS) || document.querySelector('dialog[open]')
  if (ctrlKey || metaKey || altKey || event.isComposing || isTyped) return
  const isSecond = timeStamp - goneAt < PAUSE_MS
  goneAt = key === 'g' && !isSecond ? timeStamp : Number.NEGATIVE_INFINITY
  if (key === '?') showKeys()
  if (!isSecond) {
    if (key === 'j') moveBy(1)
    if (key === 'k') moveBy(-1)
    return
  }
  const link = sections().find((one) => one.dataset.go === key)
  if (!link) return
  event.preventDefault()
  link.click()
})
// A page that Turbo shows next has no list.
document.addEventListener('turbo:before-render', () => document.querySelector('dialog.keys')?.remove())
