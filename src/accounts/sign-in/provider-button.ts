/** The way to the provider of single sign-on, for the pages that sign people in. docs/single-sign-on.md. */
import { type Html, html } from '../../platform/pages/html.ts'
import { localPath } from '../../platform/pages/local-path.ts'
import type { PageCtx } from '../../platform/pages/screen.ts'

/** Where signing in by the provider begins. */
export const SINGLE_SIGN_ON = '/sign-in/sso'
/** Where a form is brought back that was kept over it. */
export const SAVED_FORM_PATH = '/console/kept'
const HOME = '/console'

/**
 * The button that leads to the provider; undefined where there is none. `again`: it is to confirm who is there. `kept`: the form of another
 * page. The provider is another site, so no field carries it on: a script of the page keeps it in the tab (KEEP).
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
  return html`<p class="actions"><a class="button" href="${SINGLE_SIGN_ON}?${query.toString()}" data-turbo="false"${kept !== undefined && html` data-kept="${kept}" data-kept-at="${SAVED_FORM_PATH}"`}>${again ? 'Confirm' : 'Sign in'} by ${provider.name}</a></p>`
}
