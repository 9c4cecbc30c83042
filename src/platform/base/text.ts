/** Returns `1 row`, `2 rows`. For nouns with a plural in "s". */
export function pluralize(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

/** Returns the first words of a list and the number of others: `a, b and 3 more`. */
export function someOf(words: readonly string[], max = 5): string {
  const more = words.length - max
  return `${words.slice(0, max).join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}

/** Removes this character from the end, as often as it is there. A pattern such as `/\/+$/` takes quadratic time. */
export function withoutTrailing(text: string, character: string): string {
  let end = text.length
  while (end > 0 && text[end - 1] === character) end--
  return text.slice(0, end)
}

/** Returns the most similar candidate; undefined if none is close. */
export function closestMatch(typed: string, candidates: readonly string[]): string | undefined {
  const [near] = candidates
    .map((word) => ({ word, steps: distance(typed, word) }))
    .filter(({ word, steps }) => steps <= Math.max(2, Math.ceil(word.length / 3)))
    .sort((a, b) => a.steps - b.steps)
  return near?.word
}

/** Edit distance: insertions, deletions, substitutions and swaps. */
function distance(a: string, b: string): number {
  const rows = Array.from({ length: a.length + 1 }, (_, at) => [at, ...Array<number>(b.length).fill(0)])
  for (let to = 1; to <= b.length; to++) rows[0]![to] = to
  for (let from = 1; from <= a.length; from++) {
    for (let to = 1; to <= b.length; to++) {
      const same = a[from - 1] === b[to - 1]
      const swapped = a[from - 1] === b[to - 2] && a[from - 2] === b[to - 1]
      rows[from]![to] = Math.min(
        rows[from - 1]![to]! + 1,
        rows[from]![to - 1]! + 1,
        rows[from - 1]![to - 1]! + Number(!same),
        swapped ? rows[from - 2]![to - 2]! + 1 : Number.POSITIVE_INFINITY,
      )
    }
  }
  return rows[a.length]![b.length]!
}
