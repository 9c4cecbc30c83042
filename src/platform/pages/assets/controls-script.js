// Closes menus on Escape, outside clicks and lost focus, copies texts, sets filters, and scrolls to the open tab. Pages work without it.
const MENU = 'details.menu[open]'
const TOLD_MS = 2000

function closeMenus(except) {
  for (const menu of document.querySelectorAll(MENU)) if (!menu.contains(except)) menu.open = false
}

document.addEventListener('click', (event) => closeMenus(event.target))
// When the window loses focus, the menu stays open.
document.addEventListener('focusin', (event) => closeMenus(event.target))
document.addEventListener('keydown', (event) => {
  const menu = event.key === 'Escape' && document.activeElement?.closest(MENU)
  if (!menu) return
  menu.open = false
  menu.querySelector('summary').focus()
})

document.addEventListener('click', async (event) => {
  const button = event.target.closest?.('[data-copy]')
  if (!button) return
  const text = button.previousElementSibling
  getSelection().selectAllChildren(text)
  // Browsers have no clipboard over plain http: the text is selected instead.
  const isCopied = await navigator.clipboard?.writeText(text.textContent).then(
    () => true,
    () => false,
  )
  if (!isCopied) return
  const label = button.querySelector('span') ?? button
  const words = label.textContent
  label.textContent = 'Copied'
  setTimeout(() => {
    label.textContent = words
  }, TOLD_MS)
})

// A select sets its filter at once. Of texts and days, browsers report each key as a change.
document.addEventListener('change', ({ target }) => {
  const form = target.closest?.('.filters form')
  if (!form || target.localName !== 'select') return
  // In the place of the page, so that the focus stays in the select.
  form.dataset.turboAction = 'replace'
  form.requestSubmit()
})

// Live pages are morphed and keep the scroll position of the strip.
function showOpenTab() {
  const tab = document.querySelector('nav.tabs a[aria-current]')
  const strip = tab?.closest('nav')
  if (!strip) return
  const [at, frame] = [tab.getBoundingClientRect(), strip.getBoundingClientRect()]
  strip.scrollLeft += at.left - frame.left - (frame.width - at.width) / 2
}

showOpenTab()
document.addEventListener('turbo:render', ({ detail }) => {
  if (detail.renderMethod !== 'morph') showOpenTab()
})
