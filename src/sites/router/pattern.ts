/** Only this file runs tenants' regular expressions. They may backtrack endlessly, so routing runs in workers: docs/deploying-sites.md: Patterns. */

export type Matcher = { exec(text: string): RegExpExecArray | null }

/** Returns a matcher that compiles the pattern on first use. A pattern that V8 cannot compile matches nothing; uploads with one are refused. */
export function matcherOf(source: string, caseSensitive: boolean): Matcher {
  let pattern: RegExp | undefined
  return {
    exec(text) {
      try {
        pattern ??= new RegExp(source, caseSensitive ? '' : 'i')
        return pattern.exec(text)
      } catch {
        return null
      }
    },
  }
}
