/** Pages that the builder rendered, which are files of the output. docs/prerendering.md: Fallbacks. */
import { lifetimeOfFirst } from './keeping.ts'
import type { Page } from './pages.ts'
import { endOf, type PageOrder, pageOf } from './renderings.ts'

/** The file of the output, for the path that the builder rendered. When that was is not known, so one that expires is renewed at once. */
export function firstPage(order: PageOrder, now: number): Page | undefined {
  const { fallback } = order.decision.prerender
  return fallback === undefined || !order.asked.isPlain ? undefined : shellOf(order, now)
}

/** The same for any path: what visitors see until their page is rendered. The output must have the file. */
export function shellOf(order: PageOrder, now: number): Page {
  const { prerender } = order.decision
  const { digest, size, contentType } = prerender.fallback!
  const headers = Object.fromEntries(prerender.initialHeaders.map(({ name, value }) => [name, value]))
  const { freshMs, staleMs } = lifetimeOfFirst(prerender)
  return {
    ...pageOf(order, prerender.initialStatus ?? 200, { 'content-type': contentType, ...headers }),
    ...{ body: { digest, size, isOwned: false }, at: now, number: 0, isFirst: true },
    freshUntil: freshMs === undefined ? null : now,
    staleUntil: endOf(now, staleMs),
  }
}
