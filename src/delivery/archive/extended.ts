/** Extended headers for values that do not fit into a header: records of pax (IEEE Std 1003.1), long names of GNU tar. */
import { ArchiveError, damaged } from './fault.ts'
import { type Header, textOf } from './header.ts'
import { ARCHIVE_LIMITS } from './limits.ts'

export type Extended = { name?: string; link?: string; size?: number }

type Read = (bytes: Buffer, at: number) => Extended

/** TABLE flags of extended headers for the next entry or all later ones → their readers. */
const READERS: Readonly<Record<string, Read>> = {
  x: readRecords,
  g: readGlobalRecords,
  L: (bytes, at) => ({ name: longName(bytes, at) }),
  K: (bytes, at) => ({ link: longName(bytes, at) }),
}

const SPARSE = 'The archive has a sparse file. Pack it without the option --sparse of tar.'

/** Returns whether an entry is an extended header. */
export function isExtended({ flag }: Header): boolean {
  return Object.hasOwn(READERS, flag)
}

/** Reads an extended header at offset `at` and merges it. Throws ArchiveError, also on duplicates, which readers resolve differently. */
export function addExtended(before: Extended, { flag }: Header, bytes: Buffer, at: number): Extended {
  const added = READERS[flag]!(bytes, at)
  if (Object.keys(added).some((key) => key in before)) throw damaged(`the entry behind byte ${at} has two long names`)
  return { ...before, ...added }
}

function readRecords(bytes: Buffer, at: number): Extended {
  const records = recordsOf(bytes, at)
  const texts = [...records].map(([key, value]) => [key, textOf(value, at)] as const)
  const { path, linkpath, size } = Object.fromEntries(texts) as Record<string, string | undefined>
  if (size !== undefined && !/^[0-9]{1,15}$/.test(size)) throw damaged(`the size at byte ${at} is not a number`)
  return {
    ...(path !== undefined && { name: path }),
    ...(linkpath !== undefined && { link: linkpath }),
    ...(size !== undefined && { size: Number(size) }),
  }
}

/** `git archive` writes a comment into one. A name for all entries is not valid. */
function readGlobalRecords(bytes: Buffer, at: number): Extended {
  if (recordsOf(bytes, at).size > 0) throw damaged(`the names at byte ${at} are for all entries`)
  return {}
}

const LENGTH = /^[1-9][0-9]* $/
const KEPT: ReadonlySet<string> = new Set(['path', 'linkpath', 'size'])

/** The records in use, the last of each key: `<length> <key>=<value>\n`. One without a value removes an earlier one. */
function recordsOf(bytes: Buffer, at: number): Map<string, Buffer> {
  const records = new Map<string, Buffer>()
  // One character per byte.
  const text = bytes.toString('latin1')
  let count = 0
  for (let from = 0; from < text.length; ) {
    if (++count > ARCHIVE_LIMITS.records)
      throw new ArchiveError(
        `An entry of the archive has more than ${ARCHIVE_LIMITS.records} attributes. Pack it without.`,
      )
    const begin = text.indexOf(' ', from) + 1
    const length =
      begin - from <= 7 && LENGTH.test(text.slice(from, begin)) ? Number.parseInt(text.slice(from, begin), 10) : 0
    const end = from + length
    const equals = text.indexOf('=', begin)
    if (length === 0 || end > text.length || text[end - 1] !== '\n' || equals <= begin || equals >= end)
      throw damaged(`the attributes at byte ${at} are not as pax writes them`)
    const key = text.slice(begin, equals)
    if (key.startsWith('GNU.sparse.') || key === 'SCHILY.realsize') throw new ArchiveError(SPARSE)
    if (KEPT.has(key)) records.set(key, bytes.subarray(equals + 1, end - 1))
    from = end
  }
  for (const [key, value] of records) if (value.length === 0) records.delete(key)
  return records
}

function longName(bytes: Buffer, at: number): string {
  const end = bytes.at(-1) === 0 ? bytes.length - 1 : bytes.length
  return textOf(bytes.subarray(0, end), at)
}
