/** The source of a build: copied into the work directory of a sandbox, by content. docs/runner.md: Source. */
import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { lchown, lstat, mkdir, open, rm, symlink } from 'node:fs/promises'
import { dirname, isAbsolute, join, normalize } from 'node:path'
import { Readable } from 'node:stream'
import type { SourceEntry } from '../../delivery/protocol/runner-protocol.ts'
import { sizeInWords } from '../resources/watch.ts'

/** A source that cannot be placed. The message is for users. `code`: RUNNER_FAILED where its content did not arrive as it was sent. */
export class BadSource extends Error {
  readonly code: 'BUILD_FAILED' | 'BUILD_OUT_OF_DISK' | 'RUNNER_FAILED'
  constructor(message: string, code: BadSource['code'] = 'BUILD_FAILED') {
    super(message)
    this.code = code
  }
}

export type Workspace = {
  /** The directory of the source, on the host. */
  folder: string
  owner: { uid: number; gid: number }
}

const AT_ONCE = 16

/** Returns the path of an entry below `root`. Throws BadSource for a path that is absolute or leads out. Pure. */
export function resolveInside(root: string, path: string): string {
  const parts = path.split('/')
  if (path === '' || path.includes('\0') || isAbsolute(path) || parts.some((part) => ['', '.', '..'].includes(part)))
    throw new BadSource(`The path ${JSON.stringify(path.slice(0, 200))} of the source does not name a place in it.`)
  return join(root, path)
}

/**
 * Whether the target of a link at `path` stays within the root, also where it goes through other links that do. Both are relative to the root. `..`
 * behind a name is refused: the name may be a link to a directory that is less deep than the text says. Pure.
 */
export function staysInside(path: string, target: string): boolean {
  if (target === '' || target.includes('\0') || isAbsolute(target)) return false
  const parts = target.split('/').filter((part) => part !== '' && part !== '.')
  const named = parts.findIndex((part) => part !== '..')
  if (named !== -1 && parts.includes('..', named)) return false
  const end = normalize(join(dirname(path), target))
  return end !== '..' && !end.startsWith('../')
}

/** Creates the empty directory of the source in the work directory of a sandbox, for the user that runs the sandbox. */
export async function createWorkspace(workDirectory: string, name: string): Promise<Workspace> {
  const { uid, gid } = await lstat(workDirectory)
  const directory = join(workDirectory, name)
  const workspace = { folder: directory, owner: { uid, gid } }
  await createWorkspaceDirectory(workspace, directory)
  return workspace
}

/** Throws BadSource for a path that stands for two things, such as a file and a directory. Linear in the names of all paths. */
function mustBeUnique(entries: readonly Pick<SourceEntry, 'path' | 'kind'>[]): void {
  const kinds = new Map<string, SourceEntry['kind']>()
  for (const { path, kind } of entries) {
    const before = kinds.get(path)
    if (before !== undefined && !(before === 'folder' && kind === 'folder')) throw clash(path)
    kinds.set(path, kind)
  }
  const folders = new Set<string>()
  for (const { path } of entries)
    for (let directory = dirname(path); directory !== '.' && !folders.has(directory); directory = dirname(directory)) {
      if ((kinds.get(directory) ?? 'folder') !== 'folder') throw clash(directory)
      folders.add(directory)
    }
}

/** Copies are counted, because each is written: a source can name a stored file many times. A file that is longer than its size is refused later. */
function mustFit(entries: readonly Pick<SourceEntry, 'size'>[], diskBytes: number): void {
  const bytes = entries.reduce((sum, { size }) => sum + Math.max(0, size), 0)
  if (bytes > diskBytes)
    throw new BadSource(
      `The files of the source have ${bytes} bytes, and a build has ${sizeInWords(diskBytes)} of disk. Send less, or ask the operator for a higher BERTH_BUILD_DISK.`,
      'BUILD_OUT_OF_DISK',
    )
}

function clash(path: string): BadSource {
  return new BadSource(
    `The source has ${JSON.stringify(path.slice(0, 200))} twice. Send one file, link or directory of that path.`,
  )
}

/** Hands the bytes of a file to `write`, and once more where they broke off. */
export type FetchFile = (sha256: string, write: WriteFile) => Promise<void>
export type WriteFile = (bytes: AsyncIterable<Buffer>) => Promise<void>

/**
 * Places all entries: directories, then files, then links, so that nothing is written through a link. Throws BadSource for a wrong path, link or
 * digest, and for more than `diskBytes`.
 */
export async function placeSource(
  workspace: Workspace,
  entries: readonly SourceEntry[],
  diskBytes: number,
  fetchFile: FetchFile,
): Promise<void> {
  for (const { path } of entries) resolveInside(workspace.folder, path)
  mustBeUnique(entries)
  mustFit(entries, diskBytes)
  const made = new Set([workspace.folder])
  const isFolder = ({ kind }: SourceEntry) => kind === 'folder'
  for (const entry of entries) {
    const place = resolveInside(workspace.folder, entry.path)
    await createDirectories(workspace, isFolder(entry) ? place : dirname(place), made)
  }
  const files = entries.filter(({ kind }) => kind === 'file').values()
  const worker = async () => {
    for (const entry of files) await placeFile(workspace, entry, fetchFile)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
  for (const entry of entries) if (entry.kind === 'link') await placeLink(workspace, entry)
}

async function createDirectories(workspace: Workspace, directory: string, made: Set<string>): Promise<void> {
  if (made.has(directory)) return
  await createDirectories(workspace, dirname(directory), made)
  made.add(directory)
  await createWorkspaceDirectory(workspace, directory)
}

/** Creates a directory for the build. Throws where something is there already, which may be a link. */
export async function createWorkspaceDirectory({ owner }: Workspace, directory: string): Promise<void> {
  await mkdir(directory, { mode: 0o755 })
  await giveTo(owner, directory)
}

async function placeFile(
  workspace: Workspace,
  { path, digest, size, mode }: SourceEntry,
  fetchFile: FetchFile,
): Promise<void> {
  if (digest === undefined) throw new BadSource(`The file ${path} of the source has no digest.`, 'RUNNER_FAILED')
  const place = resolveInside(workspace.folder, path)
  await fetchFile(digest, async (bytes) => {
    const written = await writeBytes(place, bytes, size, (mode & 0o111) === 0 ? 0o644 : 0o755)
    if (written !== digest)
      throw new BadSource(`The file ${path} of the source has other content than it should have.`, 'RUNNER_FAILED')
  })
  await giveTo(workspace.owner, place)
}

/** Creates a file of the runner for the build. Throws where something is there already. */
export async function placeText(workspace: Workspace, place: string, text: string): Promise<void> {
  const bytes = Buffer.from(text)
  await writeBytes(place, Readable.from([bytes]), bytes.length, 0o644)
  await giveTo(workspace.owner, place)
}

/** Creates a file for the build, and returns the SHA-256 of what was written. Throws BadSource above `size`. Nothing of a file that failed stays. */
async function writeBytes(place: string, bytes: AsyncIterable<Buffer>, size: number, mode: number): Promise<string> {
  const { O_CREAT, O_EXCL, O_NOFOLLOW, O_WRONLY } = constants
  const handle = await open(place, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode)
  const hash = createHash('sha256')
  try {
    let written = 0
    for await (const piece of bytes) {
      written += piece.length
      if (written > size) throw new BadSource(`A file of the source is longer than its ${size} bytes.`, 'RUNNER_FAILED')
      hash.update(piece)
      await handle.appendFile(piece)
    }
  } catch (error) {
    await rm(place, { force: true })
    throw error
  } finally {
    await handle.close()
  }
  return hash.digest('hex')
}

async function placeLink(workspace: Workspace, { path, target = '' }: SourceEntry): Promise<void> {
  if (!staysInside(path, target))
    throw new BadSource(`The link ${path} of the source leads out of it, to ${JSON.stringify(target.slice(0, 200))}.`)
  const place = resolveInside(workspace.folder, path)
  await symlink(target, place)
  await giveTo(workspace.owner, place)
}

/** A runner that is root gives the files to the user of the sandbox. */
async function giveTo({ uid, gid }: Workspace['owner'], path: string): Promise<void> {
  if (process.getuid?.() !== uid) await lchown(path, uid, gid)
}
