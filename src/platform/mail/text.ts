/** Makes names that people chose safe for a letter. */

const MOST = 200

/** A name as part of one line: without line breaks and other control or direction characters, at most 200 characters. */
export function toSingleLine(text: string): string {
  return text
    .replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ')
    .trim()
    .slice(0, MOST)
}

/** How a letter to a person begins. */
export function greeting({ name, slug }: { name: string | null; slug: string }): string {
  return `Hello ${toSingleLine(name ?? slug)},`
}
