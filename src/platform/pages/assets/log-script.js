// Searches, follows and copies the log of a build. Without this script the log is read as it is, and downloaded.
const FOLLOW = '[data-log-follow]'

function logOf(element) {
  return element.closest?.('.log')
}

/** Shows the lines that have the text of the search. */
function search(log) {
  const text = log.querySelector('[data-log-search]').value.trim().toLowerCase()
  for (const line of log.querySelectorAll('li'))
    line.hidden = text !== '' && !line.textContent.toLowerCase().includes(text)
}

document.addEventListener('input', ({ target }) => {
  if (target.matches?.('[data-log-search]')) search(logOf(target))
})

// The frame of a running build is loaded again and again.
document.addEventListener('turbo:frame-load', ({ target }) => {
  const log = logOf(target)
  if (!log) return
  search(log)
  if (log.querySelector(FOLLOW)?.checked) log.querySelector('li:last-child')?.scrollIntoView({ block: 'nearest' })
})

document.addEventListener('click', async ({ target }) => {
  const button = target.closest?.('[data-log-copy]')
  if (!button) return
  const lines = [...logOf(button).querySelectorAll('li:not([hidden]) > span')].map((line) => line.textContent)
  const isCopied = await navigator.clipboard?.writeText(lines.join('\n')).then(
    () => true,
    () => false,
  )
  const words = button.querySelector('span')
  words.textContent = isCopied ? 'Copied' : 'Copy failed'
  setTimeout(() => {
    words.textContent = 'Copy'
  }, 2000)
})
