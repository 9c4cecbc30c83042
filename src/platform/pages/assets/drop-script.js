// A file that is dropped on a text with `data-drop` becomes its text, without being sent anywhere. Without this script a person pastes it.
const MOST_BYTES = 1024 * 1024

/** The text that a file is over, if it takes files. */
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
  const isTooLarge = file.size > MOST_BYTES
  text.setCustomValidity(isTooLarge ? 'The file is larger than 1 MiB. It was not read.' : '')
  if (isTooLarge) text.reportValidity()
  else text.value = await file.text()
})

// What a person types after a file was too large is looked at anew.
document.addEventListener('input', (event) => {
  if (event.target.matches?.('textarea[data-drop]')) event.target.setCustomValidity('')
})
