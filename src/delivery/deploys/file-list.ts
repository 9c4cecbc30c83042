/** Reads the file list of a new deployment, without lookups. docs/deploying-sites.md: File lists. */
import { mapInSlices } from '../../platform/base/event-loop.ts'
import { isOfArchive, orderParts } from '../archive/parts.ts'
import { addError, createReport, type Report, sentencesOf } from '../outputs/faults.ts'
import { isPrebuilt } from '../outputs/output.ts'
import { foldersAbove, pathError, shown } from '../outputs/paths.ts'
import { entryKind } from '../outputs/tree.ts'
import { OUTPUT_LIMITS } from '../protocol/output-limits.ts'
import { type FileEntries, INLINE_LIMITS } from './file-entries.ts'
import { type Content, contentOf } from './inline-files.ts'

/** An entry of the list. A folder has no content; the content of a link is its target. `size` is undefined if the client omits it. */
type ListedEntry = {
  path: string
  kind: 'file' | 'link' | 'folder'
  mode: number
  size: number | undefined
  content: Content | undefined
}

/** `form`: unknown for an archive until it is unpacked. `parts`: the archive in order, in addition to `entries`. `wanted`: each SHA-1 once. */
export type FileList = {
  form: 'archive' | 'prebuilt' | 'source'
  entries: ListedEntry[]
  parts: ListedEntry[]
  wanted: string[]
}

/** The mode of a file without one: the SDK sends none. */
const PLAIN_FILE = 0o100644
/** The longest link target in bytes of UTF-8. */
const MAX_TARGET_BYTES = 4 * OUTPUT_LIMITS.path

/** Reads a list. Returns it, or at most 21 error sentences, each with entry and field. */
export async function readFileList(files: FileEntries): Promise<FileList | { faults: string[] }> {
  const report = createReport()
  refuseLarge(files, report)
  if (report.faults.length > 0) return { faults: sentencesOf(report) }
  const listing = createListing(report)
  let at = 0
  await mapInSlices(files, (file) => {
    const entry = entryOf(file, at++, report)
    if (entry !== undefined) listing.add(entry)
  })
  await listing.refuseClashes()
  refuseExcess(listing.sums, report)
  const parts = listing.archived.length > 0 ? orderParts(listing.archived, report) : []
  if (report.faults.length > 0) return { faults: sentencesOf(report) }
  const { entries, sizes } = listing
  const form = parts.length > 0 ? 'archive' : isPrebuilt(entries) ? 'prebuilt' : 'source'
  return { form, entries, parts, wanted: [...sizes.keys()] }
}

/** Runs before anything is decoded. */
function refuseLarge(files: FileEntries, report: Report): void {
  const characters = files.reduce((sum, { data = '' }) => sum + data.length, 0)
  if (files.length > OUTPUT_LIMITS.files)
    addError(report, 'files', '', `has ${files.length} entries. At most ${OUTPUT_LIMITS.files} are allowed.`)
  if (characters > INLINE_LIMITS.characters)
    addError(report, 'files', '', `has ${characters} characters in \`data\`. Upload the files, and send \`sha\`.`)
}

function placeOf(at: number, path: string): string {
  return `files[${at}] (${shown(path)})`
}

function entryOf(entry: FileEntries[number], at: number, report: Report): ListedEntry | undefined {
  const { file: path, mode = PLAIN_FILE } = entry
  const refuseField = (field: string, message: string) => addError(report, placeOf(at, path), field, message)
  const fault = pathError(path)
  if (fault !== undefined) return refuseField('file', fault)
  const kind = entryKind(mode)
  if (kind !== 'file' && isOfArchive(path))
    return refuseField('mode', 'is of no file, and the name is that of an archive. Rename it.')
  if (kind === 'other') return refuseField('mode', `is ${mode}, which is not a file, link or folder. Leave it out.`)
  if (kind === 'folder') {
    const extra = (['sha', 'data', 'size'] as const).find((field) => entry[field])
    if (extra !== undefined) return refuseField(extra, 'is of a folder, which has no content. Remove it.')
    return { path, kind, mode, size: 0, content: undefined }
  }
  const content = contentOf(entry, refuseField)
  if (content === undefined) return undefined
  const size = 'bytes' in content ? content.bytes.length : entry.size
  const max = kind === 'link' ? MAX_TARGET_BYTES : OUTPUT_LIMITS.fileBytes
  if (size !== undefined && size > max) return refuseField('size', `is ${size} bytes. At most ${max} are allowed.`)
  return { path, kind, mode, size, content }
}

type Sums = { bytes: number; paths: number; inlineFiles: number; inlineBytes: number }

function createListing(report: Report) {
  const kinds = new Map<string, ListedEntry['kind']>()
  const sums: Sums = { bytes: 0, paths: 0, inlineFiles: 0, inlineBytes: 0 }
  const entries: ListedEntry[] = []
  const archived: ListedEntry[] = []
  const sizes = new Map<string, number | undefined>()
  return {
    entries,
    archived,
    sizes,
    sums,
    add(entry: ListedEntry): void {
      const { path, kind, size = 0, content } = entry
      if (kinds.has(path)) addError(report, shown(path), '', 'is there twice. Send it once.')
      kinds.set(path, kind)
      sums.bytes += size
      sums.paths += path.length
      if (content !== undefined && 'bytes' in content) {
        sums.inlineFiles++
        sums.inlineBytes += size
      } else if (content !== undefined) {
        addSize(sizes, content.sha1, entry, report)
      }
      const listed = isOfArchive(path) ? archived : entries
      listed.push(entry)
    },
    /** Call it after adding all entries. */
    async refuseClashes(): Promise<void> {
      const filled = new Set<string>()
      await mapInSlices([...kinds.keys()], (path) => {
        for (const directory of foldersAbove(path))
          if ((kinds.get(directory) ?? 'folder') !== 'folder') filled.add(directory)
      })
      for (const path of filled)
        addError(report, shown(path), '', 'is a file or a link, and other entries lie below it.')
    },
  }
}

/** The size of a content must be consistent, because budgets rely on it. */
function addSize(
  sizes: Map<string, number | undefined>,
  sha1: string,
  { path, size }: ListedEntry,
  report: Report,
): void {
  const before = sizes.get(sha1)
  if (before !== undefined && size !== undefined && before !== size)
    addError(report, shown(path), 'size', `is ${size}, and another file with this SHA-1 has ${before} bytes.`)
  sizes.set(sha1, before ?? size)
}

function refuseExcess(sums: Sums, report: Report): void {
  for (const [what, most, words] of [
    ['bytes', OUTPUT_LIMITS.bytes, 'bytes'],
    ['paths', OUTPUT_LIMITS.paths, 'characters in its paths'],
    ['inlineFiles', INLINE_LIMITS.files, 'files with `data`. Upload them, and send `sha`'],
    ['inlineBytes', INLINE_LIMITS.bytes, 'bytes in `data`. Upload the files, and send `sha`'],
  ] as const)
    if (sums[what] > most) addError(report, 'files', '', `has more than ${most} ${words}.`)
}
