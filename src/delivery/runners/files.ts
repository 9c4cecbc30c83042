/** Files of a build: the files of its source, which a runner reads, and of its output, which it sends. docs/building.md: Runner protocol. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Duplex, Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Account, Deps } from '../../context.ts'
import { isOneOf } from '../../platform/db/bulk.ts'
import type { Row } from '../../platform/db/schema.ts'
import { atLeastSpeed } from '../../platform/fairness/file-turns.ts'
import { createSemaphore } from '../../platform/fairness/semaphore.ts'
import { Refusal } from '../../platform/refusals/refusal.ts'
import { closing, json } from '../../platform/verdict/plain-answer.ts'
import type { EdgeResponse } from '../../platform/verdict/visitor-answer.ts'
import { findLease, type Holder } from '../builds/queue.ts'
import { BadFile } from '../files/file-store.ts'
import { FileNames } from '../protocol/runner-protocol.ts'
import { nameStrays, refusalOfDisk, slicesOf } from '../uploads/blobs.ts'
import { MAX_FILE_BYTES } from '../uploads/upload.ts'
import { roomLeft } from '../uploads/usage.ts'
import { fault, leaseLost, readJson } from './answers.ts'

/** Files sent and taken at once. Others wait for their turn. */
const AT_ONCE = 64
const TIMEOUT_MS = 60_000
/** A runner that reads less than a chunk in this time is disconnected. */
const STALL_MS = 20_000

/** Connections on which a file arrives or waits for its turn. */
const receiving = new WeakSet<Duplex>()

/** Returns whether a connection error is only the request timeout of a file, which has a least speed instead. */
export function isTimeoutOfFile({ code }: Error & { code?: string }, socket: Duplex): boolean {
  return code === 'ERR_HTTP_REQUEST_TIMEOUT' && receiving.has(socket)
}

export type RunnerFiles = {
  /** Undefined when the response was already sent. */
  list(holder: Holder, response: ServerResponse): Promise<EdgeResponse | undefined>
  read(holder: Holder, sha256: string, response: ServerResponse): Promise<EdgeResponse | undefined>
  missing(holder: Holder, request: IncomingMessage): Promise<EdgeResponse>
  put(holder: Holder, sha256: string, request: IncomingMessage): Promise<EdgeResponse>
}

/** Opens the files for runners with a lease. Each belongs to the account of the build. */
export function openRunnerFiles(deps: Deps): RunnerFiles {
  const turns = createSemaphore({ slots: AT_ONCE, canAcquire: (_, inUse, free) => inUse < AT_ONCE / 2 && inUse < free })
  const inTurn = async <T>(owner: string, work: () => Promise<T>): Promise<T | EdgeResponse> => {
    if (!(await turns.acquire(owner, TIMEOUT_MS))) return fault(503, 'busy', 'Too many files at once. Try again.')
    try {
      return await work()
    } finally {
      turns.release(owner)
    }
  }
  const sendSource = async (holder: Holder, sha256: string | undefined, response: ServerResponse) => {
    const build = await findLease(deps.db.read, holder)
    if (build === undefined) return leaseLost()
    const file = await sourceFile(deps, build, sha256)
    if (file === undefined) return fault(404, 'not_found', 'The source of this build has no such file.')
    return inTurn(build.account_id, async () => {
      const bytes = await deps.files.open(file.accountId, file.sha256)
      if (bytes === undefined) throw new Error(`the file ${file.sha256} of ${file.accountId} is not there`)
      await send(bytes, response, file.size, sha256 === undefined ? 'application/json' : 'application/octet-stream')
      return undefined
    })
  }
  return {
    list: (holder, response) => sendSource(holder, undefined, response),
    read: (holder, sha256, response) => sendSource(holder, sha256, response),
    missing: (holder, request) => answerMissing(deps, holder, request),
    async put(holder, sha256, request) {
      receiving.add(request.socket)
      try {
        const build = await findLease(deps.db.read, holder)
        if (build === undefined) return leaseLost()
        return await inTurn(build.account_id, () => storeFile(deps, build, sha256, request))
      } finally {
        receiving.delete(request.socket)
      }
    },
  }
}

/** A file of the source of this build; without `sha256` its list. */
async function sourceFile({ db }: Deps, build: Row<'build'>, sha256: string | undefined) {
  const source = db.read
    .selectFrom('deployment')
    .innerJoin('output', 'output.id', 'deployment.source_id')
    .where('deployment.id', '=', build.deployment_id)
  const columns = ['blob.account_id', 'blob.sha256', 'blob.size'] as const
  const row =
    sha256 === undefined
      ? await source.innerJoin('blob', 'blob.id', 'output.manifest_id').select(columns).executeTakeFirst()
      : await source
          .innerJoin('output_blob', 'output_blob.output_id', 'output.id')
          .innerJoin('blob', 'blob.id', 'output_blob.blob_id')
          .select(columns)
          .where('blob.sha256', '=', sha256)
          .executeTakeFirst()
  return row && { accountId: row.account_id, sha256: row.sha256, size: Number(row.size) }
}

/** On a read error, closes the connection, because the content length was sent, and rethrows. */
async function send(bytes: Readable, response: ServerResponse, size: number, contentType: string): Promise<void> {
  response.writeHead(200, { 'content-type': contentType, 'content-length': size, 'cache-control': 'no-store' })
  response.setTimeout(STALL_MS, () => response.destroy())
  try {
    await pipeline(bytes, response)
  } catch (error) {
    // The runner disconnected.
    if (!response.destroyed) throw error
  }
}

/** Files that the account lacks; those that another build left over count as missing. */
async function answerMissing(deps: Deps, holder: Holder, request: IncomingMessage): Promise<EdgeResponse> {
  const body = await readJson(request, FileNames, 'short')
  if ('answer' in body) return body.answer
  const build = await findLease(deps.db.read, holder)
  if (build === undefined) return leaseLost()
  const there = new Set<string>()
  for (const slice of slicesOf(body.value.sha256)) {
    const rows = await deps.db.read
      .selectFrom('blob')
      .select('sha256')
      .where('account_id', '=', build.account_id)
      .where('condemned_at', 'is', null)
      .where(isOneOf(deps.db.read, 'sha256', slice))
      .execute()
    for (const { sha256 } of rows) there.add(sha256)
  }
  return json(200, { sha256: body.value.sha256.filter((name) => !there.has(name)) })
}

async function storeFile(
  deps: Deps,
  build: Row<'build'>,
  sha256: string,
  request: IncomingMessage,
): Promise<EdgeResponse> {
  const account = { id: build.account_id } as Account
  const max = Math.min(MAX_FILE_BYTES, await roomLeft({ db: deps.db.read, deps }, account.id))
  try {
    const announced = { sha1: undefined, size: undefined, max: max }
    const pieces = atLeastSpeed(request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>)
    const digest = await deps.files.put(account.id, pieces, announced)
    await nameStrays({ deps, account, now: deps.clock.now() }, [digest])
    if (digest.sha256 === sha256) return json(200, {})
    return fault(400, 'bad_request', `The file has the SHA-256 ${digest.sha256}, and the path names another one.`)
  } catch (error) {
    return closing(faultOf(refusalOfDisk(error), max))
  }
}

function faultOf(error: unknown, max: number): EdgeResponse {
  if (error instanceof Refusal) return fault(error.status, error.key, error.message)
  if (error instanceof BadFile && error.why === 'too_large')
    return max < MAX_FILE_BYTES
      ? fault(
          409,
          'budget_used_up',
          'The account has no room for this file. Remove deployments first (docs/limits.md).',
        )
      : fault(413, 'payload_too_large', `A file of an output has at most ${MAX_FILE_BYTES} bytes.`)
  throw error
}
