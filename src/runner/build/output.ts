/** The result of a build: the directory `.vercel/output`, read after everything in the sandbox has ended. docs/runner.md: Output. */
import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { lstat, open, opendir, readlink, realpath } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { OUTPUT_LIMITS } from '../../delivery/protocol/output-limits.ts'
import type { SourceEntry } from '../../delivery/protocol/runner-protocol.ts'
import { BuildFailure } from './failure.ts'
import { staysInside } from './workspace.ts'

const OUTPUT = '.vercel/output'
const CONFIG = '.vc-config.json'

/** `place`: where the file lies on the host. */
export type OutputFile = { path: string; place: string; size: number; mode: number; digest: string }
type OutputLink = { path: string; target: string; mode: number }
export type Output = { files: OutputFile[]; links: OutputLink[] }

type State = Output & {
  source: string
  /** Files, links and directories, each. */
  max: number
  paths: Set<string>
  folders: number
  bytes: number
  signal: AbortSignal
}

/**
 * Reads the output below the source directory `source`, without following links. Fails with BUILD_OUTPUT_REFUSED, which names the file that is over a
 * limit, leads out of the output, or is neither file, directory nor link.
 */
export async function collectOutput(
  source: string,
  signal: AbortSignal,
  max: number = OUTPUT_LIMITS.files,
): Promise<Output> {
  const state: State = { files: [], links: [], source, max, paths: new Set(), folders: 0, bytes: 0, signal }
  for (const path of ['', '.vercel', OUTPUT]) {
    const stats = await lstat(join(source, path)).catch(() => undefined)
    if (stats?.isDirectory() !== true)
      throw refused(path || 'The project folder', 'is not a directory after the build.')
  }
  await walk(state, OUTPUT)
  for (const { path, place, size } of state.files.filter(({ path }) => path.endsWith(`.func/${CONFIG}`)))
    await addMappedFiles(state, path, await readConfig(path, place, size))
  mustLieInDirectories(state)
  return state
}

/** A mapped file may be named by a path through a link of the output. No sites server could store both. */
function mustLieInDirectories({ files, links }: Output): void {
  const usedPaths = new Set([...files, ...links].map(({ path }) => path))
  const folders = new Set<string>()
  for (const { path } of files)
    for (let directory = dirname(path); directory !== '.' && !folders.has(directory); directory = dirname(directory)) {
      if (usedPaths.has(directory))
        throw refused(directory, 'is a link or a file, and a function names a file below it.')
      folders.add(directory)
    }
}

/** Returns the entries of the report. */
export function entriesOf({ files, links }: Output): SourceEntry[] {
  return [
    ...files.map(({ place: _, ...file }) => ({ ...file, kind: 'file' as const })),
    ...links.map((link) => ({ ...link, kind: 'link' as const, size: Buffer.byteLength(link.target) })),
  ]
}

function refused(path: string, why: string): BuildFailure {
  return new BuildFailure('BUILD_OUTPUT_REFUSED', `${path.slice(0, OUTPUT_LIMITS.path)} ${why}`)
}

async function walk(state: State, directory: string): Promise<void> {
  if (directory.split('/').length > OUTPUT_LIMITS.depth)
    throw refused(directory, `is more than ${OUTPUT_LIMITS.depth} directories deep.`)
  if (++state.folders > state.max) throw refused('The output', `has more than ${state.max} directories.`)
  for await (const { name } of await opendir(join(state.source, directory), { bufferSize: 256 })) {
    state.signal.throwIfAborted()
    const path = `${directory}/${name}`
    const stats = await lstat(join(state.source, path))
    if (stats.isDirectory()) await walk(state, path)
    else if (stats.isSymbolicLink()) await addLink(state, path)
    else if (stats.isFile()) await addFile(state, path, join(state.source, path))
    else throw refused(path, 'is neither a file nor a directory nor a link.')
  }
}

function count(state: State, path: string): void {
  state.paths.add(path)
  if (state.paths.size > state.max) throw refused('The output', `has more than ${state.max} files and links.`)
}

/** `top`: the directory that it may not lead out of. */
async function addLink(state: State, path: string, top: '' | typeof OUTPUT = OUTPUT): Promise<void> {
  if (state.paths.has(path)) return
  count(state, path)
  const target = await readlink(join(state.source, path))
  if (!staysInside(top === '' ? path : path.slice(top.length + 1), target)) {
    const where = top === '' ? 'project' : 'output'
    throw refused(path, `is a link that leads out of the ${where}, to ${JSON.stringify(target.slice(0, 200))}.`)
  }
  state.links.push({ path, target, mode: 0o120777 })
}

async function addFile(state: State, path: string, place: string): Promise<void> {
  if (state.paths.has(path)) return
  count(state, path)
  const handle = await open(place, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  try {
    const { size, mode } = await handle.stat()
    if (size > OUTPUT_LIMITS.fileBytes)
      throw refused(path, `has ${size} bytes. At most ${OUTPUT_LIMITS.fileBytes} are allowed.`)
    state.bytes += size
    if (state.bytes > OUTPUT_LIMITS.bytes)
      throw refused('The output', `has more than ${OUTPUT_LIMITS.bytes} bytes, with ${path}.`)
    const hash = createHash('sha256')
    for await (const piece of handle.createReadStream({ autoClose: false })) {
      state.signal.throwIfAborted()
      hash.update(piece)
    }
    const executable = (mode & 0o111) === 0 ? 0o100644 : 0o100755
    state.files.push({ path, place, size, mode: executable, digest: hash.digest('hex') })
  } finally {
    await handle.close()
  }
}

async function readConfig(path: string, place: string, size: number): Promise<unknown> {
  if (size > OUTPUT_LIMITS.functionConfigBytes)
    throw refused(path, `has ${size} bytes. At most ${OUTPUT_LIMITS.functionConfigBytes} are allowed.`)
  const handle = await open(place, constants.O_RDONLY | constants.O_NOFOLLOW)
  try {
    return JSON.parse(await handle.readFile('utf8'))
  } catch {
    // The control plane names the error.
    return undefined
  } finally {
    await handle.close()
  }
}

/** Files outside of the output that a function needs, such as packages. Links are followed within the source; one to a directory, or to a file of the function, stays a link. */
async function addMappedFiles(state: State, config: string, content: unknown): Promise<void> {
  const { filePathMap } = (typeof content === 'object' && content !== null ? content : {}) as { filePathMap?: unknown }
  if (typeof filePathMap !== 'object' || filePathMap === null) return
  const root = await realpath(state.source)
  const isInFunction = (path: string) =>
    Object.hasOwn(filePathMap, path) || state.paths.has(join(dirname(config), path))
  for (const [path, from] of Object.entries(filePathMap)) {
    state.signal.throwIfAborted()
    if (typeof from !== 'string' || !staysInside('x', from)) throw refused(config, 'names a file out of the project.')
    const place = await realpath(join(root, from)).catch(() => undefined)
    // A missing file is named by the control plane.
    if (place === undefined) continue
    if (!place.startsWith(`${root}/`)) throw refused(config, `names ${from}, which leads out of the project.`)
    const isFile = (await lstat(place)).isFile()
    const target = (await lstat(join(root, from))).isSymbolicLink() && (await readlink(join(root, from)))
    if (target && (!isFile || isInFunction(join(dirname(path), target)))) await addLink(state, from, '')
    else if (isFile) await addFile(state, from, place)
  }
}
