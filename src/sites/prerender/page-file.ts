/** Lists of pages and of cached data on disk, from a stop to the next start. Their bodies are in the file cache. docs/prerendering.md: Budget. */
import { createReadStream, existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { removeStaleTemporaryFiles, writeStreamAtomically } from '../../platform/adapters/atomic-file.ts'
import { textLines, textPieces } from '../snapshot/text-lines.ts'

/** `version`: of a line. A list of another one is not read. */
type List = { name: string; version: number }

/** TABLE lists */
export const LISTS = {
  pages: { name: 'pages.ndjson', version: 2 },
  data: { name: 'data.ndjson', version: 1 },
} satisfies Record<string, List>
const LONGEST = 12 * 1024

/**
 * Takes the list of the last stop out of the directory: a process that is killed later leaves none, in which something could be that was purged since.
 * Throws what is wrong with the file, which is gone then too.
 */
export async function takeList<T extends object>(directory: string, { name, version }: List): Promise<T[]> {
  removeStaleTemporaryFiles(directory, name, Number.NEGATIVE_INFINITY)
  const file = join(directory, name)
  if (!existsSync(file)) return []
  try {
    return await readList<T>(file, version)
  } finally {
    await rm(file, { force: true })
  }
}

async function readList<T extends object>(file: string, version: number): Promise<T[]> {
  const all: T[] = []
  let isHead = true
  for await (const lines of textLines(createReadStream(file))) {
    for (const { text } of lines) {
      const line = JSON.parse(text) as T & { version?: number }
      if (isHead && line.version !== version) return []
      if (!isHead) all.push(line)
      isHead = false
    }
  }
  return all
}

/** Writes a list, what was used longest ago first. */
export async function storeList(directory: string, { name, version }: List, all: Iterable<object>): Promise<void> {
  await writeStreamAtomically(join(directory, name), textPieces(textsOf(version, all)))
}

function* textsOf(version: number, all: Iterable<object>): Generator<string> {
  yield `${JSON.stringify({ version })}\n`
  for (const part of all) {
    const line = JSON.stringify(part)
    if (Buffer.byteLength(line) <= LONGEST) yield `${line}\n`
  }
}
