/**
 * Servers that speak the S3 protocol, on loopback. `independentServer` is `s3rver`, of another project, which accepts a wrong secret.
 * `strictServer` is ours: it checks signatures as AWS says (Signature Version 4), keeps objects in memory, and fails on demand.
 */
import { createHash, createHmac } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import S3rver from 's3rver'
import type { Cleanup } from '../process.ts'

export const BUCKET = 'berth-backups'

/** Settings for Berth to reach a server. `s3rver` knows these keys. */
export function bucketSettings(endpoint: string, prefix = 'nightly'): Record<string, string> {
  return {
    BERTH_BACKUP_TO: `s3://${BUCKET}/${prefix}`,
    BERTH_S3_ENDPOINT: endpoint,
    BERTH_S3_ACCESS_KEY_ID: 'S3RVER',
    BERTH_S3_SECRET_ACCESS_KEY: 'S3RVER',
  }
}

/** Returns its address, and the directory of its objects. It is closed with the test. */
export async function independentServer(t: Cleanup): Promise<{ endpoint: string; folder: string }> {
  const folder = mkdtempSync(join(tmpdir(), 'berth-s3-'))
  const options = { address: '127.0.0.1', port: 0, silent: true, directory: folder }
  const server = new S3rver({ ...options, configureBuckets: [{ name: BUCKET }] })
  const { port } = await server.run()
  t.after(() => void server.close().finally(() => rmSync(folder, { recursive: true, force: true })))
  return { endpoint: `http://127.0.0.1:${port}`, folder: join(folder, BUCKET) }
}

type Asked = { method: string; key: string; query: URLSearchParams; body: Buffer }
type Fault = (asked: Asked, response: ServerResponse) => boolean
export type StrictServer = {
  endpoint: string
  objects: Map<string, Buffer>
  /** Multipart uploads that are neither completed nor aborted. */
  uploads: Map<string, Buffer[]>
  asked: Asked[]
  /** Returns true after it wrote its own response. */
  fault: Fault
}

/** Knows one key, `S3RVER` with the secret `S3RVER`, one region, `us-east-1`, and one bucket. `path`: below which it is, as some are. */
export async function strictServer(t: Cleanup, path = ''): Promise<StrictServer> {
  const state: StrictServer = {
    endpoint: '',
    objects: new Map(),
    uploads: new Map(),
    asked: [],
    fault: () => false,
  }
  const server = createServer((request, response) => {
    answer(state, request, response, path).catch(() => request.socket.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  state.endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`
  return state
}

async function answer(
  state: StrictServer,
  request: IncomingMessage,
  response: ServerResponse,
  path: string,
): Promise<void> {
  const body = Buffer.concat(await Array.fromAsync(request))
  const url = new URL(request.url!, 'http://localhost')
  if (!url.pathname.startsWith(`${path}/`)) return refuse(response, [404, 'NotFound', 'nothing is here'])
  const [bucket = '', ...parts] = url.pathname.slice(path.length + 1).split('/')
  const asked = { method: request.method!, key: parts.join('/'), query: url.searchParams, body }
  state.asked.push(asked)
  const refusal = wrongSignature(request, url, body)
  if (refusal !== undefined) {
    refuse(response, refusal)
    return
  }
  if (bucket !== BUCKET) return refuse(response, [404, 'NoSuchBucket', 'no such bucket'])
  if (!state.fault(asked, response)) serveObject(state, asked, request, response)
}

type Refusal = readonly [status: number, code: string, message: string]

export function refuse(response: ServerResponse, [status, code, message]: Refusal): void {
  const text = `<?xml version="1.0"?><Error><Code>${code}</Code><Message>${message}</Message></Error>`
  response.writeHead(status, { 'content-type': 'application/xml' }).end(text)
}

function wrongSignature({ method, headers }: IncomingMessage, url: URL, body: Buffer): Refusal | undefined {
  const said =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, SignedHeaders=([^,]+), Signature=(\w+)$/
  const [, id, day, region, names, signature] = said.exec(headers.authorization ?? '') ?? []
  if (id !== 'S3RVER') return [403, 'InvalidAccessKeyId', 'unknown key']
  if (region !== 'us-east-1') return [400, 'AuthorizationHeaderMalformed', 'expecting us-east-1']
  const sha256 = createHash('sha256').update(body).digest('hex')
  if (headers['x-amz-content-sha256'] !== sha256) return [400, 'XAmzContentSHA256Mismatch', 'the body is another one']
  const encode = (text: string) =>
    encodeURIComponent(text).replaceAll(/[!'()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`)
  const query = [...url.searchParams].map(([name, value]) => `${encode(name)}=${encode(value)}`).sort()
  const signed = names!.split(';')
  if (!signed.includes('host') || !signed.includes('x-amz-date')) return [403, 'AccessDenied', 'not signed']
  const lines = signed.map((name) => `${name}:${headers[name]}\n`).join('')
  const canonical = [method, url.pathname, query.join('&'), lines, names, sha256].join('\n')
  const hash = createHash('sha256').update(canonical).digest('hex')
  const scope = `${day}/${region}/s3/aws4_request`
  const hmac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text).digest()
  const key = [day!, region, 's3', 'aws4_request'].reduce<string | Buffer>(hmac, 'AWS4S3RVER')
  const expected = hmac(key, ['AWS4-HMAC-SHA256', headers['x-amz-date'], scope, hash].join('\n')).toString('hex')
  return signature === expected ? undefined : [403, 'SignatureDoesNotMatch', 'another signature']
}

function serveObject(state: StrictServer, asked: Asked, { headers }: IncomingMessage, response: ServerResponse): void {
  const { objects, uploads } = state
  const { method, key, query, body } = asked
  const uploadId = query.get('uploadId')
  if (query.get('list-type') === '2') {
    list(objects, query, response)
    return
  }
  if (query.has('uploads')) {
    uploads.set(`up-${key}`, [])
    return void response.end(`<R><UploadId>up-${key}</UploadId></R>`)
  }
  if (uploadId !== null) {
    const upload = uploads.get(uploadId)
    if (upload === undefined) {
      refuse(response, [404, 'NoSuchUpload', 'no such upload'])
      return
    }
    if (method === 'PUT') upload[Number(query.get('partNumber')) - 1] = body
    if (method !== 'PUT') uploads.delete(uploadId)
    if (method === 'POST') objects.set(key, Buffer.concat(upload))
    return void response.writeHead(method === 'DELETE' ? 204 : 200, { etag: '"part"' }).end()
  }
  if (method === 'PUT') objects.set(key, body)
  if (method === 'DELETE') objects.delete(key)
  const object = objects.get(key)
  if (method !== 'GET') return void response.writeHead(method === 'DELETE' ? 204 : 200).end()
  if (object === undefined) {
    refuse(response, [404, 'NoSuchKey', 'no such key'])
    return
  }
  const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(headers.range ?? '') ?? []
  if (from === undefined) response.end(object)
  else if (Number(from) >= object.length) refuse(response, [416, 'InvalidRange', 'the range begins after the end'])
  else response.writeHead(206).end(object.subarray(Number(from), Number(to) + 1))
}

/** Two keys a page. */
function list(objects: Map<string, Buffer>, query: URLSearchParams, response: ServerResponse): void {
  const keys = [...objects.keys()].filter((key) => key.startsWith(query.get('prefix') ?? '')).sort()
  const from = Number(query.get('continuation-token') ?? 0)
  const rows = keys.slice(from, from + 2).map((key) => `<Contents><Key>${key}</Key></Contents>`)
  const next = from + 2 < keys.length ? `<NextContinuationToken>${from + 2}</NextContinuationToken>` : ''
  response.end(`<ListBucketResult>${rows.join('')}${next}</ListBucketResult>`)
}
