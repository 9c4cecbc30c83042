/** Targets of a redirect after sign-in. */
const BEGINNINGS = [
  '/console',
  '/integrations/',
  '/invitations/',
  '/oauth/authorize?',
  '/sign-in/sso/link?',
  '/sites/sign-in?',
]
const BASE = 'http://here.invalid'

/** Returns the local path and query of `text`, as a browser resolves it; `otherwise` for another host or page. */
export function localPath(text: string | undefined, otherwise: string): string {
  const url = URL.parse(text ?? '', BASE)
  // Check the resolved path: `/.//host` becomes `//host`.
  const path = url?.origin === BASE ? `${url.pathname}${url.search}` : ''
  return BEGINNINGS.some((beginning) => path.startsWith(beginning)) ? path : otherwise
}
