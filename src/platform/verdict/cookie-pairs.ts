/** The one reader of `Cookie` headers. docs/deploying-sites.md: Cookies. */

export type CookiePair = readonly [name: string, value: string]

/**
 * Returns the cookies of a header in their order (RFC 6265 4.2.1). Only spaces and tabs around a cookie are dropped, and names are compared exactly: a
 * subdomain may set a similar name, such as ours after U+00A0. Text without a name is left out.
 */
export function cookiePairs(header: string | undefined): CookiePair[] {
  return (header ?? '').split(';').flatMap((text) => {
    const pair = withoutBlanks(text)
    const cut = pair.indexOf('=')
    return cut > 0 ? [[pair.slice(0, cut), pair.slice(cut + 1)] as const] : []
  })
}

/** Returns the value of a cookie that is there once. A repeated name counts as absent: another host under the domain, or a script, may have set one. */
export function soleCookie(pairs: readonly CookiePair[], name: string): string | undefined {
  const found = pairs.filter((pair) => pair[0] === name)
  return found.length === 1 ? found[0]![1] : undefined
}

/** Returns a text without the spaces and tabs around it. `trim` drops other characters too, such as U+00A0. */
export function withoutBlanks(text: string): string {
  let begin = 0
  let end = text.length
  while (begin < end && isBlank(text[begin]!)) begin++
  while (end > begin && isBlank(text[end - 1]!)) end--
  return text.slice(begin, end)
}

function isBlank(character: string): boolean {
  return character === ' ' || character === '\t'
}
