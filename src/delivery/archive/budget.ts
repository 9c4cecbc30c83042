/** Limits on the total content of an archive, checked per header before anything is unpacked. */
import { OUTPUT_LIMITS } from '../protocol/output-limits.ts'
import { ArchiveFault, entryFault } from './fault.ts'
import type { Kind } from './kinds.ts'
import { ARCHIVE_LIMITS } from './limits.ts'

/** Each throws ArchiveFault above its limit. */
export type Budget = {
  addHeader(): void
  addExtended(bytes: number): void
  addEntry(path: string, kind: Kind, size: number): void
}

/** Creates a budget. */
export function openBudget(): Budget {
  const paths = new Set<string>()
  const used = { headers: 0, extended: 0, files: 0, bytes: 0, paths: 0 }
  const add = (what: keyof typeof used, amount: number, most: number, words: string) => {
    used[what] += amount
    if (!(used[what] <= most)) throw new ArchiveFault(`The archive has more than ${most} ${words}. Deploy less.`)
  }
  return {
    addHeader: () => add('headers', 1, ARCHIVE_LIMITS.headers, 'entries'),
    addExtended(bytes) {
      const most = ARCHIVE_LIMITS.extendedBytes
      if (!(bytes <= most))
        throw new ArchiveFault(`A name or the attributes of an entry have more than ${most} bytes. Pack it without.`)
      add('extended', bytes, ARCHIVE_LIMITS.extendedBytesInAll, 'bytes of attributes')
    },
    addEntry(path, kind, size) {
      if (paths.has(path)) throw entryFault(path, 'is there twice.')
      paths.add(path)
      add('paths', path.length, ARCHIVE_LIMITS.paths, 'characters in its paths')
      if (kind === 'folder') return
      add('files', 1, OUTPUT_LIMITS.files, 'files')
      if (!(size <= OUTPUT_LIMITS.fileBytes))
        throw entryFault(path, `has ${size} bytes. At most ${OUTPUT_LIMITS.fileBytes} are allowed.`)
      add('bytes', size, OUTPUT_LIMITS.bytes, 'bytes')
    },
  }
}
