/** The stored lists of what functions have on disk. docs/functions.md: Files. */
import { createHash } from 'node:crypto'
import { mapInSlices } from '../../platform/base/event-loop.ts'
import { addError, type Report } from '../outputs/faults.ts'
import type { Functions } from '../outputs/functions.ts'
import { FUNCTION_FILES_VERSION, type FunctionFiles } from '../protocol/function-files.ts'
import { OUTPUT_LIMITS } from '../protocol/output-limits.ts'

/** A list as JSON, with its digest, and the digests of the files that it names. */
export type FunctionList = { text: string; digest: string; files: string[] }

/** Makes the list of each function, and names it in its bundle, so that outputs with different functions have different manifests. */
export async function functionLists(
  { bundles, files: contents }: Functions,
  directory: string,
  report: Report,
): Promise<FunctionList[]> {
  const lists: FunctionList[] = []
  await mapInSlices([...contents.entries()], ([at, { name, files, links, environment }]) => {
    const bundle = bundles[at]!
    const digests = files.map(({ digest }) => digest)
    const list: FunctionFiles = { version: FUNCTION_FILES_VERSION, files, links, environment }
    const text = JSON.stringify(list)
    const digest = createHash('sha256').update(text).digest('hex')
    const size = Buffer.byteLength(text)
    const max = OUTPUT_LIMITS.functionListBytes
    if (size > max)
      addError(
        report,
        `${directory}${name}.func`,
        '',
        `has a list of files of ${size} bytes. At most ${max} are allowed.`,
      )
    bundle.files = { digest, size }
    lists.push({ text, digest, files: digests })
  })
  return lists
}
