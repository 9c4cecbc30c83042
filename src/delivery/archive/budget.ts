/** Limits on the total content of an archive, checked per header before anything is unpacked. */
import { OUTPUT_LIMITS } from '../protocol/output-limits.ts'
import { ArchiveError, entryError } from './fault.ts'
import type { Kind } from './kinds.ts'
import { ARCHIVE_LIMITS } from './limits.ts'

/** Each throws ArchiveError above its limit. */
export type Budget = {
  addHeader(): void
  addExtended(bytes: number): void
  addEntry(path: string, kind: Kind, size: number): void
}

/** Creates a budget. */
export function createBudget(): Budget {
  const paths = new Set<string>()
  const used = { headers: 0, extended: 0, files: 0, bytes: 0, paths: 0 }
  const add = (what: keyof typeof used, amount: number, max: number, words: string) => {
    used[what] += amount
    if (!(used[what] <= max)) throw new ArchiveError(`The archive has more than ${max} ${words}. Deploy less.`)
  }
  return {
    addHeader: () => add('headers', 1, ARCHIVE_LIMITS.headers, 'entries'),
    addExtended(bytes) {
      const max = ARCHIVE_LIMITS.extendedBytes
      if (!(bytes <= max))
        throw new ArchiveError(`A name or the attributes of an entry have more than ${max} bytes. Pack it without.`)
      add('extended', bytes, ARCHIVE_LIMITS.extendedBytesInAll, 'bytes of attributes')
    },
    addEntry(path, kind, size) {
      if (paths.has(path)) throw entryError(path, 'is there twice.')
      paths.add(path)
      add('paths', path.length, ARCHIVE_LIMITS.paths, 'characters in its paths')
      if (kind === 'folder') return
      add('files', 1, OUTPUT_LIMITS.files, 'files')
      if (!(size <= OUTPUT_LIMITS.fileBytes))
        throw entryError(path, `has ${size} bytes. At most ${OUTPUT_LIMITS.fileBytes} are allowed.`)
      add('bytes', size, OUTPUT_LIMITS.bytes, 'bytes')
    },
  }
}
