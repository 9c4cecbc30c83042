/** Small pictures for tests, and answers whose bytes count. */
import { once } from 'node:events'
import { type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http'
import { crc32, deflateSync } from 'node:zlib'

function chunk(type: string, data: Uint8Array): Buffer {
  const named = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)]
  length.writeUInt32BE(data.length)
  sum.writeUInt32BE(crc32(named))
  return Buffer.concat([length, named, sum])
}

/** A PNG of this size. `pixels`: what is in it, in the place of as many as its head says. */
export function pngOf(width: number, height: number, pixels?: Buffer, more: Buffer[] = []): Buffer {
  const head = Buffer.alloc(13)
  head.writeUInt32BE(width, 0)
  head.writeUInt32BE(height, 4)
  head.set([8, 2, 0, 0, 0], 8)
  const rows = pixels ?? Buffer.alloc(height * (1 + width * 3), 0x50)
  if (pixels === undefined) for (let row = 0; row < height; row++) rows[row * (1 + width * 3)] = 0
  return Buffer.concat([
    Buffer.from('89504e470d0a1a0a', 'hex'),
    chunk('IHDR', head),
    ...more,
    chunk('IDAT', deflateSync(rows)),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

/** The chunk that says that a PNG is an animation. */
export const ANIMATION = chunk('acTL', Buffer.from([0, 0, 0, 2, 0, 0, 0, 0]))

/** The width of a PNG. */
export function widthOf(png: Buffer): number {
  return png.readUInt32BE(16)
}

export const SVG = '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'

type Got = { status: number; headers: IncomingHttpHeaders; bytes: Buffer }

/** Asks a sites server for bytes. */
export async function get(origin: string, path: string, headers: Record<string, string> = {}): Promise<Got> {
  const asked = request(origin + path, { headers, agent: false })
  asked.end()
  const [answer] = (await once(asked, 'response')) as [IncomingMessage]
  const pieces: Buffer[] = []
  for await (const piece of answer) pieces.push(piece)
  return { status: answer.statusCode!, headers: answer.headers, bytes: Buffer.concat(pieces) }
}

/** The path of a picture. */
export function imagePath(url: string, width: number | string = 64, quality: number | string = 75): string {
  return `/_vercel/image?${new URLSearchParams({ url, w: String(width), q: String(quality) })}`
}
