/** Rows that one statement carries: both engines bound the number of values in a statement. */
const SLICE = 500

/** Cuts rows for statements that carry many of them. */
export function slices<T>(all: readonly T[]): T[][] {
  const cut: T[][] = []
  for (let at = 0; at < all.length; at += SLICE) cut.push(all.slice(at, at + SLICE))
  return cut
}
