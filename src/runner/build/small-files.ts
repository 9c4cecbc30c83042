/** Small files of a source that the runner reads itself. docs/runner.md: Source. */
import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'

const MAX_BYTES = 1024 * 1024
const HEAD_BYTES = 1024

/** Reads a text. Undefined: there is no such file, or it is larger than 1 MiB. */
export function readSmallText(path: string): Promise<string | undefined> {
  return withFile(path, async (handle, size) => (size > MAX_BYTES ? undefined : handle.readFile('utf8')))
}

/** Reads the beginning of a text. Undefined: there is no such file. */
export function readHead(path: string): Promise<string | undefined> {
  return withFile(path, async (handle) => {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0)
    return buffer.toString('utf8', 0, bytesRead)
  })
}

type Read = (handle: FileHandle, size: number) => Promise<string | undefined>

/** A link is not followed: the runner may read more than the build. */
async function withFile(path: string, read: Read): Promise<string | undefined> {
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK
  const handle = await open(path, flags).catch(() => undefined)
  if (handle === undefined) return undefined
  try {
    const stats = await handle.stat()
    return stats.isFile() ? await read(handle, stats.size) : undefined
  } finally {
    await handle.close()
  }
}
