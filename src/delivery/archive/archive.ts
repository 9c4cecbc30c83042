/** Reads an untrusted archive (`tar.gz`: ustar, pax, GNU long names); checks limits before unpacking. docs/deploying-sites.md: Archives. */
import { pauseWhenBusy } from '../../platform/base/event-loop.ts'
import type { Pieces } from '../../platform/files/file-store.ts'
import { pathError } from '../outputs/paths.ts'
import { OUTPUT_LIMITS } from '../protocol/output-limits.ts'
import { type Blocks, openBlocks } from './blocks.ts'
import { type Budget, createBudget } from './budget.ts'
import { addExtended, type Extended, isExtended } from './extended.ts'
import { damaged, entryError } from './fault.ts'
import { BLOCK, type Header, readHeader } from './header.ts'
import { type Kind, kindOf, modeOf } from './kinds.ts'
import { ARCHIVE_LIMITS } from './limits.ts'
import { unzip } from './unzip.ts'

/** An entry. `body` is the content, or the target of a link. Reading the next entry skips an unread body. */
export type ArchiveEntry = {
  path: string
  kind: Kind
  mode: number
  size: number
  body: Pieces
  target?: string
}

/** Yields the entries of an archive. Throws ArchiveError and errors of the source. Always closes the source. */
export async function* readArchive(packed: AsyncIterable<Buffer>): AsyncGenerator<ArchiveEntry, void> {
  const blocks = openBlocks(unzip(packed))
  const budget = createBudget()
  try {
    for (let header = await nextHeader(blocks, budget); header; header = await nextHeader(blocks, budget)) {
      const entry = entryOf(header, budget)
      const end = blocks.at() + header.size + paddingOf(header.size)
      if (entry !== undefined)
        yield { ...entry, body: entry.target === undefined ? blocks.pieces(header.size) : [Buffer.from(entry.target)] }
      for await (const _ of blocks.pieces(end - blocks.at())) await pauseWhenBusy()
    }
    await readEnd(blocks)
  } finally {
    await blocks.close()
  }
}

/** Reads the next header with its extended headers applied. Returns undefined at the end. */
async function nextHeader(blocks: Blocks, budget: Budget): Promise<Header | undefined> {
  let extended: Extended = {}
  for (;;) {
    await pauseWhenBusy()
    const at = blocks.at()
    const header = readHeader(await blocks.take(BLOCK), at)
    if (header === undefined) {
      if (Object.keys(extended).length > 0) throw damaged('a name at its end has no file')
      return undefined
    }
    budget.addHeader()
    if (!isExtended(header)) return { ...header, ...extended }
    budget.addExtended(header.size)
    const bytes = await blocks.take(header.size)
    await blocks.take(paddingOf(header.size))
    extended = addExtended(extended, header, bytes, at)
  }
}

/** Content is padded to whole blocks. */
function paddingOf(size: number): number {
  return (BLOCK - (size % BLOCK)) % BLOCK
}

/** Converts a header to an entry. Returns undefined for the packed directory itself. */
function entryOf(header: Header, budget: Budget): Omit<ArchiveEntry, 'body'> | undefined {
  if (header.name === '') throw damaged('an entry has no name')
  // `tar -C folder .` prefixes each name with `./`.
  const name = header.name.replace(/^(?:\.\/)+/, '')
  const kind = kindOf(header.flag, name === '' ? header.name : name)
  const path = name.endsWith('/') ? name.slice(0, -1) : name
  if (typeof kind === 'object') throw entryError(path, kind.fault)
  if (kind !== 'file' && header.size > 0) throw entryError(path, 'is not a file, but has content. Pack it again.')
  if (kind === 'folder' && (path === '' || path === '.')) return undefined
  const fault = pathError(path) ?? (kind === 'link' ? targetError(header.link) : undefined)
  if (fault !== undefined) throw entryError(path, fault)
  const size = kind === 'link' ? Buffer.byteLength(header.link) : header.size
  budget.addEntry(path, kind, size)
  const mode = modeOf(kind, header.mode)
  return { path, kind, mode, size, ...(kind === 'link' && { target: header.link }) }
}

function targetError(target: string): string | undefined {
  if (target === '') return 'is a link without a target. Pack it again.'
  if (target.includes('\0')) return 'is a link with a NUL in its target. Pack it again.'
  if (target.length <= OUTPUT_LIMITS.path) return undefined
  return `is a link to a path of more than ${OUTPUT_LIMITS.path} characters. Shorten it.`
}

const ZEROS = Buffer.alloc(64 * 1024)

/** Checks that only zeros follow the first zero block, and that the compressed file ends there. */
async function readEnd(blocks: Blocks): Promise<void> {
  let zeros = 0
  for await (const piece of blocks.rest()) {
    await pauseWhenBusy()
    zeros += piece.length
    if (!isZero(piece) || zeros > ARCHIVE_LIMITS.padding) throw damaged('it has bytes behind its end')
  }
  if (zeros < BLOCK) throw damaged('it ends in the middle')
}

function isZero(piece: Buffer): boolean {
  for (let at = 0; at < piece.length; at += ZEROS.length) {
    const part = piece.subarray(at, at + ZEROS.length)
    if (!part.equals(ZEROS.subarray(0, part.length))) return false
  }
  return true
}
