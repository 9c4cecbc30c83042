/** How tests upload files, and what of them is there. */
import { createHash } from 'node:crypto'
import { connect, type Socket } from 'node:net'
import type { Call, World } from '../../support/world.ts'

export const DAY_MS = 24 * 3_600_000

export function sha1Of(bytes: Buffer | string): string {
  return createHash('sha1').update(bytes).digest('hex')
}

/** Uploads as the CLI does, unless `headers` says it in another way. */
export function upload(call: Call, text: Buffer | string, headers: Record<string, string> = cliHeaders(text)) {
  const bytes = Buffer.from(text)
  return call.try('POST', '/v2/files', bytes, { 'content-type': 'application/octet-stream', ...headers })
}

export function cliHeaders(text: Buffer | string): Record<string, string> {
  return { 'x-now-digest': sha1Of(text), 'x-now-size': String(Buffer.byteLength(text)) }
}

/** The files on the disk, as `account/SHA-256`, and what the rows say of them. */
export async function thereIs({ deps }: World) {
  const files: string[] = []
  for await (const { accountId, sha256 } of deps.files.all()) files.push(`${accountId}/${sha256}`)
  const { read } = deps.db
  const blobs = await read.selectFrom('blob').selectAll().orderBy('id').execute()
  const uploads = await read.selectFrom('upload').selectAll().orderBy('sha1').execute()
  const usage = await read.selectFrom('file_usage').selectAll().orderBy('account_id').execute()
  return { files: files.sort(), blobs, uploads, used: usage.map(({ bytes }) => Number(bytes)) }
}

/** A connection on which an upload has begun: the head is sent, and what `write` is given. */
export function beginUpload(address: string, token: string, headers: readonly string[]) {
  const { hostname, port } = new URL(address)
  let heard = ''
  const socket: Socket = connect(Number(port), hostname)
  const { promise: answered, resolve } = Promise.withResolvers<string>()
  socket.on('data', (chunk) => {
    heard += chunk
    if (/\r\n\r\n./s.test(heard)) resolve(heard)
  })
  socket.on('error', () => {})
  socket.on('close', () => resolve(heard))
  const head = ['POST /v2/files HTTP/1.1', 'Host: x', `Authorization: Bearer ${token}`, ...headers]
  socket.write(`${head.join('\r\n')}\r\n\r\n`)
  return {
    socket,
    /** What was answered, once it has begun to come or the connection has ended. */
    answered,
    heard: () => heard,
  }
}
