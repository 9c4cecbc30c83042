/** Reproducible archives: entries sorted by name, without an owner, at the epoch. */
import { gzipSync } from 'node:zlib'

/** `bytes` undefined: a folder, whose name ends in a slash. `owner`: the id of the user and of the group, 0 where it is not said. */
export type Entry = { name: string; bytes?: Buffer | string; mode: number; owner?: number }

const BLOCK = 512

/** Gives a tar archive of the entries (POSIX ustar). Throws for a name that such an archive cannot hold. */
export function archive(entries: readonly Entry[]): Buffer {
  const sorted = entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))
  const blocks = sorted.flatMap((entry) => {
    const bytes = Buffer.from(entry.bytes ?? '')
    return [headOf(entry, bytes.length), bytes, Buffer.alloc(-bytes.length & (BLOCK - 1))]
  })
  return Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK)])
}

/** Compresses with gzip, without a timestamp or system in the header. */
export function compressed(bytes: Buffer): Buffer {
  const zipped = gzipSync(bytes)
  zipped[9] = 255
  return zipped
}

function headOf({ name, bytes, mode, owner = 0 }: Entry, size: number): Buffer {
  if (Buffer.byteLength(name) > 100) throw new Error(`${name} is too long for the archive`)
  const head = Buffer.alloc(BLOCK)
  const octal = (value: number, at: number, length: number) =>
    head.write(`${value.toString(8).padStart(length - 1, '0')}\0`, at)
  head.write(name, 0)
  octal(mode, 100, 8)
  octal(owner, 108, 8)
  octal(owner, 116, 8)
  octal(size, 124, 12)
  octal(0, 136, 12)
  head.write(bytes === undefined ? '5' : '0', 156)
  head.write('ustar\x0000', 257)
  // The sum is that of the head with blanks in its own place.
  head.fill(' ', 148, 156)
  const sum = head.reduce((all, byte) => all + byte, 0)
  octal(sum, 148, 7)
  return head
}
