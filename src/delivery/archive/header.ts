/** The header of an entry: one block of 512 bytes (POSIX ustar, IEEE Std 1003.1; GNU tar). */
import { isUtf8 } from 'node:buffer'
import { ArchiveError, damaged } from './fault.ts'

export const BLOCK = 512

/** `flag` is the kind of the entry. Extended headers may replace `name` and `link`. */
export type Header = { flag: string; name: string; link: string; mode: number; size: number }

const ZEROS = Buffer.alloc(BLOCK)
const SPACE = 0x20

/** Reads a header. `at`: its offset, for messages. Returns undefined for a zero block, which ends an archive. Throws ArchiveError. */
export function readHeader(block: Buffer, at: number): Header | undefined {
  if (block.equals(ZEROS)) return undefined
  const checksum = /^ *([0-7]+)[ \0]*$/.exec(block.toString('latin1', 148, 156))?.[1]
  if (checksum === undefined || Number.parseInt(checksum, 8) !== sumOf(block))
    throw damaged(`the header at byte ${at} has a wrong checksum`)
  const magic = block.toString('latin1', 257, 263)
  if (magic !== 'ustar\0' && magic !== 'ustar ')
    throw new ArchiveError('The archive is of an old kind. Pack it with tar --format=pax.')
  const name = textAt(block, 0, 100, at)
  // GNU tar uses the prefix field for other data.
  const prefix = magic === 'ustar\0' ? textAt(block, 345, 155, at) : ''
  return {
    flag: block.toString('latin1', 156, 157),
    name: prefix === '' ? name : `${prefix}/${name}`,
    link: textAt(block, 157, 100, at),
    mode: numberAt(block, 100, 8, at),
    size: numberAt(block, 124, 12, at),
  }
}

/** Reads a text. It must be UTF-8, so that every reader gets the same name. `at`: its offset. Throws ArchiveError. */
export function textOf(bytes: Buffer, at: number): string {
  if (isUtf8(bytes)) return bytes.toString('utf8')
  throw new ArchiveError(`A name in the archive (at byte ${at}) is not UTF-8. Rename the file.`)
}

/** The checksum field itself counts as spaces. */
function sumOf(block: Buffer): number {
  let sum = 8 * SPACE
  for (let at = 0; at < BLOCK; at++) if (at < 148 || at >= 156) sum += block[at]!
  return sum
}

function textAt(block: Buffer, from: number, length: number, at: number): string {
  const field = block.subarray(from, from + length)
  const end = field.indexOf(0)
  return textOf(end < 0 ? field : field.subarray(0, end), at)
}

/** Octal digits, or the bytes of a large number after a marker (GNU tar). */
function numberAt(block: Buffer, from: number, length: number, at: number): number {
  const field = block.subarray(from, from + length)
  if (field[0]! >= 0x80) return largeNumber(field, at)
  const [number, digits] = /^ *(?:([0-7]+)[ \0]*|\0[ \0]*)?$/.exec(field.toString('latin1')) ?? []
  if (number === undefined) throw damaged(`the header at byte ${at} has an invalid number`)
  return digits === undefined ? 0 : Number.parseInt(digits, 8)
}

function largeNumber([mark = 0, ...bytes]: Buffer, at: number): number {
  if ((mark & 0x40) !== 0) throw damaged(`the header at byte ${at} has a number below zero`)
  return bytes.reduce((number, byte) => number * 256 + byte, mark & 0x3f)
}
