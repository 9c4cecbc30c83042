/** Keeps the answers of protected sites out of the caches that visitors share. docs/deploying-sites.md: The sites server, Protected hosts. */
import type { OutgoingHttpHeaders, ServerResponse } from 'node:http'

/** TABLE headers that tell shared caches more than `Cache-Control` does. */
const OF_SHARED_CACHES = ['cdn-cache-control', 'surrogate-control', 'vercel-cdn-cache-control']

/** Makes whatever is sent in this response `private`, unless it says `no-store`. To be called before the answer. */
export function keepPrivate(response: ServerResponse): void {
  const writeHead = response.writeHead.bind(response) as (
    status: number,
    headers: OutgoingHttpHeaders,
  ) => ServerResponse
  response.writeHead = ((status: number, headers: OutgoingHttpHeaders = {}) => {
    const kept = Object.entries(headers).filter(([name]) => !OF_SHARED_CACHES.includes(name))
    const said = privately(String(headers['cache-control'] ?? ''))
    return writeHead(status, { ...Object.fromEntries(kept), 'cache-control': said })
  }) as ServerResponse['writeHead']
}

/** A directive of `Cache-Control`: a comma within a quoted string ends none (RFC 9110 5.6.4). */
const DIRECTIVE = /(?:[^,"]|"(?:[^"\\]|\\.)*"?)+/gs

/** A value of `Cache-Control` for the visitor alone. */
export function privately(value: string): string {
  const directives = (value.match(DIRECTIVE) ?? []).map((directive) => directive.trim())
  const kept = directives.filter((directive) => directive !== '' && !/^(?:public|s-maxage)(?:\s*=|$)/i.test(directive))
  return kept.some((directive) => /^(?:private|no-store)$/i.test(directive))
    ? kept.join(', ')
    : ['private', ...kept].join(', ')
}
