/** Packs what builds leave for the next one, and unpacks it, as the user of the sandbox. docs/runner.md: Build cache. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { constants, createZstdCompress, createZstdDecompress } from 'node:zlib'
import type { Workspace } from '../build/workspace.ts'

/** TABLE directories that are kept, wherever they lie in the source: packages, and the caches of frameworks and package managers. */
const NAMES = ['node_modules', '.nuxt', '.cache'] as const
const PATHS = ['*/.next/cache', '*/.yarn/cache', '*/.turbo/cache', './.vercel/cache'] as const
/** Directories of a repository whose packages lie deeper have no cache. */
const DEPTH = 8

const CHOSEN = [...NAMES.map((name) => `-name ${name}`), ...PATHS.map((path) => `-path '${path}'`)].join(' -o ')
const FIND = `find . -xdev -maxdepth ${DEPTH} \\( -path ./.vercel/output -o -name .git \\) -prune -o -type d \\( ${CHOSEN} \\) -prune`

const PACK = `${FIND} -print0 | nice -n 15 tar -c --null -T - -f -`
/** What the source has stays. Rights are those of the user, as of what a build writes. It reads to the end, because a write to a tar that has ended fails. */
const UNPACK = 'umask 022; exec tar -x --ignore-zeros --skip-old-files --no-same-owner -f -'
const LIST = `${FIND} -exec find {} -xdev -print0 ';'`
/** What the list of standard input does not have. */
const REMOVE = `{ cat; ${LIST}; } | sort -z | uniq -zu | xargs -0 -r rm -rf --`

export class NothingToKeep extends Error {}

/**
 * Yields the compressed archive. Throws NothingToKeep where there are no such directories, and Error above `max` bytes, above `maxInside` bytes before
 * compression, or where a program fails.
 */
export async function* pack(
  workspace: Workspace,
  { max, maxInside }: { max: number; maxInside: number },
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  const child = start(PACK, workspace, 'stdout', signal)
  const ended = endOf(child, 'packing')
  ended.catch(() => {})
  let inside = 0
  let isEmpty = true
  const counted = async function* (pieces: AsyncIterable<Buffer>) {
    for await (const piece of pieces) {
      // An archive with nothing in it is zeros alone, any other begins with a name.
      if (inside === 0) isEmpty = piece[0] === 0
      inside += piece.length
      if (inside > maxInside) throw new Error(`the build cache has more than ${maxInside} bytes`)
      yield piece
    }
    await ended
  }
  const compress = createZstdCompress({ params: { [constants.ZSTD_c_compressionLevel]: 1 } })
  const packing = pipeline(child.stdout!, counted, compress)
  packing.catch(() => {})
  try {
    let bytes = 0
    for await (const piece of compress as AsyncIterable<Buffer>) {
      bytes += piece.length
      if (bytes > max) throw new Error(`the build cache has more than ${max} bytes compressed`)
      yield piece
    }
    await packing
    if (isEmpty) throw new NothingToKeep('nothing to keep')
  } finally {
    child.kill('SIGKILL')
    compress.destroy()
  }
}

/** Unpacks an archive over the source. Throws where it is damaged or a program fails; then part of it may be there. */
export async function unpack(workspace: Workspace, bytes: Readable, signal: AbortSignal): Promise<void> {
  const child = start(UNPACK, workspace, 'stdin', signal)
  const ended = endOf(child, 'unpacking')
  ended.catch(() => {})
  try {
    await pipeline(bytes, createZstdDecompress(), child.stdin!, { signal })
    await ended
  } finally {
    child.kill('SIGKILL')
  }
}

/** What `pack` would choose: paths of files and directories. */
export type Kept = Buffer

/** Returns what the source itself has of what `pack` would choose. */
export async function listKept(workspace: Workspace, signal: AbortSignal): Promise<Kept> {
  const child = start(LIST, workspace, 'stdout', signal)
  const [listing] = await Promise.all([buffer(child.stdout!), endOf(child, 'listing')])
  return listing
}

/** Removes what `pack` would choose, but for what was there before. */
export async function removeKept(workspace: Workspace, before: Kept, signal: AbortSignal): Promise<void> {
  const child = start(REMOVE, workspace, 'stdin', signal)
  await Promise.all([pipeline(Readable.from([before]), child.stdin!), endOf(child, 'removing')])
}

type Piped = 'stdin' | 'stdout'

function start(script: string, { folder, owner }: Workspace, piped: Piped, signal: AbortSignal): ChildProcess {
  const stdio = (['stdin', 'stdout'] as const).map((name) => (name === piped ? 'pipe' : 'ignore'))
  return spawn('/bin/sh', ['-c', script], {
    ...{ cwd: folder, stdio: [...stdio, 'ignore'], signal, killSignal: 'SIGKILL' },
    env: { PATH: '/usr/bin:/bin', LC_ALL: 'C' },
    // The owner alone can enter what a build left, and nothing is written with more rights than a build has.
    ...(process.getuid?.() === 0 && owner),
  })
}

async function endOf(child: ChildProcess, what: string): Promise<void> {
  const [code] = await once(child, 'exit')
  if (code !== 0) throw new Error(`${what} the build cache ended with ${code ?? 'a signal'}`)
}
