import { mapInSlices } from '../../platform/base/event-loop.ts'
import { OUTPUT_LIMITS } from '../protocol/output-limits.ts'
import { addError, type Report } from './faults.ts'
import { foldedPath, foldersAbove, linkTarget, pathError, shown } from './paths.ts'

/** An entry of an upload. Paths are relative to the project folder. `digest`: SHA-256 in hex. `target`: the raw target of a link. */
export type UploadEntry = {
  path: string
  kind: 'file' | 'link' | 'folder' | 'other'
  size: number
  mode: number
  digest: string
  target?: string
}

export type Tree = {
  files: ReadonlyMap<string, UploadEntry>
  links: ReadonlyMap<string, { entry: UploadEntry; target: string }>
  folders: ReadonlySet<string>
}

/** Returns the kind for a mode (POSIX `S_IFMT`). Archives and old clients send modes without a type: those are files. */
export function entryKind(mode: number): UploadEntry['kind'] {
  const type = mode & 0o170000
  if (type === 0 || type === 0o100000) return 'file'
  if (type === 0o120000) return 'link'
  return type === 0o040000 ? 'folder' : 'other'
}

/** Builds the tree, and reports invalid names, links and sizes. */
export async function openTree(entries: readonly UploadEntry[], report: Report): Promise<Tree> {
  if (!withinBudget(entries, report)) return { files: new Map(), links: new Map(), folders: new Set() }
  const files = new Map<string, UploadEntry>()
  const links = new Map<string, { entry: UploadEntry; target: string }>()
  const folders = new Set<string>()
  const folded = new Map<string, string>()
  await mapInSlices(entries, (entry) => {
    const { path } = entry
    const fault = pathError(path) ?? kindError(entry)
    if (fault !== undefined) return addError(report, shown(path), '', fault)
    addFolders(path, folders)
    if (entry.kind === 'folder') return folders.add(path)
    const before = folded.get(foldedPath(path))
    folded.set(foldedPath(path), path)
    if (before !== undefined) return addError(report, path, '', collisionOf(path, before))
    if (entry.kind === 'file') return files.set(path, entry)
    const target = linkTarget(path, entry.target ?? '')
    if (target === undefined) return addError(report, path, '', LEADS_OUT)
    return links.set(path, { entry, target })
  })
  for (const path of [...files.keys(), ...links.keys()]) {
    if (folders.has(path)) addError(report, path, '', 'is a file or a link, and other entries lie below it.')
  }
  return { files, links, folders }
}

const LEADS_OUT = 'is a link that points outside of the upload. Links must be relative, and end inside it.'

/** Returns whether an upload is within the limits of number, bytes and paths, by the sizes that its files have. Reports what exceeds them. */
export function withinBudget(entries: readonly UploadEntry[], report: Report): boolean {
  const { files, bytes, paths } = OUTPUT_LIMITS
  const faults = [
    entries.length > files && `has ${entries.length} files. At most ${files} are allowed.`,
    sumOf(entries, ({ size }) => size) > bytes && `has more than ${bytes} bytes.`,
    sumOf(entries, ({ path, target = '' }) => path.length + target.length) > paths &&
      `has paths and links of more than ${paths} characters together. Shorten them.`,
  ].filter((fault) => fault !== false)
  for (const fault of faults) addError(report, 'The upload', '', fault)
  return faults.length === 0
}

function sumOf(entries: readonly UploadEntry[], part: (entry: UploadEntry) => number): number {
  return entries.reduce((sum, entry) => sum + part(entry), 0)
}

function kindError({ kind, size, target }: UploadEntry): string | undefined {
  if (kind === 'other') return 'is neither a file nor a folder nor a link. Devices, pipes and sockets are not kept.'
  if (kind === 'file' && size > OUTPUT_LIMITS.fileBytes)
    return `has ${size} bytes. At most ${OUTPUT_LIMITS.fileBytes} are allowed.`
  return kind === 'link' && target === undefined ? 'is a link without a target.' : undefined
}

function collisionOf(path: string, before: string): string {
  if (path === before) return 'is there twice.'
  return `and ${before} differ only in upper and lower case or in the form of accents. Rename one of them.`
}

/** Adds all folders above a path, each once, so that many files in one folder cost little. */
function addFolders(path: string, folders: Set<string>): void {
  for (const directory of foldersAbove(path)) {
    if (folders.has(directory)) return
    folders.add(directory)
  }
}

/** Returns the file at a path and follows links. */
export function fileAt(tree: Tree, path: string): UploadEntry | undefined {
  const end = linkEnd(tree, path)
  return end === undefined ? undefined : tree.files.get(end)
}

/** Returns the end of a chain of links. Undefined for a cycle. */
export function linkEnd(tree: Tree, path: string): string | undefined {
  let end = path
  for (let step = 0; step < OUTPUT_LIMITS.linkChain; step++) {
    const link = tree.links.get(end)
    if (link === undefined) return end
    end = link.target
  }
  return undefined
}
