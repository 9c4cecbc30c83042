/** Finds the output of a deployment for a path in memory. The router never queries a file system. */

import type {
  FunctionBundle,
  FunctionPath,
  RoutingManifest,
  StaticFile,
} from '../../delivery/protocol/routing-manifest.ts'
import { withoutTrailing } from '../../platform/base/text.ts'
import type { FolderList } from './decision.ts'
import { decoded } from './request.ts'

export type Entry =
  | { kind: 'file'; file: StaticFile }
  | { kind: 'function'; path: FunctionPath; bundle: FunctionBundle }

export type FileIndex = {
  /** Returns the entry of a percent-encoded path, else the index file of that folder. */
  find(path: string): Entry | undefined
  /** Lists the files of a folder by its percent-encoded path. Undefined if it does not exist or has no visible files. */
  listFolder(path: string): FolderList | undefined
  functionOf(name: string): FunctionBundle | undefined
}

/** An escaped slash or backslash is not a separator. It stays escaped, also for rules. */
const ESCAPED_SEPARATOR = /%(2f|5c)/gi

const MAX_NAMES = 1000

/** Builds the index. If a file and a function have the same path, the function is served. */
export function indexFiles({ files, functions, functionPaths }: RoutingManifest): FileIndex {
  const entries = new Map<string, Entry>()
  for (const file of files) entries.set(file.path, { kind: 'file', file })
  for (const path of functionPaths) {
    const bundle = functions[path.bundle]
    if (bundle !== undefined) entries.set(path.path, { kind: 'function', path, bundle })
  }
  addComposedNames(entries)
  const indexes = folderIndexes(entries)
  return {
    find(path) {
      const name = nameOf(path)
      if (name.includes('\0')) return undefined
      const base = withoutTrailing(name, '/')
      return entries.get(name) ?? entries.get(path) ?? entries.get(base) ?? entries.get(`${base}/`) ?? indexes.get(base)
    },
    listFolder: (path) => listFolder(files, withoutTrailing(nameOf(path), '/')),
    functionOf(name) {
      const entry = entries.get(name.startsWith('/') ? name : `/${name}`)
      return entry?.kind === 'function' ? entry.bundle : undefined
    },
  }
}

function nameOf(path: string): string {
  return decoded(path.replace(ESCAPED_SEPARATOR, '%25$1'))
}

/** Scans the files once, without an index of folders, since deep paths would multiply it. Hides dotfiles, which may be uploaded by mistake. */
function listFolder(files: readonly StaticFile[], directory: string): FolderList | undefined {
  const begin = `${directory}/`
  const names = new Set<string>()
  for (const { path } of files) {
    if (!path.startsWith(begin)) continue
    const slash = path.indexOf('/', begin.length)
    const name = path.slice(begin.length, slash === -1 ? path.length : slash + 1)
    if (name !== '' && !name.startsWith('.')) names.add(name)
  }
  if (names.size === 0) return undefined
  const sorted = [...names].sort()
  return { path: begin, names: sorted.slice(0, MAX_NAMES), isWhole: sorted.length <= MAX_NAMES }
}

/** Links may spell `é` with one code point if the file name uses two. */
function addComposedNames(entries: Map<string, Entry>): void {
  for (const [path, entry] of [...entries]) {
    const composed = path.normalize('NFC')
    if (!entries.has(composed)) entries.set(composed, entry)
  }
}

/** The entry of each folder: `index`, else `index.html`, else the first `index.*`. */
function folderIndexes(entries: Map<string, Entry>): Map<string, Entry> {
  const indexes = new Map<string, { name: string; entry: Entry }>()
  for (const [path, entry] of entries) {
    const slash = path.lastIndexOf('/')
    const name = path.slice(slash + 1)
    if (name !== 'index' && !name.startsWith('index.')) continue
    const before = indexes.get(path.slice(0, slash))
    if (before === undefined || rank(name) < rank(before.name)) indexes.set(path.slice(0, slash), { name, entry })
  }
  return new Map([...indexes].map(([directory, { entry }]) => [directory, entry]))
}

function rank(name: string): string {
  if (name === 'index') return '0'
  return name === 'index.html' ? '1' : `2${name}`
}
