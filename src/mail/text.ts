/** What others named, as it may stand in a letter. */

const MOST = 200

/** A name as part of one line: no line breaks, no other control or direction characters, not endless. */
export function lineOf(text: string): string {
  return text
    .replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ')
    .trim()
    .slice(0, MOST)
}
