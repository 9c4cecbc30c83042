// `/` and Ctrl-K (or Cmd-K) lead into the search. Without this script a person goes there by Tab or by a click.
const FIELDS = 'input, textarea, select, [contenteditable]'

document.addEventListener('keydown', (event) => {
  const { key, ctrlKey, metaKey, altKey, shiftKey, target } = event
  const isSlash = key === '/' && !ctrlKey && !metaKey && !altKey && !target.closest?.(FIELDS)
  const isK = key.toLowerCase() === 'k' && (ctrlKey || metaKey) && !altKey && !shiftKey
  const field = document.querySelector('main [data-search]') ?? document.querySelector('[data-search]')
  if (!field || !(isSlash || isK)) return
  event.preventDefault()
  field.focus()
  field.select()
})
