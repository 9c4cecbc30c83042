// Opens the palette on `/` and Ctrl-K (or Cmd-K): what the search page finds, and the sections and actions of this page. Without it the search is a page.
const FIELDS = 'input, textarea, select, [contenteditable]'
/** So long a user pauses between letters. */
const PAUSE_MS = 150
const MAX_IN_GROUP = 6
/** TABLE groups of links of this page. */
const GROUPS = [
  ['Go to', '.side nav.tabs a, .side-foot > a, .me .pop a'],
  ['Account', '.side [data-account] a'],
  ['Do', 'main > .head a.btn'],
  ['Accounts', '.switcher .pop a'],
]

let palette
let newest = 0
/** Whether the answer of the server is awaited, and what a user pressed meanwhile. */
let isLooking = false
let entered
let hasMoved = false

function element(name, properties = {}, ...children) {
  const one = Object.assign(document.createElement(name), properties)
  one.append(...children)
  return one
}

function open() {
  const named = { type: 'search', name: 'q', placeholder: 'Search or go to', autocomplete: 'off', spellcheck: false }
  const field = element('input', named)
  newest += 1
  isLooking = false
  hasMoved = false
  const about = { role: 'combobox', 'aria-label': 'Search or go to', 'aria-expanded': 'true', 'aria-controls': 'hits' }
  for (const [name, value] of Object.entries(about)) field.setAttribute(name, value)
  const form = element('form', { className: 'find', action: '/console/search' }, icon(), field)
  const account = document.querySelector('.side input[name="in"]')?.cloneNode()
  if (account) form.append(account)
  const hits = element('div', { className: 'hits', id: 'hits', role: 'listbox', ariaLabel: 'Results' })
  palette = element('dialog', { className: 'palette', ariaLabel: 'Search and commands' }, form, hits)
  document.body.append(palette)
  palette.addEventListener('close', () => palette.remove())
  palette.addEventListener('click', ({ target, ctrlKey, metaKey }) => {
    if (target === palette) palette.close()
    follow(target.closest('li'), ctrlKey || metaKey)
  })
  field.addEventListener('input', () => find(field.value.trim()))
  palette.addEventListener('keydown', (event) => onKey(event))
  palette.showModal()
  field.focus()
  show(ownGroups(''))
}

function icon() {
  return document.querySelector('.side .find > svg')?.cloneNode(true) ?? ''
}

function onKey(event) {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
  const chosen = palette.querySelector('li[aria-selected="true"]')
  if (event.key === 'Enter' && (chosen || isLooking)) {
    event.preventDefault()
    const inNewTab = event.ctrlKey || event.metaKey
    // The first row may be another one once the answer is there.
    if (isLooking && !hasMoved) entered = { inNewTab }
    else follow(chosen, inNewTab)
  }
  // In a search field with text, a browser would only clear it.
  if (event.key === 'Escape') {
    event.preventDefault()
    palette.close()
  }
  if (step === undefined) return
  event.preventDefault()
  hasMoved = true
  const all = [...palette.querySelectorAll('li')]
  choose(all.at((all.indexOf(chosen) + step) % all.length))
}

function follow(row, inNewTab) {
  if (!row) return
  if (inNewTab) return void window.open(row.dataset.to, '_blank', 'noopener')
  palette.close()
  window.Turbo ? window.Turbo.visit(row.dataset.to) : location.assign(row.dataset.to)
}

function choose(row) {
  for (const one of palette.querySelectorAll('li')) one.setAttribute('aria-selected', String(one === row))
  row?.scrollIntoView({ block: 'nearest' })
  palette.querySelector('input').setAttribute('aria-activedescendant', row?.id ?? '')
}

/** Rows of a group: text, aside and target. */
function show(groups) {
  const rows = groups.flatMap(([name, items]) => (items.length === 0 ? [] : [element('p', {}, name), list(items)]))
  if (isLooking) rows.push(element('p', {}, 'Searching…'))
  const kept = hasMoved && palette.querySelector('li[aria-selected="true"]')?.dataset.to
  palette.querySelector('.hits').replaceChildren(...(rows.length > 0 ? rows : [element('p', {}, 'No results')]))
  const all = [...palette.querySelectorAll('li')]
  for (const [at, row] of all.entries()) row.id = `hit-${at}`
  choose(all.find(({ dataset }) => dataset.to === kept) ?? all[0])
}

function list(items) {
  const rows = items.map(({ text, aside, to }) => {
    const said = [element('span', { className: 'cut' }, text), element('span', { className: 'faint small end' }, aside)]
    const row = element('li', { role: 'option' }, ...said)
    row.dataset.to = to
    return row
  })
  return element('ul', { role: 'group' }, ...rows)
}

function ownGroups(q) {
  return GROUPS.map(([name, selector]) => {
    const all = [...document.querySelectorAll(selector)].map((link) => ({
      text: (link.querySelector('.cut') ?? link).textContent.trim(),
      aside: '',
      to: link.href,
    }))
    const found = all.filter(
      ({ text, to }, at) => text.toLowerCase().includes(q) && all.findIndex((one) => one.to === to) === at,
    )
    return [name, q === '' ? found : found.slice(0, MAX_IN_GROUP)]
  })
}

/** What the search page finds, after a pause. A later text takes the place of an earlier one. */
async function find(q) {
  const mine = ++newest
  const own = ownGroups(q.toLowerCase())
  isLooking = q !== ''
  entered = undefined
  hasMoved = false
  show(own)
  if (!isLooking) return
  await new Promise((done) => setTimeout(done, PAUSE_MS))
  if (mine !== newest) return
  const query = new URLSearchParams(new FormData(palette.querySelector('form')))
  const page = await fetch(`/console/search?${query}`).then(
    (answer) => answer.text(),
    () => '',
  )
  if (mine !== newest || !palette.open) return
  isLooking = false
  show([...foundIn(new DOMParser().parseFromString(page, 'text/html')), ...own])
  if (entered) follow(palette.querySelector('li'), entered.inNewTab)
}

function foundIn(page) {
  return [...page.querySelectorAll('main section')].map((group) => [
    group.querySelector('h2').textContent,
    [...group.querySelectorAll('.rows li')].slice(0, MAX_IN_GROUP).map((row) => ({
      text: row.querySelector('a').textContent,
      aside: row.querySelector('.soft')?.textContent ?? '',
      to: row.querySelector('a').getAttribute('href'),
    })),
  ])
}

document.addEventListener('keydown', (event) => {
  const { key, ctrlKey, metaKey, altKey, shiftKey, target } = event
  const isSlash = key === '/' && !ctrlKey && !metaKey && !altKey && !target.closest?.(FIELDS)
  const isK = key.toLowerCase() === 'k' && (ctrlKey || metaKey) && !altKey && !shiftKey
  if (!(isSlash || isK) || palette?.open) return
  event.preventDefault()
  const field = document.querySelector('main [data-search]')
  if (!field) return open()
  field.focus()
  field.select()
})
// A page that Turbo shows next has no palette.
document.addEventListener('turbo:before-render', () => palette?.remove())
