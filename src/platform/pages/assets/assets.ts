/** The files that pages of the console load: the stylesheet, Turbo, what closes menus and copies texts, what takes dropped files, what leads into the search, and what keeps a page as the store is. Each has the hash of its bytes in its path, so a browser keeps it for good. */
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
/** On the pages of the sign-in that lead to a provider with a form that is kept, and on the one that brings it back. */
export const SAVED_FORM_SCRIPT: Asset = scriptOf('keep', 'keep script')
export const LIVE_SCRIPT: Asset = scriptOf('live', 'live script')

/** The pages at which assets are found. Nothing in them is secret. */
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

/** A file with the hash of its bytes in its path. */
export function assetOf(name: string, ending: string, contentType: string, bytes: Buffer): Asset {
  const path = `/assets/${name}-${hash('sha256', bytes, 'hex').slice(0, 16)}.${ending}`
  return { path, contentType, bytes, zipped: gzipSync(bytes, { level: 9 }) }
}
