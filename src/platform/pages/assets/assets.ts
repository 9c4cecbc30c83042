/** Assets of pages. Each has a hash of its bytes in its path, so browsers cache it without expiry. */
import { hash } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { type ShippedFile, type ShippedFont, shippedFile, shippedFont } from '../../base/shipped-files.ts'
import type { Probe } from '../../http/public-page.ts'
import { acceptsGzip } from '../compress.ts'

/** `zipped`: undefined for bytes that are compressed already. */
export type Asset = { path: string; contentType: string; bytes: Buffer; zipped: Buffer | undefined }

/** The font of the first paint, which each page preloads. */
export const SANS_FONT: Asset = fontOf('hanken-grotesk')
const MONO_FONT: Asset = fontOf('geist-mono')
export const MARK: Asset = assetOf('mark', 'svg', 'image/svg+xml', Buffer.from(shippedFile('mark')))
export const STYLE: Asset = assetOf('face', 'css', 'text/css', Buffer.from(styleText()))
/** For the home screen of a phone. Web Application Manifest, W3C. */
export const MANIFEST: Asset = assetOf('berth', 'webmanifest', 'application/manifest+json', Buffer.from(manifestText()))
export const SCRIPT: Asset = scriptOf('turbo', 'turbo')
export const CONTROLS: Asset = scriptOf('controls', 'controls script')
export const DROP_SCRIPT: Asset = scriptOf('drop', 'drop script')
export const LOG_SCRIPT: Asset = scriptOf('log', 'log script')
/** Keys for the sections, and the list of all keys. */
export const KEYS_SCRIPT: Asset = scriptOf('keys', 'keys script')
export const SEARCH: Asset = scriptOf('search', 'search script')
/** For sign-in pages that redirect to a provider with a saved form, and for the page that restores the form. */
export const SAVED_FORM_SCRIPT: Asset = scriptOf('keep', 'keep script')
export const LIVE_SCRIPT: Asset = scriptOf('live', 'live script')

/** What every page loads, also without a script. */
export const FACE_ASSETS: readonly Asset[] = [STYLE, SANS_FONT, MONO_FONT, MARK, MANIFEST]

/** Returns the routes of the assets. They contain no secrets. */
export function assetPages(assets: readonly Asset[]): Probe[] {
  return assets.map(({ path, contentType, bytes, zipped }) => ({
    path,
    contentType,
    answer: (_, __, { acceptEncoding }) => {
      const zip = zipped !== undefined && acceptsGzip(acceptEncoding)
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

/** The stylesheet, with the paths of this build's fonts. */
function styleText(): string {
  const fonts = { 'hanken-grotesk.woff2': SANS_FONT, 'geist-mono.woff2': MONO_FONT }
  return Object.entries(fonts).reduce(
    (text, [file, { path }]) => text.replace(`url(${file})`, `url(${path})`),
    shippedFile('stylesheet'),
  )
}

function manifestText(): string {
  return JSON.stringify({
    name: 'Berth',
    short_name: 'Berth',
    start_url: '/console',
    scope: '/',
    display: 'standalone',
    background_color: '#f6f8f9',
    theme_color: '#f6f8f9',
    icons: [{ src: MARK.path, sizes: 'any', type: 'image/svg+xml' }],
  })
}

function scriptOf(name: string, file: ShippedFile): Asset {
  return assetOf(name, 'js', 'text/javascript', Buffer.from(shippedFile(file)))
}

function fontOf(name: ShippedFont): Asset {
  const bytes = shippedFont(name)
  return { path: pathOf(name, 'woff2', bytes), contentType: 'font/woff2', bytes, zipped: undefined }
}

/** Creates an asset of text with the hash of its bytes in its path. */
export function assetOf(name: string, ending: string, contentType: string, bytes: Buffer): Asset {
  const zipped = gzipSync(bytes, { level: 9 })
  return { path: pathOf(name, ending, bytes), contentType: `${contentType}; charset=utf-8`, bytes, zipped }
}

function pathOf(name: string, ending: string, bytes: Buffer): string {
  return `/assets/${name}-${hash('sha256', bytes, 'hex').slice(0, 16)}.${ending}`
}
