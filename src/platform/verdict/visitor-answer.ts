/** What a visitor is answered who is not shown a site: a redirect, or a page. The edge and the sites server answer the same. docs/edge.md. */
import { PAGE_HEADERS, type PageKind, pageOf } from './error-page.ts'
import type { Verdict, Visitor } from './verdict.ts'

export type EdgeResponse = { status: number; headers: Record<string, string>; body: string }

/** A verdict that lets nobody in. */
export type DeniedVerdict = Exclude<Verdict, { live: unknown }>

/** While a project is paused, programs that ask again wait this long. */
const PAUSED_RETRY_SECONDS = '300'
export const MOMENT_SECONDS = '1'

/** The answer to a visitor who is not let in. */
export function denialResponse(verdict: DeniedVerdict, visitor: Pick<Visitor, 'host' | 'uri'>): EdgeResponse {
  if ('origin' in verdict)
    return pageAnswer('MOVED', verdict.status, visitor, { location: verdict.origin + visitor.uri })
  const asks = verdict.status === 401 ? { 'www-authenticate': `Basic realm="${visitor.host}", charset="UTF-8"` } : {}
  return pageAnswer(verdict.error, verdict.status, visitor, { ...retryHeaders(verdict), ...asks })
}

/** When programs are to ask again; nothing where that would not help. */
export function retryHeaders(verdict: DeniedVerdict): Record<string, string> {
  if (verdict.status !== 503) return {}
  return { 'retry-after': verdict.error === 'DEPLOYMENT_PAUSED' ? PAUSED_RETRY_SECONDS : MOMENT_SECONDS }
}

/** A page with its headers. */
export function pageAnswer(
  kind: PageKind,
  status: number,
  { host }: Pick<Visitor, 'host'>,
  headers: Record<string, string> = {},
): EdgeResponse {
  return { status, headers: { ...PAGE_HEADERS, ...headers }, body: pageOf(kind, status, host) }
}
