/** An S3 client for whole objects, in parts, with constant memory. docs/backup.md: Off-site backups. */
import { createHash } from 'node:crypto'
import { open } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { READERS } from '../../readers.ts'
import { readWithin } from '../fairness/read-within.ts'
import type { S3Settings } from '../settings/backups.ts'

export type Bucket = {
  /** Uploads a file. The object is complete or absent. */
  upload(key: string, file: string, stop: AbortSignal): Promise<void>
  /** Uploads a small text. */
  put(key: string, text: string, stop: AbortSignal): Promise<void>
  /** Reads an object of a known size in pieces. It ends early where the object is shorter (416). */
  read(key: string, bytes: number, stop: AbortSignal): AsyncGenerator<Buffer>
  /** Returns an object of at most 1 MiB, or undefined. */
  get(key: string, stop: AbortSignal): Promise<Buffer | undefined>
  /** Returns up to 100,000 keys with a prefix. */
  list(prefix: string, stop: AbortSignal): Promise<string[]>
  remove(key: string, stop: AbortSignal): Promise<void>
}

const MIB = 1024 * 1024
/** A part is in memory. An upload has at most 10,000 parts, so those of a very large file are larger. */
const PART = 8 * MIB
const MAX_PARTS = 9000
const MAX_SMALL = MIB
const MAX_PAGES = 100
const PAGE = READERS['page of a bucket']
/** The limit of one request with its response. */
const MAX_MS = 120_000
/** Delays of retries for temporary errors. */
const RETRIES_MS = [500, 2000, 8000]

type Ask = {
  method: 'GET' | 'PUT' | 'POST' | 'DELETE'
  key?: string
  query?: Record<string, string>
  headers?: Record<string, string>
  body?: Buffer
  /** The maximum response size in bytes. */
  max?: number
}
type Answer = { status: number; headers: Headers; body: Buffer }

/** The server refused, or its response is not S3. */
class BucketRefused extends Error {
  readonly code: string

  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}

/** Opens a bucket without a request. After three retries every call throws BucketRefused with advice. */
export async function openBucket(setting: S3Settings, bucket: string, retriesMs = RETRIES_MS): Promise<Bucket> {
  const { AwsClient } = await import('aws4fetch')
  const { region, accessKeyId, secretAccessKey } = setting
  const client = new AwsClient({ accessKeyId, secretAccessKey, region, service: 's3', retries: 0 })
  const ask = async (request: Ask, stop: AbortSignal): Promise<Answer> => {
    for (const waitMs of [...retriesMs, undefined]) {
      try {
        const answer = await askOnce(client, `${setting.endpoint}/${bucket}`, request, stop)
        if (answer.status < 300 || [404, 416].includes(answer.status)) return answer
        throw refusalOf(answer, setting, bucket)
      } catch (error) {
        if (stop.aborted) throw new Error('the service stops', { cause: error })
        const isLasting = error instanceof BucketRefused && !/^(5\d\d|429|408)/.test(error.code)
        if (isLasting) throw error
        if (waitMs === undefined)
          throw error instanceof BucketRefused
            ? error
            : new Error(`${setting.endpoint} does not answer: ${reasonOf(error)}; see BERTH_S3_ENDPOINT`, {
                cause: error,
              })
      }
      await sleep(waitMs, undefined, { signal: stop }).catch(() => {})
    }
    throw new Error('unreachable')
  }
  const needed = async (request: Ask, stop: AbortSignal) => {
    const answer = await ask(request, stop)
    if (answer.status === 404) throw refusalOf(answer, setting, bucket)
    return answer
  }
  return {
    put: async (key, text, stop) => void (await needed({ method: 'PUT', key, body: Buffer.from(text) }, stop)),
    upload: (key, file, stop) => uploadFile(needed, key, file, stop),
    read: (key, bytes, stop) => readPieces(needed, key, bytes, stop),
    async get(key, stop) {
      const { status, body } = await ask({ method: 'GET', key, max: MAX_SMALL }, stop)
      return status === 404 ? undefined : body
    },
    list: (prefix, stop) => listKeys(needed, prefix, stop),
    remove: async (key, stop) => void (await ask({ method: 'DELETE', key }, stop)),
  }
}

type Client = InstanceType<typeof import('aws4fetch').AwsClient>
type Asker = (request: Ask, stop: AbortSignal) => Promise<Answer>

async function askOnce(client: Client, root: string, request: Ask, stop: AbortSignal): Promise<Answer> {
  const { method, key = '', query = {}, headers = {}, body, max = MIB } = request
  const url = `${root}/${key}?${new URLSearchParams(query)}`.replace(/\?$/, '')
  const sha256 = createHash('sha256')
    .update(body ?? '')
    .digest('hex')
  const signed = await client.sign(url, {
    method,
    headers: { ...headers, 'x-amz-content-sha256': sha256 },
    ...(body && { body: new Uint8Array(body) }),
  })
  const signal = AbortSignal.any([stop, AbortSignal.timeout(MAX_MS)])
  const answer = await fetch(signed, { signal, redirect: 'manual' })
  const tooLong = () => new BucketRefused('TooLong', `the server answered with more than ${max} bytes`)
  return {
    status: answer.status,
    headers: answer.headers,
    body: await readWithin(answer.body ?? [], max, tooLong),
  }
}

async function uploadFile(ask: Asker, key: string, file: string, stop: AbortSignal): Promise<void> {
  const handle = await open(file, 'r')
  try {
    const { size } = await handle.stat()
    const partSize = Math.max(PART, Math.ceil(size / MAX_PARTS))
    const read = async (at: number) => {
      const part = Buffer.alloc(Math.min(partSize, size - at))
      const { bytesRead } = await handle.read(part, 0, part.length, at)
      if (bytesRead < part.length) throw new Error(`${file} became shorter while it was uploaded`)
      return part
    }
    if (size <= partSize) return void (await ask({ method: 'PUT', key, body: await read(0) }, stop))
    const uploadId = await beginUpload(ask, key, stop)
    try {
      const tags: string[] = []
      for (let at = 0; at < size; at += partSize) {
        const query = { partNumber: String(tags.length + 1), uploadId }
        const { headers } = await ask({ method: 'PUT', key, query, body: await read(at) }, stop)
        tags.push(headers.get('etag') ?? '')
      }
      await completeUpload(ask, key, uploadId, tags, stop)
    } catch (error) {
      // Unfinished parts cost storage and are invisible, so a failure here loses nothing.
      await ask({ method: 'DELETE', key, query: { uploadId } }, AbortSignal.timeout(MAX_MS)).catch(() => {})
      throw error
    }
  } finally {
    await handle.close()
  }
}

async function beginUpload(ask: Asker, key: string, stop: AbortSignal): Promise<string> {
  const { body } = await ask({ method: 'POST', key, query: { uploads: '' } }, stop)
  const uploadId = tagOf(body, 'UploadId')
  if (uploadId === undefined)
    throw new BucketRefused('NoUpload', 'the server began no upload in parts: does it speak S3?')
  return uploadId
}

/** A server may answer 200 with an error in the body. */
async function completeUpload(ask: Asker, key: string, uploadId: string, tags: string[], stop: AbortSignal) {
  const parts = tags.map((tag, at) => `<Part><PartNumber>${at + 1}</PartNumber><ETag>${escapeXml(tag)}</ETag></Part>`)
  const text = `<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`
  const { body } = await ask({ method: 'POST', key, query: { uploadId }, body: Buffer.from(text), max: 4 * MIB }, stop)
  if (tagOf(body, 'Code') !== undefined)
    throw new BucketRefused(tagOf(body, 'Code')!, `the server did not complete the upload: ${tagOf(body, 'Message')}`)
}

async function* readPieces(ask: Asker, key: string, bytes: number, stop: AbortSignal): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes; ) {
    const headers = { range: `bytes=${at}-${Math.min(at + PART, bytes) - 1}` }
    const { status, body } = await ask({ method: 'GET', key, headers, max: PART }, stop)
    if (status === 416 || body.length === 0) return
    yield body
    at += body.length
  }
}

async function listKeys(ask: Asker, prefix: string, stop: AbortSignal): Promise<string[]> {
  const keys: string[] = []
  let token: string | undefined
  for (let pages = 0; pages < MAX_PAGES; pages++) {
    const query = { 'list-type': '2', prefix, ...(token && { 'continuation-token': token }) }
    const page = readPage((await ask({ method: 'GET', query, max: PAGE.bytes }, stop)).body)
    keys.push(...page.keys)
    token = page.next
    if (token === undefined) break
  }
  return keys
}

/** Returns the keys of a list response and its continuation token. Throws BucketRefused for more keys than S3 returns at once (ListObjectsV2: 1,000). */
export function readPage(body: Buffer): { keys: string[]; next: string | undefined } {
  const keys: string[] = []
  for (const [, key] of body.toString().matchAll(/<Key>([^<]*)<\/Key>/g)) {
    if (keys.push(unescapeXml(key!)) > PAGE.parts)
      throw new BucketRefused('TooLong', `the server answered with more than ${PAGE.parts} keys at once`)
  }
  return { keys, next: tagOf(body, 'NextContinuationToken') }
}

/** TABLE Explanations of S3 error codes for operators. */
const MEANINGS: Record<string, string> = {
  SignatureDoesNotMatch: 'BERTH_S3_SECRET_ACCESS_KEY is not the secret of BERTH_S3_ACCESS_KEY_ID',
  InvalidAccessKeyId: 'it does not know the key BERTH_S3_ACCESS_KEY_ID',
  AccessDenied: 'the key may not do that in this bucket: allow it to list, read, write and delete objects',
  NoSuchBucket: 'there is no such bucket: make it first',
  AuthorizationHeaderMalformed: 'BERTH_S3_REGION is another one than that of the bucket',
  PermanentRedirect: 'the bucket is in another region: set BERTH_S3_REGION and BERTH_S3_ENDPOINT',
  RequestTimeTooSkewed: 'the clock of this machine is wrong: set it by NTP',
}

function refusalOf({ status, body }: Answer, { endpoint }: S3Settings, bucket: string): BucketRefused {
  const moved = status >= 300 && status < 400
  const code = tagOf(body, 'Code') ?? (moved ? 'PermanentRedirect' : String(status))
  const meaning = MEANINGS[code] ?? tagOf(body, 'Message') ?? 'it said no more'
  const word = status >= 500 || status === 429 || status === 408 ? `${status} ${code}` : code
  return new BucketRefused(word, `${endpoint} refused (${code}) for the bucket ${bucket}: ${meaning.slice(0, 300)}`)
}

function reasonOf(error: unknown): string {
  const { message, cause } = error as Error
  return cause instanceof Error ? cause.message || (cause as NodeJS.ErrnoException).code || message : message
}

function tagOf(body: Buffer, name: string): string | undefined {
  const text = new RegExp(`<${name}>([^<]*)</${name}>`).exec(body.toString())?.[1]
  return text === undefined ? undefined : unescapeXml(text)
}

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
}

function unescapeXml(text: string): string {
  const named: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }
  return text.replaceAll(/&(?:(amp|lt|gt|quot|apos)|#(\d+)|#x([0-9a-f]+));/gi, (written, name, decimal, hex) => {
    const code = Number(decimal ?? `0x${hex}`)
    return name ? named[name.toLowerCase()]! : code <= 0x10ffff ? String.fromCodePoint(code) : written
  })
}
