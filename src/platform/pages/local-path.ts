/** Where a page may send people back to: pages of this service and nowhere else. */

/** The pages that a sign-in comes back to. */
const BEGINNINGS = ['/console', '/integrations/', '/oauth/authorize?', '/sign-in/sso/link?', '/sites/sign-in?']
const BASE = 'http://here.invalid'

/** The path and query that `text` names, as a browser will read them; `otherwise` when it leads out, or to no such page. */
export function localPath(text: string | undefined, otherwise: string): string {
  const url = URL.parse(text ?? '', BASE)
  // What is checked is what is sent: `/.//host` is `//host` once it is read.
  const path = url?.origin === BASE ? `${url.pathname}${url.search}` : ''
  return BEGINNINGS.some((beginning) => path.startsWith(beginning)) ? path : otherwise
}
