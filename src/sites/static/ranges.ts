/** Range requests (RFC 9110 14). docs/deploying-sites.md: Static files. */

export type Slice = { first: number; length: number }

/** Returns the range of a request. `full`: absent or ignored (RFC 9110 14.2). `unsatisfiable`: it begins after the end. */
export function sliceOf(header: string | undefined, size: number): Slice | 'full' | 'unsatisfiable' {
  const list = /^bytes=(.*)/i.exec(header ?? '')?.[1] ?? ''
  const parts = list.split(',').flatMap((part) => part.trim() || [])
  // Several parts have commas between them, and match as little as none.
  const [, first = '', last = ''] = /^(\d*)-(\d*)$/.exec(parts.join()) ?? []
  if (first === '' && last === '') return 'full'
  if (first === '') return suffixOf(Number(last), size)
  const end = last === '' ? size - 1 : Math.min(Number(last), size - 1)
  if (last !== '' && Number(last) < Number(first)) return 'full'
  if (Number(first) >= size) return 'unsatisfiable'
  return { first: Number(first), length: end - Number(first) + 1 }
}

/** The last bytes. `Content-Range` cannot express all of an empty file. */
function suffixOf(length: number, size: number): Slice | 'full' | 'unsatisfiable' {
  if (length === 0) return 'unsatisfiable'
  if (size === 0) return 'full'
  return { first: Math.max(0, size - length), length: Math.min(length, size) }
}
