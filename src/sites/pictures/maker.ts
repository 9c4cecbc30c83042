/**
 * Makes one picture, in a sandbox of its own: reads a file, and writes to standard output a line of JSON and behind it the bytes. Nothing of the sites
 * server is here. docs/pictures.md: Sandbox.
 */
import { readFileSync, writeSync } from 'node:fs'
import { createRequire } from 'node:module'

/** `tools`: a directory with `node_modules`. `format`: undefined for that of the source. */
type Order = {
  tools: string
  source: string
  width: number
  quality: number
  format?: string
  mostPixels: number
}

type Metadata = { width?: number; height?: number; pages?: number; format?: string }
type Pipeline = {
  metadata(): Promise<Metadata>
  rotate(): Pipeline
  resize(size: { width: number; withoutEnlargement: boolean }): Pipeline
  toFormat(format: string, options: object): Pipeline
  toBuffer(): Promise<Buffer>
}
type Sharp = ((bytes: Buffer, options: object) => Pipeline) & {
  cache(on: boolean): void
  concurrency(threads: number): void
  block(what: { operation: string[] }): void
  unblock(what: { operation: string[] }): void
}

/** TABLE readers of libvips that are used. */
const READERS = ['Jpeg', 'Png', 'Nsgif', 'Webp', 'Heif', 'Tiff'].map((name) => `VipsForeignLoad${name}`)

/** TABLE formats of sources that keep their format; others become JPEG. */
const KEPT: Readonly<Record<string, string>> = { jpeg: 'jpeg', png: 'png', gif: 'gif' }

const order = JSON.parse(process.argv[2]!) as Order
const result = await make(order).catch((error: Error) => ({ refused: error.message.slice(0, 200), bytes: undefined }))
const { bytes, ...head } = result
write(Buffer.from(`${JSON.stringify({ ...head, size: bytes?.length ?? 0 })}\n`))
if (bytes !== undefined) write(bytes)

async function make({ tools, source, width, quality, format, mostPixels }: Order) {
  const sharp = createRequire(`${tools}/`)('sharp') as Sharp
  sharp.cache(false)
  sharp.concurrency(1)
  sharp.block({ operation: ['VipsForeignLoad'] })
  sharp.unblock({ operation: READERS })
  const picture = readFileSync(source)
  const options = { limitInputPixels: mostPixels, sequentialRead: true }
  // Only the header is read, and its error would not say which it is.
  const anySize = { ...options, limitInputPixels: false }
  const { width: across = 0, height = 0, pages = 1, format: given = '' } = await sharp(picture, anySize).metadata()
  if (across * height > mostPixels) throw new Error('too many pixels')
  if (pages > 1 || isAnimatedPng(picture)) return { asIs: true, bytes: undefined }
  const to = format?.slice('image/'.length) ?? KEPT[given] ?? 'jpeg'
  const pipeline = sharp(picture, options).rotate().resize({ width, withoutEnlargement: true })
  const made = await pipeline.toFormat(to, optionsOf(to, quality)).toBuffer()
  return { type: `image/${to}`, bytes: made }
}

/** AVIF of a lower quality looks as good. */
function optionsOf(format: string, quality: number): object {
  if (format === 'avif') return { quality: Math.max(quality - 20, 1), effort: 3 }
  return format === 'gif' ? {} : { quality }
}

/** The chunk of an animation comes before the pixels. */
function isAnimatedPng(picture: Buffer): boolean {
  if (picture.readUInt32BE(0) !== 0x89504e47) return false
  const at = picture.indexOf('acTL')
  return at !== -1 && at < picture.indexOf('IDAT')
}

function write(bytes: Buffer): void {
  for (let at = 0; at < bytes.length; ) at += writeSync(1, bytes, at)
}
