/** The one place where a tenant's regular expression runs. It may backtrack for ever, so routing runs in workers: docs/deploying-sites.md: Patterns. */

export type Matcher = { exec(text: string): RegExpExecArray | null }

/** A pattern that is compiled at its first use. One that V8 cannot compile matches nothing: uploads with such a pattern are refused. */
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
