// Inserts a dropped file into a text area with `data-drop`; nothing is sent. Without this script the user pastes the text.
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

// Typing clears the error of a file that was too large.
document.addEventListener('input', (event) => {
  if (event.target.matches?.('textarea[data-drop]')) event.target.setCustomValidity('')
})
