const MOST = 200

/** Returns a name for use in one line: without line breaks and other control or direction characters, at most 200 characters. */
export function toSingleLine(text: string): string {
  return text
    .replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ')
    .trim()
    .slice(0, MOST)
}

/** Returns the greeting of an email. */
export function greeting({ name, slug }: { name: string | null; slug: string }): string {
  return `Hello ${toSingleLine(name ?? slug)},`
}
