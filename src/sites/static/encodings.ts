/** Content codings of static files (RFC 9110 8.4.1 and 12.5.3). docs/deploying-sites.md: Static files. */

/** TABLE codings of stored files, preferred first. */
export const ENCODINGS = ['br', 'zstd'] as const
export type Encoding = (typeof ENCODINGS)[number]

export type EncodedForm = { encoding: Encoding; size: number }

/** Below this size the headers outweigh the savings. */
const SMALLEST = 1024
/** Above this size encoding takes too long. */
export const MAX_ENCODED = 16 * 1024 ** 2

/** TABLE compressible types, in addition to `text/*`, `*+json` and `*+xml`. Images, videos and archives are compressed already. */
const COMPRESSIBLE: ReadonlySet<string> = new Set([
  'application/javascript',
  'application/json',
  'application/vnd.ms-fontobject',
  'application/wasm',
  'application/xml',
  'font/otf',
  'font/ttf',
  'image/bmp',
  'image/vnd.microsoft.icon',
])

/** Returns whether a file of this type and size has encoded forms, so that the response varies by `Accept-Encoding`. */
export function canEncode(contentType: string, size: number): boolean {
  if (size < SMALLEST || size > MAX_ENCODED) return false
  const type = contentType.split(';', 1)[0]!.trim().toLowerCase()
  return type.startsWith('text/') || /\+(json|xml)$/.test(type) || COMPRESSIBLE.has(type)
}

/**
 * Returns the codings that a visitor prefers over the plain form or accepts equally, preferred first. Empty without the header:
 * RFC 9110 allows any then, but such clients often decode none. An invalid weight counts as 0.
 */
export function acceptedEncodings(header: string | undefined): Encoding[] {
  if (header === undefined) return []
  const weights = weightsOf(header)
  const others = weights.get('*')
  const plain = weights.get('identity') ?? others ?? 0
  const weightOf = (encoding: Encoding) => weights.get(encoding) ?? others ?? 0
  return ENCODINGS.filter((encoding) => weightOf(encoding) > 0 && weightOf(encoding) >= plain).sort(
    (a, b) => weightOf(b) - weightOf(a),
  )
}

function weightsOf(header: string): Map<string, number> {
  const weights = new Map<string, number>()
  for (const item of header.toLowerCase().split(',')) {
    const [coding = '', ...parameters] = item.split(';').map((part) => part.trim())
    if (coding !== '') weights.set(coding, weightOf(parameters))
  }
  return weights
}

function weightOf(parameters: readonly string[]): number {
  if (parameters.length === 0) return 1
  const weight = /^q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.exec(parameters[0]!)?.[1]
  return parameters.length === 1 && weight !== undefined ? Number(weight) : 0
}
