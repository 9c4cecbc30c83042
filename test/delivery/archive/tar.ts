/** Archives for tests: made by hand, byte for byte, and by the tar of the system. */
import { execFileSync } from 'node:child_process'
import { gunzipSync, gzipSync } from 'node:zlib'
import { type ArchiveEntry, readArchive } from '../../../src/delivery/archive/archive.ts'
import { ArchiveError } from '../../../src/delivery/archive/fault.ts'

export const BLOCK = 512

/** The fields of a header. What is not given is as tar writes it for a plain file. `fields`: raw bytes by their place. */
export type Made = {
  name?: string
  flag?: string
  size?: number | string
  mode?: number
  link?: string
  prefix?: string
  magic?: string
  fields?: Record<number, Uint8Array | string>
}

/** A header with a right checksum. */
export function header({
  name = 'a',
  flag = '0',
  size = 0,
  mode = 0o644,
  link = '',
  prefix = '',
  magic = 'ustar\x0000',
  fields = {},
}: Made): Buffer {
  const block = Buffer.alloc(BLOCK)
  block.write(name, 0, 100)
  block.write(octal(mode, 7), 100)
  block.write('0000000\x000000000\0', 108)
  block.write(typeof size === 'string' ? size : octal(size, 11), 124)
  block.write('00000000000\0        ', 136)
  block.write(flag, 156)
  block.write(link, 157, 100)
  block.write(magic, 257, 8, 'latin1')
  block.write(prefix, 345, 155)
  for (const [at, bytes] of Object.entries(fields)) block.set(Buffer.from(bytes as string), Number(at))
  block.write(`${octal(sumOf(block), 6)}\0 `, 148, 'latin1')
  return block
}

/** The sum of all bytes. */
export function sumOf(bytes: Uint8Array): number {
  let sum = 0
  for (let at = 0; at < bytes.length; at++) sum += bytes[at]!
  return sum
}

function octal(number: number, digits: number): string {
  return number.toString(8).padStart(digits, '0')
}

/** Bytes up to whole blocks. */
export function filled(content: Uint8Array | string): Buffer {
  const bytes = Buffer.from(content as string)
  return Buffer.concat([bytes, Buffer.alloc((BLOCK - (bytes.length % BLOCK)) % BLOCK)])
}

/** A header and its content. */
export function file(name: string, content: Uint8Array | string = '', made: Made = {}): Buffer {
  return Buffer.concat([header({ name, size: Buffer.byteLength(content), ...made }), filled(content)])
}

/** A record of pax. */
export function record(key: string, value: string): string {
  const rest = ` ${key}=${value}\n`
  const length = (digits: number): number => digits + Buffer.byteLength(rest)
  const digits = [1, 2, 3, 4, 5, 6].find((count) => String(length(count)).length === count)!
  return `${length(digits)}${rest}`
}

/** An entry of attributes for the next one (x), or for all (g). */
export function pax(records: Record<string, string>, flag = 'x'): Buffer {
  const text = Object.entries(records)
    .map(([key, value]) => record(key, value))
    .join('')
  return file('PaxHeader', text, { flag })
}

export const END = Buffer.alloc(2 * BLOCK)

/** A whole archive. */
export function tgz(...blocks: Uint8Array[]): Buffer {
  return gzipSync(Buffer.concat([...blocks, END]), { level: 1 })
}

/** What the system's tar writes. The last words are files below `folder`. */
export function systemTar(folder: string, ...words: string[]): Buffer {
  return execFileSync('tar', ['--create', '--gzip', '--file=-', `--directory=${folder}`, ...words], {
    maxBuffer: 1024 ** 3,
  })
}

/** The same in other pieces. */
export async function* inPieces(bytes: Uint8Array, size = 65_536): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield Buffer.from(bytes.subarray(at, at + size))
}

export type Read = Omit<ArchiveEntry, 'body'> & { content: string }

/** All entries with their content. */
export async function entriesOf(bytes: Uint8Array, size?: number): Promise<Read[]> {
  const entries: Read[] = []
  for await (const { body, ...entry } of readArchive(inPieces(bytes, size)))
    entries.push({ ...entry, content: Buffer.concat(await Array.fromAsync(body)).toString('latin1') })
  return entries
}

/** The message that an archive is refused with; undefined where it is read. Rethrows any other error. */
export async function faultOf(bytes: Uint8Array): Promise<string | undefined> {
  try {
    for await (const { body } of readArchive(inPieces(bytes))) for await (const _ of body);
    return undefined
  } catch (error) {
    if (error instanceof ArchiveError) return error.message
    throw error
  }
}

/** The blocks of a compressed archive. */
export function unpacked(bytes: Uint8Array): Buffer {
  return gunzipSync(bytes)
}
