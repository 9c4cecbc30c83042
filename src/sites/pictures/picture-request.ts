/** What a request for a picture asks for, and whether the deployment allows it. docs/pictures.md: Requests. */
import type { Images } from '../../delivery/protocol/routing-manifest.ts'
import { type Matcher, matcherOf } from '../router/pattern.ts'

/** `local`: a path of the same deployment, percent-encoded. */
export type PictureSource = { kind: 'local'; path: string; search: string } | { kind: 'remote'; url: string }

/** `formats`: what browsers may get in the place of the format of the source. `minSeconds`: the shortest time that a picture is kept. */
export type PictureRequest = {
  source: PictureSource
  width: number
  quality: number
  formats: string[]
  minSeconds: number
  allowsSvg: boolean
  policy: string
  disposition: string
}

/** `refusal`: a sentence for the visitor. */
export type AskedPicture = PictureRequest | { refusal: string }

type ReadyPattern = { pathname?: Matcher; search?: string }
type RemotePattern = ReadyPattern & { protocol?: string; hostname: Matcher; port?: string }

export type ReadyImages = {
  images: Images
  local: ReadyPattern[] | undefined
  remote: RemotePattern[]
}

const MAX_URL = 3072
const MAX_DIGITS = 6
const DEFAULT_SECONDS = 60
const DEFAULT_POLICY = "script-src 'none'; frame-src 'none'; sandbox;"
/** A host that no URL has. */
const HERE = 'here.invalid'

/** TABLE paths of pictures, as a request has them. */
export const IMAGE_PATHS: ReadonlySet<string> = new Set(['/_next/image', '/_vercel/image'])

/** Prepares the settings of a deployment. */
export function readyImages(images: Images): ReadyImages {
  return {
    images,
    local: images.localPatterns?.map(readyPattern),
    remote: (images.remotePatterns ?? []).map(({ protocol, hostname, port, ...rest }) => ({
      ...readyPattern(rest),
      hostname: matcherOf(hostname, true),
      ...(protocol !== undefined && { protocol }),
      ...(port !== undefined && { port }),
    })),
  }
}

function readyPattern({ pathname, search }: { pathname?: string; search?: string }): ReadyPattern {
  return {
    ...(pathname !== undefined && { pathname: matcherOf(pathname, true) }),
    ...(search !== undefined && { search }),
  }
}

/** Reads a query. Pure. It runs patterns of tenants, so only routing workers call it. The sentences are those of the platform's own clients. */
export function pictureOf(ready: ReadyImages, search: string): AskedPicture {
  const query = new URLSearchParams(search)
  const source = sourceOf(ready, query.getAll('url'))
  if (typeof source === 'string') return { refusal: `"url" parameter ${source}` }
  const { images } = ready
  const width = numberOf(query.getAll('w'), images.sizes, Number.MAX_SAFE_INTEGER)
  if (typeof width === 'string') return { refusal: `"w" parameter (width) ${width}` }
  const quality = numberOf(query.getAll('q'), images.qualities, 100)
  if (typeof quality === 'string') return { refusal: `"q" parameter (quality) ${quality}` }
  return {
    source,
    width,
    quality,
    formats: images.formats ?? [],
    minSeconds: images.minimumCacheTTL ?? DEFAULT_SECONDS,
    allowsSvg: images.dangerouslyAllowSVG === true,
    policy: images.contentSecurityPolicy ?? DEFAULT_POLICY,
    disposition: images.contentDispositionType ?? 'inline',
  }
}

/** Returns a whole number from 1 on, or the end of a sentence about it. */
function numberOf(values: string[], allowed: readonly number[] | undefined, max: number): number | string {
  const [text = ''] = values
  if (text === '') return 'is required'
  if (values.length > 1) return 'cannot be an array'
  const number = /^[1-9]\d*$/.test(text) && text.length <= MAX_DIGITS ? Number(text) : 0
  if (number === 0 || number > max) return `must be an integer ${max === 100 ? 'between 1 and 100' : 'greater than 0'}`
  return allowed === undefined || allowed.includes(number) ? number : `of ${number} is not allowed`
}

/** Returns the source, or the end of a sentence about the parameter. */
function sourceOf(ready: ReadyImages, values: string[]): PictureSource | string {
  const [text = ''] = values
  if (text === '') return 'is required'
  if (values.length > 1) return 'cannot be an array'
  if (text.length > MAX_URL) return 'is too long'
  return text.startsWith('/') ? localOf(ready, text) : remoteOf(ready, text)
}

function localOf({ local }: ReadyImages, text: string): PictureSource | string {
  const url = URL.parse(text, `http://${HERE}`)
  if (url === null) return 'is invalid'
  // Browsers and this parser read a backslash as a slash.
  if (url.host !== HERE) return 'cannot be a protocol-relative URL (//)'
  const { pathname, search } = url
  if (isPicturePath(pathname)) return 'cannot be recursive'
  if (local !== undefined && !local.some((pattern) => matches(pattern, url))) return 'is not allowed'
  return { kind: 'local', path: pathname, search }
}

/** Whatever base path it lies below. */
function isPicturePath(pathname: string): boolean {
  let path = pathname
  try {
    path = decodeURIComponent(pathname)
  } catch {
    // No escape is left in it that hides a letter from the router.
  }
  return /\/_(?:next|vercel)\/image\/*$/.test(path)
}

function remoteOf({ images, remote }: ReadyImages, text: string): PictureSource | string {
  const url = URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '') return 'is invalid'
  url.hash = ''
  const isAllowed = images.domains.includes(url.hostname) || remote.some((pattern) => matchesRemote(pattern, url))
  return isAllowed ? { kind: 'remote', url: url.href } : 'is not allowed'
}

function matchesRemote(pattern: RemotePattern, url: URL): boolean {
  const { protocol, hostname, port } = pattern
  if (protocol !== undefined && `${protocol}:` !== url.protocol) return false
  if (port !== undefined && port !== url.port) return false
  return hostname.exec(url.hostname) !== null && matches(pattern, url)
}

function matches({ pathname, search }: ReadyPattern, url: URL): boolean {
  if (search !== undefined && search !== url.search) return false
  return pathname === undefined || pathname.exec(url.pathname) !== null
}

/** Returns the format that the browser names in `Accept` and the deployment offers: the one with the largest weight, else the first. Wildcards count as none. Pure. */
export function formatFor(accept: string | undefined, formats: readonly string[]): string | undefined {
  const weights = new Map<string, number>()
  for (const item of (accept ?? '').toLowerCase().split(',')) {
    const [type = '', ...parameters] = item.split(';').map((part) => part.trim())
    const weight = parameters.find((parameter) => parameter.startsWith('q='))
    weights.set(type, weight === undefined ? 1 : Number(weight.slice(2)) || 0)
  }
  const weightOf = (format: string) => weights.get(format) ?? 0
  const [best] = formats.filter((format) => weightOf(format) > 0).sort((a, b) => weightOf(b) - weightOf(a))
  return best
}
