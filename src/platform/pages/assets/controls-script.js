// Menus close by Escape, by a click beside them and when the focus leaves them. A button copies the text before it. The strip of tabs shows the
// one that is open. Without this script a menu closes by its own button, and a text is chosen by a click.
const MENU = 'details.menu[open]'
const TOLD_MS = 2000

function closeMenus(except) {
  for (const menu of document.querySelectorAll(MENU)) if (!menu.contains(except)) menu.open = false
}

document.addEventListener('click', (event) => closeMenus(event.target))
// Where the focus goes nowhere, as when the window does, the menu stays.
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
  // Over plain http a browser has no clipboard for pages: the text is chosen, to be copied by hand.
  const isCopied = await navigator.clipboard?.writeText(text.textContent).then(
    () => true,
    () => false,
  )
  if (!isCopied) return
  const words = button.textContent
  button.textContent = 'Copied'
  setTimeout(() => {
    button.textContent = words
  }, TOLD_MS)
})

// A page that follows what changes is morphed: there the strip stays as its reader left it.
function showOpenTab() {
  const tab = document.querySelector('nav.tabs a[aria-current]')
  const strip = tab?.closest('ul')
  if (!strip) return
  const [at, frame] = [tab.getBoundingClientRect(), strip.getBoundingClientRect()]
  strip.scrollLeft += at.left - frame.left - (frame.width - at.width) / 2
}

showOpenTab()
document.addEventListener('turbo:render', ({ detail }) => {
  if (detail.renderMethod !== 'morph') showOpenTab()
})
