/** Sources of deployments: their files by content, and a list of them. docs/building.md: Source. */
import { mapInSlices, pauseWhenBusy } from '../../platform/base/event-loop.ts'
import { READERS } from '../../readers.ts'
import { BadFile } from '../files/file-store.ts'
import { addError, createReport, sentencesOf } from '../outputs/faults.ts'
import { pathError, shown } from '../outputs/paths.ts'
import { type UploadEntry, withinBudget } from '../outputs/tree.ts'
import type { SourceEntry } from '../protocol/runner-protocol.ts'
import type { Intake } from '../uploads/intake.ts'
import type { NewOutput } from './output-rows.ts'

/** Rows of an array per write. */
const ROWS_TOGETHER = 200
/** What a runner reads. */
const MAX_LIST_BYTES = READERS['answer to a runner'].bytes

/**
 * Stores the list of a source whose files are stored, as JSON of `SourceEntry`. Returns it as an output row is inserted, or error
 * sentences. Equal sources of an account share a row, because entries are sorted.
 */
export async function storeSource(
  accountId: string,
  entries: readonly UploadEntry[],
  intake: Intake,
): Promise<NewOutput | { faults: string[] }> {
  const report = createReport()
  if (entries.length === 0) addError(report, 'files', '', 'is empty. Deploy a folder with files.')
  if (!withinBudget(entries, report)) return { faults: sentencesOf(report) }
  const source: SourceEntry[] = []
  const files = new Set<string>()
  await mapInSlices(entries, (entry) => {
    const { path, kind, mode, size, digest, target } = entry
    const fault = pathError(path) ?? (kind === 'other' ? 'is neither a file nor a folder nor a link.' : undefined)
    if (fault !== undefined) return addError(report, shown(path), '', fault)
    if (kind === 'file') {
      files.add(digest)
      source.push({ path, kind, mode, size, digest })
    } else if (kind === 'link') source.push({ path, kind, mode, size, target: target ?? '' })
    else source.push({ path, kind: 'folder', mode, size: 0 })
  })
  if (report.faults.length > 0) return { faults: sentencesOf(report) }
  source.sort((a, b) => (a.path < b.path ? -1 : 1))
  const announced = { sha1: undefined, size: undefined, max: MAX_LIST_BYTES }
  try {
    const { sha256, size } = await intake.put(accountId, writeArray(source), announced)
    const manifest = { sha256, size }
    return { digest: `source ${sha256}`, manifest, files: [...files.add(sha256)], put: intake.files() }
  } catch (error) {
    if (!(error instanceof BadFile)) throw error
    return { faults: [`The list of the files has more than ${MAX_LIST_BYTES} bytes. Shorten paths and links.`] }
  }
}

/** Writes a long array as JSON in pieces. */
export async function* writeArray(rows: readonly object[]): AsyncGenerator<Buffer> {
  yield Buffer.from('[')
  for (let at = 0; at < rows.length; at += ROWS_TOGETHER) {
    const text = JSON.stringify(rows.slice(at, at + ROWS_TOGETHER)).slice(1, -1)
    yield Buffer.from(at === 0 ? text : `,${text}`)
    await pauseWhenBusy()
  }
  yield Buffer.from(']')
}
