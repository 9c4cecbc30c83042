// Focuses the search on `/` and Ctrl-K (or Cmd-K). Without this script the user goes there by Tab or a click.
const FIELDS = 'input, textarea, select, [contenteditable]'

document.addEventListener('keydown', (event) => {
  const { key, ctrlKey, metaKey, altKey, shiftKey, target } = event
  const isSlash = key === '/' && !ctrlKey && !metaKey && !altKey && !target.closest?.(FIELDS)
  const isK = key.toLowerCase() === 'k' && (ctrlKey || metaKey) && !altKey && !shiftKey
  const fields = [...document.querySelectorAll('main [data-search], [data-search]')]
  const field = fields.findLast((one) => one.checkVisibility())
  if (!field || !(isSlash || isK)) return
  event.preventDefault()
  field.focus()
  field.select()
})
