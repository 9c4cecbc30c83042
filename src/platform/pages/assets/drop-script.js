// Inserts a dropped file into a text area with `data-drop`, and splits `KEY=value` that is pasted into a key (`data-block`). Nothing is sent.
const MAX_BYTES = 1024 * 1024

/** Returns the text area below a dragged file, if it accepts files. */
function textUnder(event) {
  const isFile = event.dataTransfer?.types.includes('Files')
  return isFile ? event.target.closest?.('textarea[data-drop]') : undefined
}

document.addEventListener('dragover', (event) => {
  if (textUnder(event)) event.preventDefault()
})

document.addEventListener('drop', async (event) => {
  const text = textUnder(event)
  if (!text) return
  event.preventDefault()
  const [file] = event.dataTransfer.files
  const isTooLarge = file.size > MAX_BYTES
  text.setCustomValidity(isTooLarge ? 'The file is larger than 1 MiB. It was not read.' : '')
  if (isTooLarge) text.reportValidity()
  else text.value = await file.text()
})

const BLOCK = /^\s*(export\s+)?[\w.-]+\s*=/
/** One variable that needs no rules of dotenv. */
const PAIR = /^\s*([\w.-]+)=([^\s"'`#]*)\s*$/

// A single line of text keeps no line breaks, so several variables go into the field of the value.
document.addEventListener('paste', (event) => {
  const key = event.target.closest?.('input[data-block]')
  const text = event.clipboardData?.getData('text/plain') ?? ''
  const value = key && document.getElementById(key.dataset.block)
  if (!value || key.value !== '' || value.value !== '' || !BLOCK.test(text)) return
  event.preventDefault()
  const [, name = '', rest = text] = PAIR.exec(text) ?? []
  key.value = name
  value.value = rest
  value.focus()
})

// Typing clears the error of a file that was too large.
document.addEventListener('input', (event) => {
  if (event.target.matches?.('textarea[data-drop]')) event.target.setCustomValidity('')
})
