/**
 * Files and routing manifests for sites servers: limited concurrency, fair between accounts, one chunk in memory each. docs/deploying-sites.md: Data
 * of the sites server.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'
import type { Deps } from '../../context.ts'
import type { Queries } from '../../platform/db/db.ts'
import { createSemaphore } from '../../platform/fairness/semaphore.ts'
import { plain } from '../../platform/verdict/plain-answer.ts'
import type { EdgeResponse } from '../../platform/verdict/visitor-answer.ts'
import { becomes } from '../../sites/static/send.ts'

/** Concurrent file responses. An account gets a part of them, and never more than it leaves free. */
const MAX_OF_ALL = 128
const MAX_OF_ONE = 32
/** Waiting file requests per account. */
const MAX_WAITING = 64
const TIMEOUT_MS = 10_000
/** A sites server that reads less than a chunk in this time is disconnected. */
const STALL_MS = 20_000

export type FileRules = {
  maxTotal?: number
  maxPerOwner?: number
  maxWaiting?: number
  timeoutMs?: number
  stallMs?: number
}

export type SiteFiles = {
  /** Handles GET and HEAD of paths that `isOfFiles` accepts. Undefined when the response was already sent. */
  answer(
    request: IncomingMessage,
    response: ServerResponse,
    path: string,
    query: URLSearchParams,
  ): Promise<EdgeResponse | undefined>
}

/** Whether a path is that of a file or a manifest. */
export function isOfFiles(path: string): boolean {
  return path.startsWith('/sites/v1/files/') || path.startsWith('/sites/v1/outputs/')
}

/** Opens the files for authenticated sites servers. */
export function openSiteFiles(
  { db, files, shutdownSignal }: Pick<Deps, 'db' | 'files' | 'shutdownSignal'>,
  rules: FileRules = {},
): SiteFiles {
  const { maxTotal = MAX_OF_ALL, maxPerOwner = MAX_OF_ONE, maxWaiting = MAX_WAITING } = rules
  const { timeoutMs = TIMEOUT_MS, stallMs = STALL_MS } = rules
  const turns = createSemaphore({
    slots: maxTotal,
    canAcquire: (_, inUse, free) => inUse < maxPerOwner && inUse < free,
  })

  return {
    async answer(request, response, path, query) {
      const question = readQuestion(path, query.get('account') ?? '')
      if (question === undefined) return plain(400, HOW_TO_ASK)
      const { isManifest, accountId, sha256 } = question
      if (!(await (isManifest ? hasManifest : hasFile)(db.read, accountId, sha256)))
        return plain(404, isManifest ? 'The account has no such output.' : 'The account has no such file.')
      const size = await files.sizeOf(accountId, sha256)
      if (size === undefined) return plain(404, NOT_THERE)
      const head = {
        'content-type': isManifest ? 'application/json' : 'application/octet-stream',
        'content-length': size,
        'cache-control': 'no-store',
        ...(shutdownSignal.aborted && { connection: 'close' }),
      }
      if (request.method === 'HEAD') {
        response.writeHead(200, head).end()
        return undefined
      }
      const gone = goneWith(response)
      if (turns.waiting(accountId) >= maxWaiting || !(await turns.acquire(accountId, timeoutMs, gone)))
        return gone.aborted ? undefined : plain(503, BUSY, { 'retry-after': '1' })
      try {
        const bytes = await files.open(accountId, sha256)
        if (bytes === undefined) return plain(404, NOT_THERE)
        await send(bytes, response.writeHead(200, head), size, stallMs)
        return undefined
      } finally {
        turns.release(accountId)
      }
    },
  }
}

const HOW_TO_ASK =
  'Request a file of an account by its SHA-256: /sites/v1/files/<64 hexadecimal digits>?account=<id>, or /sites/v1/outputs/ for a routing manifest.'
const NOT_THERE = 'The file is not in the directory of BERTH_FILES_TO. Check that it is correct and mounted.'
const BUSY = 'Too many file requests. Try again.'

function readQuestion(path: string, accountId: string) {
  const [, kind, sha256] = /^\/sites\/v1\/(files|outputs)\/([0-9a-f]{64})$/.exec(path) ?? []
  if (sha256 === undefined || !/^[\w-]{1,64}$/.test(accountId)) return undefined
  return { isManifest: kind === 'outputs', accountId, sha256 }
}

/** A file marked for removal counts as missing: after a restore its bytes may not exist. */
async function hasFile(db: Queries, accountId: string, sha256: string): Promise<boolean> {
  return (await blobOf(db, accountId, sha256).executeTakeFirst()) !== undefined
}

async function hasManifest(db: Queries, accountId: string, sha256: string): Promise<boolean> {
  const manifest = blobOf(db, accountId, sha256).innerJoin('output', 'output.manifest_id', 'blob.id')
  return (await manifest.limit(1).executeTakeFirst()) !== undefined
}

function blobOf(db: Queries, accountId: string, sha256: string) {
  return db
    .selectFrom('blob')
    .select('blob.id')
    .where('blob.account_id', '=', accountId)
    .where('blob.sha256', '=', sha256)
    .where('condemned_at', 'is', null)
}

/** Aborts when the client disconnects. */
function goneWith(response: ServerResponse): AbortSignal {
  const leaving = new AbortController()
  response.once('close', () => leaving.abort())
  if (response.destroyed) leaving.abort()
  return leaving.signal
}

/** On a read error, closes the connection, because the content length was sent, and rethrows. */
async function send(bytes: Readable, response: ServerResponse, size: number, stallMs: number): Promise<void> {
  // A disconnect is not an error: `close` follows.
  response.on('error', () => {})
  response.once('close', () => bytes.destroy())
  let sent = 0
  try {
    for await (const piece of bytes) {
      if (response.destroyed) return
      sent += piece.length
      if (!response.write(piece)) await becomes(response, 'drain', stallMs)
    }
    if (response.destroyed) return
    if (sent !== size) throw new Error(`a file of ${size} bytes had ${sent} when it was read`)
    response.end()
    await becomes(response, 'finish', stallMs)
  } catch (error) {
    if (response.destroyed) return
    response.destroy()
    throw error
  } finally {
    bytes.destroy()
  }
}
