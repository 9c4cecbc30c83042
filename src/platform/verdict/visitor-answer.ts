/** Responses for visitors without a site: a redirect, or a page. Shared by the edge and the sites server. docs/edge.md. */
import { PAGE_HEADERS, type PageKind, pageOf } from './error-page.ts'
import type { Verdict, Visitor } from './verdict.ts'

export type EdgeResponse = { status: number; headers: Record<string, string>; body: string }

export type DeniedVerdict = Exclude<Verdict, { live: unknown }>

/** The retry delay for programs while a project is paused. */
const PAUSED_RETRY_SECONDS = '300'
export const MOMENT_SECONDS = '1'

/** Returns the response for a denied visitor. */
export function denialResponse(verdict: DeniedVerdict, visitor: Pick<Visitor, 'host' | 'uri'>): EdgeResponse {
  if ('origin' in verdict)
    return pageAnswer('MOVED', verdict.status, visitor, { location: verdict.origin + visitor.uri })
  const asks = verdict.status === 401 ? { 'www-authenticate': `Basic realm="${visitor.host}", charset="UTF-8"` } : {}
  return pageAnswer(verdict.error, verdict.status, visitor, { ...retryHeaders(verdict), ...asks })
}

/** Returns the retry headers, or none where a retry does not help. */
export function retryHeaders(verdict: DeniedVerdict): Record<string, string> {
  if (verdict.status !== 503) return {}
  return { 'retry-after': verdict.error === 'DEPLOYMENT_PAUSED' ? PAUSED_RETRY_SECONDS : MOMENT_SECONDS }
}

/** Returns a page with its headers. */
export function pageAnswer(
  kind: PageKind,
  status: number,
  { host }: Pick<Visitor, 'host'>,
  headers: Record<string, string> = {},
): EdgeResponse {
  return { status, headers: { ...PAGE_HEADERS, ...headers }, body: pageOf(kind, status, host) }
}
