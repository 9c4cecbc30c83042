import { type Html, html } from '../../platform/pages/html.ts'
import { localPath } from '../../platform/pages/local-path.ts'
import type { PageCtx } from '../../platform/pages/screen.ts'

/** Path that starts a sign-in with the provider. */
export const SINGLE_SIGN_ON = '/sign-in/sso'
/** Path that restores a form saved across the sign-in. */
export const SAVED_FORM_PATH = '/console/kept'
const HOME = '/console'

/**
 * Renders the button of the provider; undefined without a provider. `again` requests reauthentication. `kept`: a form that a page script keeps in the
 * tab (KEEP), because the provider's site cannot carry it.
 */
export function providerButton(
  { deps }: Pick<PageCtx, 'deps'>,
  target: string | undefined,
  { again = false, kept }: { again?: boolean; kept?: string | undefined } = {},
): Html | undefined {
  const { provider } = deps.adapters
  if (provider === undefined) return undefined
  const query = new URLSearchParams({ return: localPath(target, HOME), ...(again && { again: 'yes' }) })
  // The provider is another site, so Turbo cannot follow.
  return html`<p class="line"><a class="btn primary" href="${SINGLE_SIGN_ON}?${query.toString()}" data-turbo="false"${kept !== undefined && html` data-kept="${kept}" data-kept-at="${SAVED_FORM_PATH}"`}>${again ? 'Confirm' : 'Sign in'} by ${provider.name}</a></p>`
}
