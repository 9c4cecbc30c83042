/** Content of a file list entry: a digest of an uploaded file, or inline bytes. docs/deploying-sites.md: File lists. */
import type { FileEntries } from './file-entries.ts'

export type Content = { sha1: string } | { bytes: Buffer }

const SHA1 = /^[0-9a-f]{40}$/

type Entry = FileEntries[number]

/** Returns the content of a file or link. Without valid content, calls `refuseField` with the field and the rest of a sentence, and returns undefined. */
export function contentOf(
  entry: Entry,
  refuseField: (field: string, message: string) => undefined,
): Content | undefined {
  const { sha, data } = entry
  if (sha === undefined && data === undefined)
    return refuseField('sha', 'is missing. Send the SHA-1 of an uploaded file, or the content in `data`.')
  if (sha !== undefined && data !== undefined)
    return refuseField('data', 'and `sha` are both there. Send one of the two.')
  if (data === undefined) {
    if (SHA1.test(sha!)) return { sha1: sha! }
    return refuseField('sha', 'must be a SHA-1: 40 hexadecimal digits in lower case.')
  }
  const bytes = bytesOf(data, entry.encoding ?? 'utf-8')
  if (bytes === undefined)
    return refuseField('data', `is not ${entry.encoding === 'base64' ? 'base64' : 'valid Unicode'}. Encode it again.`)
  if (entry.size !== undefined && entry.size !== bytes.length)
    return refuseField('size', `is ${entry.size}, and \`data\` has ${bytes.length} bytes. Leave it out.`)
  return { bytes }
}

/** Returns undefined if the text is not in its encoding. */
function bytesOf(data: string, encoding: 'base64' | 'utf-8'): Buffer | undefined {
  if (encoding === 'utf-8') return data.isWellFormed() ? Buffer.from(data) : undefined
  const digits = data.endsWith('==') ? data.length - 2 : data.endsWith('=') ? data.length - 1 : data.length
  if (digits % 4 === 1 || (digits < data.length && data.length % 4 !== 0)) return undefined
  const bytes = Buffer.from(data, 'base64')
  // The decoder skips invalid digits, which yields fewer bytes.
  return bytes.length === Math.floor((digits * 3) / 4) ? bytes : undefined
}
