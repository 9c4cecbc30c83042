// Saves form input in this tab during the sign-in at a provider, without sending it. docs/console.md: Sessions. Without it the user types again.

const NAME = 'berth-kept'
/** Longest sign-in at the provider. */
const LASTS_MS = 10 * 60_000

document.addEventListener('click', ({ target }) => {
  const link = target.closest?.('a[data-kept]')
  if (!link) return
  const { kept, keptAt } = link.dataset
  try {
    sessionStorage.setItem(NAME, JSON.stringify({ kept, until: Date.now() + LASTS_MS }))
  } catch {
    // Without storage, the sign-in returns to the console.
    return
  }
  const url = new URL(link.href)
  url.searchParams.set('return', keptAt)
  link.href = url.href
})

/** Takes the saved form, unless it expired. Removes it, so that it is restored once. */
function takeKept() {
  try {
    const { kept, until } = JSON.parse(sessionStorage.getItem(NAME))
    return until > Date.now() ? kept : undefined
  } catch {
    return undefined
  } finally {
    sessionStorage.removeItem(NAME)
  }
}

{
  const form = document.querySelector('form[data-brings-back]')
  const kept = form ? takeKept() : undefined
  if (kept !== undefined) {
    form.elements.kept.value = kept
    form.submit()
  }
}
