/** The licenses of all parts of an artifact, as one text. */
import type { Part } from './parts.ts'

/** Longer than the short licenses, which readers expect next to each name, in characters. */
const LONG = 5_000
const LINE = `\n${'-'.repeat(80)}\n`

/** Returns the licenses of parts. A long text that several parts share is printed at the first of them. */
export function licencesOf(parts: readonly Part[]): string {
  const owners = new Map<string, string>()
  const textFor = (title: string, text: string) => {
    const owner = owners.get(text)
    if (owner !== undefined && text.length > LONG) return `The text is the one of ${owner}, above.`
    owners.set(text, title)
    return text
  }
  return parts
    .map(({ name, version, licence, purl, texts }) => {
      const title = `${name} ${version}`
      return [`${title}: ${licence}\n${purl}`, ...texts.map((text) => textFor(title, text))].join('\n\n')
    })
    .join(LINE)
}
