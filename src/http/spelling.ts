/**
 * The fixed words of a path are taken in one spelling. The router decodes a path before it compares, so that `/%6fperator` would be
 * `/operator`: equivalent by RFC 3986 6.2.2.2, but a proxy that shuts `/operator` and compares what was sent would let it pass.
 */

const ODD = /[%#]|\/(?:[/?]|$)/

/** Whether a request target holds what an odd spelling needs: an escape, a `#`, which the router cuts off, or a slash at the end or before another. */
export function maySpellOddly(url: string): boolean {
  return ODD.test(url)
}

/**
 * Whether a request target (path and query, without the version) spells the fixed words of the pattern that it was routed to as they
 * are; what stands for a `:name` is free, but not nothing. One slash more at the end is let pass, unless `exact`.
 */
export function isSpelledOut(url: string, pattern: string, exact: boolean): boolean {
  const end = url.indexOf('?')
  const path = end === -1 ? url : url.slice(0, end)
  if (path.includes('#')) return false
  const bare = !exact && path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path
  const [said, words] = [bare.split('/'), pattern.split('/')]
  return (
    said.length === words.length &&
    words.every((word, at) => (word.startsWith(':') ? said[at] !== '' : word === said[at]))
  )
}
