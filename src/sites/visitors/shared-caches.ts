/** Keeps responses of protected sites out of shared caches. docs/deploying-sites.md: Sites server, Protected hosts. */
import type { ServerResponse } from 'node:http'
import { changeHeaders } from './send.ts'

/** TABLE headers that control shared caches in addition to `Cache-Control`. */
const OF_SHARED_CACHES = ['cdn-cache-control', 'surrogate-control', 'vercel-cdn-cache-control']

/** Marks the response as `private`, unless it has `no-store`. Call it before responding. */
export function keepPrivate(response: ServerResponse): void {
  changeHeaders(response, (headers) => {
    const remaining = Object.entries(headers).filter(([name]) => !OF_SHARED_CACHES.includes(name))
    const control = privately(String(headers['cache-control'] ?? ''))
    return { ...Object.fromEntries(remaining), 'cache-control': control }
  })
}

/** A directive of `Cache-Control`. A comma within a quoted string does not end it (RFC 9110 5.6.4). */
const DIRECTIVE = /(?:[^,"]|"(?:[^"\\]|\\.)*"?)+/gs

/** Makes a `Cache-Control` value private. */
export function privately(value: string): string {
  const directives = (value.match(DIRECTIVE) ?? []).map((directive) => directive.trim())
  const remaining = directives.filter(
    (directive) => directive !== '' && !/^(?:public|s-maxage)(?:\s*=|$)/i.test(directive),
  )
  return remaining.some((directive) => /^(?:private|no-store)$/i.test(directive))
    ? remaining.join(', ')
    : ['private', ...remaining].join(', ')
}
