/** Fetches files of accounts from the control plane over HTTP. docs/deploying-sites.md: File cache. */
import { Pool } from 'undici'
import type { ContentFile, FetchContent } from '../content/content-cache.ts'

/** The control plane does not have the file: its deployment was deleted, or its disk lost it. */
export class FileMissing extends Error {}

export type FileSource = { fetch: FetchContent; close(): Promise<void> }

/** Equal to the concurrent fetches of the cache. */
const CONNECTIONS = 64
const CONNECT_MS = 3000
/** The control plane reads few files at once, so requests may wait there. */
const ANSWER_MS = 25_000
const STALL_MS = 20_000
const MAX_OF_SENTENCE = 200

/** Opens a client of the control plane at `origin`, with BERTH_SITES_TOKEN. `fetch` throws FileMissing, or Error if the file is unavailable. */
export function openFileSource(origin: string, token: string): FileSource {
  const pool = new Pool(origin, {
    connections: CONNECTIONS,
    pipelining: 1,
    connect: { timeout: CONNECT_MS },
    keepAliveTimeout: 60_000,
  })
  return {
    async fetch(account, { sha256 }: ContentFile, signal) {
      const { statusCode, body } = await pool.request({
        method: 'GET',
        path: `/sites/v1/files/${sha256}?account=${encodeURIComponent(account)}`,
        headers: { authorization: `Bearer ${token}` },
        headersTimeout: ANSWER_MS,
        bodyTimeout: STALL_MS,
        signal,
      })
      if (statusCode === 200) return body
      const start = await startOf(body)
      if (statusCode === 404) throw new FileMissing(`the control plane has no such file: ${start}`)
      throw new Error(`the control plane answered ${statusCode}: ${start}`)
    },
    close: () => pool.destroy(),
  }
}

async function startOf(body: AsyncIterable<Buffer>): Promise<string> {
  for await (const piece of body) return piece.subarray(0, MAX_OF_SENTENCE).toString().trim()
  return ''
}
