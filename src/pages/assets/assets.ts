/** The files that pages of the console load: the stylesheet, Turbo, what takes dropped files, what leads into the search, and what keeps a page as the store is. Each has the hash of its bytes in its path, so a browser keeps it for good. */
import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import type { Probe } from '../../http/open-page.ts'
import { takesGzip } from '../compress.ts'
import { CONSOLE_STYLESHEET } from './console-stylesheet.ts'
import { STYLESHEET } from './stylesheet.ts'

export type Asset = { path: string; contentType: string; bytes: Buffer; zipped: Buffer }

const LIVE_SCRIPT = fileURLToPath(import.meta.resolve('./live-script.js'))
const TURBO = fileURLToPath(import.meta.resolve('@hotwired/turbo/dist/turbo.es2017-esm.js'))
const SEARCH_SCRIPT = fileURLToPath(import.meta.resolve('./search-script.js'))
const DROP_SCRIPT = fileURLToPath(import.meta.resolve('./drop-script.js'))

export const STYLE: Asset = assetOf('console', 'css', 'text/css', Buffer.from(STYLESHEET + CONSOLE_STYLESHEET))
export const SCRIPT: Asset = assetOf('turbo', 'js', 'text/javascript', readFileSync(TURBO))
export const DROP: Asset = assetOf('drop', 'js', 'text/javascript', readFileSync(DROP_SCRIPT))
export const SEARCH: Asset = assetOf('search', 'js', 'text/javascript', readFileSync(SEARCH_SCRIPT))
export const LIVE: Asset = assetOf('live', 'js', 'text/javascript', readFileSync(LIVE_SCRIPT))

/** The pages at which assets are found. Nothing in them is secret. */
export function assetPages(assets: readonly Asset[]): Probe[] {
  return assets.map(({ path, contentType, bytes, zipped }) => ({
    path,
    contentType: `${contentType}; charset=utf-8`,
    answer: (_, __, { acceptEncoding }) => {
      const zip = takesGzip(acceptEncoding)
      return {
        status: 200,
        body: zip ? zipped : bytes,
        headers: {
          'cache-control': 'public, max-age=31536000, immutable',
          vary: 'accept-encoding',
          ...(zip && { 'content-encoding': 'gzip' }),
        },
      }
    },
  }))
}

/** A file with the hash of its bytes in its path. */
export function assetOf(name: string, ending: string, contentType: string, bytes: Buffer): Asset {
  const path = `/assets/${name}-${hash('sha256', bytes, 'hex').slice(0, 16)}.${ending}`
  return { path, contentType, bytes, zipped: gzipSync(bytes, { level: 9 }) }
}
