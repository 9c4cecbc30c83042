/** The list of pages on disk, from a stop to the next start. Their bodies are in the file cache. docs/prerendering.md: Budget. */
import { createReadStream, existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { removeStaleTemporaryFiles, writeStreamAtomically } from '../../platform/adapters/atomic-file.ts'
import { textLines } from '../snapshot/text-lines.ts'
import type { Page } from './pages.ts'

const NAME = 'pages.ndjson'
/** The version of a line. A list of another one is not read. */
const VERSION = 2
const LONGEST = 12 * 1024
const PIECE = 64 * 1024

/**
 * Takes the pages of the last stop out of the directory: a process that is killed later leaves no list, in which a page could be that was purged since.
 * Throws what is wrong with the file, which is gone then too.
 */
export async function takePages(folder: string): Promise<Page[]> {
  removeStaleTemporaryFiles(folder, NAME, Number.NEGATIVE_INFINITY)
  const file = join(folder, NAME)
  if (!existsSync(file)) return []
  try {
    return await readPages(file)
  } finally {
    await rm(file, { force: true })
  }
}

async function readPages(file: string): Promise<Page[]> {
  const pages: Page[] = []
  let isHead = true
  for await (const lines of textLines(createReadStream(file))) {
    for (const { text } of lines) {
      const line = JSON.parse(text) as Page & { version?: number }
      if (isHead && line.version !== VERSION) return []
      if (!isHead) pages.push(line)
      isHead = false
    }
  }
  return pages
}

/** Writes the pages, the one that was used longest ago first. */
export async function storePages(folder: string, pages: Iterable<Page>): Promise<void> {
  await writeStreamAtomically(join(folder, NAME), piecesOf(pages))
}

function* piecesOf(pages: Iterable<Page>): Generator<Buffer> {
  let text = `${JSON.stringify({ version: VERSION })}\n`
  for (const page of pages) {
    const line = JSON.stringify(page)
    if (Buffer.byteLength(line) <= LONGEST) text += `${line}\n`
    if (text.length < PIECE) continue
    yield Buffer.from(text)
    text = ''
  }
  yield Buffer.from(text)
}
