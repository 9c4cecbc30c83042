// Keeps what somebody typed while they sign in by the provider, which is another site: in this tab, and in nothing that is sent there.
// docs/console.md: Sessions. Without it the person comes back to the console, and types again.

const NAME = 'berth-kept'
/** As long as the provider may take. */
const LASTS_MS = 10 * 60_000

document.addEventListener('click', ({ target }) => {
  const link = target.closest?.('a[data-kept]')
  if (!link) return
  const { kept, keptAt } = link.dataset
  try {
    sessionStorage.setItem(NAME, JSON.stringify({ kept, until: Date.now() + LASTS_MS }))
  } catch {
    // The browser keeps nothing: it leads to the console then.
    return
  }
  const url = new URL(link.href)
  url.searchParams.set('return', keptAt)
  link.href = url.href
})

/** What was kept, if it is not too old. It is taken out, so it is brought back once. */
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
