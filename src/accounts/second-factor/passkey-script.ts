/** Script of pages with a passkey form: `@simplewebauthn/browser`, then the code that calls the browser and submits the form. */

import { shippedFile } from '../../platform/base/shipped-files.ts'
import { assetOf } from '../../platform/pages/assets/assets.ts'

const OWN = `
{
  const show = () => {
    const isPossible = SimpleWebAuthnBrowser.browserSupportsWebAuthn()
    for (const form of document.querySelectorAll('form[data-passkey]')) {
      form.inert = !isPossible
      form.hidden = !isPossible
    }
  }
  document.addEventListener('submit', async (event) => {
    const form = event.target
    if (!form.matches('form[data-passkey]')) return
    event.preventDefault()
    event.stopImmediatePropagation()
    const { startRegistration, startAuthentication } = SimpleWebAuthnBrowser
    const ask = form.dataset.passkey === 'create' ? startRegistration : startAuthentication
    const note = form.querySelector('[role=alert]')
    note.hidden = true
    try {
      const answer = await ask({ optionsJSON: JSON.parse(form.dataset.options) })
      form.elements.answer.value = JSON.stringify(answer)
      form.submit()
    } catch {
      note.textContent = form.dataset.failed
      note.hidden = false
    }
  }, true)
  for (const shown of ['DOMContentLoaded', 'turbo:load', 'turbo:render', 'turbo:morph']) document.addEventListener(shown, show)
  show()
}
`

export const PASSKEY_SCRIPT = assetOf('passkey', 'js', 'text/javascript', Buffer.from(shippedFile('passkeys') + OWN))
