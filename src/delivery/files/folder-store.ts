/** File store in a directory: `<account>/<first two digits>/<SHA-256>`, written atomically and read-only. docs/deploying-sites.md: Files. */
import { createReadStream } from 'node:fs'
import { opendir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import {
  removeCutShortLater,
  removeOlder,
  removeStaleTemporaryFiles,
  writeNamedWhole,
} from '../../platform/adapters/atomic-file.ts'
import { createDirectory } from '../../platform/adapters/directory.ts'
import type { FileStore } from '../../platform/files/file-store.ts'
import { openDigest } from './digest.ts'
import { atMost, mustBeAnnounced } from './file-store.ts'

/** Readable by the owner only, and read-only: processes that run tenants' code never share the file. */
const READ_ONLY = 0o400
/** No upload takes this long; older temporary files are left over. */
const DEAD_MS = 24 * 3_600_000
const ACCOUNT = /^[A-Za-z0-9_-]{1,64}$/
const SHA256 = /^[0-9a-f]{64}$/

/** Opens the directory, creates it if missing, and removes partial files of a killed process. */
export function openFolderStore(directory: string): FileStore {
  createDirectory(directory)
  const arriving = join(directory, 'arriving')
  createDirectory(arriving)
  removeStaleTemporaryFiles(arriving, '', DEAD_MS)
  const pathOf = (accountId: string, sha256: string) => pathOfFile(directory, accountId, sha256)
  const sizeOf = async (accountId: string, sha256: string) => {
    const stats = await stat(pathOf(accountId, sha256)).catch(ignoreMissing)
    return stats?.isFile() ? stats.size : undefined
  }
  return {
    sizeOf,
    async put(accountId, pieces, announced) {
      const reading = openDigest(atMost(pieces, announced.max))
      let digest: ReturnType<typeof reading.digest> | undefined
      const nameOf = () => {
        digest = reading.digest()
        mustBeAnnounced(digest, announced)
        createDirectory(shelfOf(directory, accountId, digest.sha256))
        return pathOf(accountId, digest.sha256)
      }
      await writeNamedWhole(arriving, reading.pieces, nameOf, READ_ONLY)
      return digest!
    },
    async open(accountId, sha256, part) {
      if ((await sizeOf(accountId, sha256)) === undefined) return undefined
      return createReadStream(pathOf(accountId, sha256), part && { start: part.first, end: part.last })
    },
    remove: (accountId, sha256, writtenBefore = Number.POSITIVE_INFINITY) =>
      removeOlder(pathOf(accountId, sha256), arriving, writtenBefore),
    removeCutShort: (before) => removeCutShortLater(arriving, before),
    all: () => listFiles(directory),
  }
}

/** Returns the path of a file. Throws on an invalid account or digest. */
export function pathOfFile(directory: string, accountId: string, sha256: string): string {
  return join(shelfOf(directory, accountId, sha256), sha256)
}

/** The directory of a file. Throws on an invalid account or digest, since both become part of a path. */
function shelfOf(directory: string, accountId: string, sha256: string): string {
  if (!ACCOUNT.test(accountId) || !SHA256.test(sha256)) throw new Error(`no file of an account: ${accountId} ${sha256}`)
  return join(directory, accountId, sha256.slice(0, 2))
}

async function* listFiles(directory: string): ReturnType<FileStore['all']> {
  for await (const account of await opendir(directory)) {
    if (!account.isDirectory() || account.name === 'arriving') continue
    for await (const shelf of await opendir(join(directory, account.name))) {
      if (!shelf.isDirectory()) continue
      for await (const file of await opendir(join(directory, account.name, shelf.name))) {
        const stats = await stat(join(directory, account.name, shelf.name, file.name)).catch(ignoreMissing)
        if (stats === undefined) continue
        yield { accountId: account.name, sha256: file.name, size: stats.size, writtenAt: stats.mtimeMs }
      }
    }
  }
}

function ignoreMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error
}
