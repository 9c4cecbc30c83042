/** Assets of console pages. Each has a hash of its bytes in its path, so browsers cache it without expiry. */
import { hash } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { type ShippedFile, shippedFile } from '../../base/shipped-files.ts'
import type { Probe } from '../../http/public-page.ts'
import { acceptsGzip } from '../compress.ts'
import { CONSOLE_STYLESHEET } from './console-stylesheet.ts'
import { STYLESHEET } from './stylesheet.ts'

export type Asset = { path: string; contentType: string; bytes: Buffer; zipped: Buffer }

export const STYLE: Asset = assetOf('console', 'css', 'text/css', Buffer.from(STYLESHEET + CONSOLE_STYLESHEET))
export const SCRIPT: Asset = scriptOf('turbo', 'turbo')
export const CONTROLS: Asset = scriptOf('controls', 'controls script')
export const DROP_SCRIPT: Asset = scriptOf('drop', 'drop script')
export const SEARCH: Asset = scriptOf('search', 'search script')
/** For sign-in pages that redirect to a provider with a saved form, and for the page that restores the form. */
export const SAVED_FORM_SCRIPT: Asset = scriptOf('keep', 'keep script')
export const LIVE_SCRIPT: Asset = scriptOf('live', 'live script')

/** Returns the routes of the assets. They contain no secrets. */
export function assetPages(assets: readonly Asset[]): Probe[] {
  return assets.map(({ path, contentType, bytes, zipped }) => ({
    path,
    contentType: `${contentType}; charset=utf-8`,
    answer: (_, __, { acceptEncoding }) => {
      const zip = acceptsGzip(acceptEncoding)
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

function scriptOf(name: string, file: ShippedFile): Asset {
  return assetOf(name, 'js', 'text/javascript', Buffer.from(shippedFile(file)))
}

/** Creates an asset with the hash of its bytes in its path. */
export function assetOf(name: string, ending: string, contentType: string, bytes: Buffer): Asset {
  const path = `/assets/${name}-${hash('sha256', bytes, 'hex').slice(0, 16)}.${ending}`
  return { path, contentType, bytes, zipped: gzipSync(bytes, { level: 9 }) }
}
