/** What the maker of pictures wrote. docs/pictures.md: Sandbox. */
import { notValid } from './faults.ts'
import { pictureTypeOf } from './picture-type.ts'

/** `asIs`: an animation, which stays whole. */
export type Made = { bytes: Buffer; type: string } | 'asIs'

export const MAX_PIXELS = 50_000_000
/** Bytes of the line of JSON in front of the picture. */
export const MAX_HEAD = 1024
export const NOT_VALID = "The requested resource isn't a valid image."

/** Reads what the maker wrote. A picture may control what decoded it, so nothing that it says is trusted. Throws PictureFailure. */
export function madeOf(output: Buffer): Made {
  // Without an end, the head is empty, which is not JSON.
  const end = output.subarray(0, MAX_HEAD).indexOf(0x0a)
  const head = headOf(output.toString('utf8', 0, end))
  const bytes = output.subarray(end + 1)
  if (head?.refused === 'too many pixels')
    throw notValid(`The picture has more than ${MAX_PIXELS / 1_000_000} million pixels.`)
  if (head?.asIs === true) return 'asIs'
  const type = pictureTypeOf(bytes)
  if (type?.made !== true || head?.size !== bytes.length) throw notValid(NOT_VALID)
  return { bytes, type: type.type }
}

function headOf(text: string): { refused?: unknown; asIs?: unknown; size?: unknown } | undefined {
  try {
    return JSON.parse(text) ?? undefined
  } catch {
    return undefined
  }
}
