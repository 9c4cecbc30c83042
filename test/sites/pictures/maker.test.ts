/** What the program in the sandbox makes of a picture, without its sandbox. src/sites/pictures/maker.ts; docs/pictures.md. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import sharp from 'sharp'
import { root } from '../../support/root.ts'
import { ANIMATION, pngOf, SVG, widthOf } from './png.ts'

const PNG = pngOf(100, 50)
const MAKER = join(root, 'src/sites/pictures/maker.ts')

/** Returns a function that makes a picture, and gives the head that the program wrote with the bytes behind it. */
function openMaker(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'berth-maker-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  let made = 0
  return async (picture: Uint8Array | string, wish: { width?: number; quality?: number; format?: string } = {}) => {
    const source = join(folder, String(++made))
    writeFileSync(source, picture)
    const order = { tools: root, source, width: 64, quality: 75, mostPixels: 5000, ...wish }
    const run = promisify(execFile)
    const { stdout } = await run(process.execPath, [MAKER, JSON.stringify(order)], { encoding: 'buffer' })
    const end = stdout.indexOf('\n')
    return { head: JSON.parse(stdout.toString('utf8', 0, end)), bytes: stdout.subarray(end + 1) }
  }
}

test('a picture has the format that is asked for, else its own where it is one of the web, else that of a JPEG', async (t) => {
  const make = openMaker(t)
  const typeOf = async (format: 'png' | 'jpeg' | 'gif' | 'tiff', asked?: string) => {
    const { head, bytes } = await make(await sharp(PNG).toFormat(format).toBuffer(), asked ? { format: asked } : {})
    const { format: made, width } = await sharp(bytes).metadata()
    assert.deepEqual([head, width], [{ type: `image/${made}`, size: bytes.length }, 64], format)
    return made
  }
  const made = await Promise.all([typeOf('png'), typeOf('gif'), typeOf('tiff'), typeOf('jpeg', 'image/webp')])
  assert.deepEqual(made, ['png', 'gif', 'jpeg', 'webp'])
})

test('a picture is never larger than its source, and stands as its camera was held', async (t) => {
  const make = openMaker(t)
  assert.equal(widthOf((await make(PNG, { width: 640 })).bytes), 100)
  const turned = await sharp(PNG).withMetadata({ orientation: 6 }).png().toBuffer()
  assert.equal(widthOf((await make(turned, { width: 640 })).bytes), 50)
})

test('the quality is that of the order, and 20 less for AVIF, at least 1', async (t) => {
  sharp.concurrency(1)
  const make = openMaker(t)
  const gray = { width: 64, height: 64, channels: 3, background: '#888' } as const
  const noise = await sharp({ create: { ...gray, noise: { type: 'gaussian', mean: 128, sigma: 30 } } })
    .png()
    .toBuffer()
  const expected = (format: 'webp' | 'avif', options: object) => sharp(noise).toFormat(format, options).toBuffer()
  for (const [format, quality, options] of [
    ['webp', 10, { quality: 10 }],
    ['avif', 75, { quality: 55, effort: 3 }],
    ['avif', 5, { quality: 1, effort: 3 }],
  ] as const) {
    const { bytes } = await make(noise, { format: `image/${format}`, quality })
    assert.ok(bytes.equals(await expected(format, options)), `${format} ${quality}`)
  }
})

test('an animation stays as it is, and what has its name elsewhere is resized', async (t) => {
  const make = openMaker(t)
  const frames = await sharp([PNG, await sharp(PNG).negate().png().toBuffer()], { join: { animated: true } })
    .gif({ loop: 0 })
    .toBuffer()
  for (const picture of [pngOf(100, 50, undefined, [ANIMATION]), frames]) {
    const { head, bytes } = await make(picture)
    assert.deepEqual([head, bytes.length], [{ asIs: true, size: 0 }, 0])
  }
  const jpeg = await sharp(PNG).jpeg().toBuffer()
  for (const [picture, type] of [
    [Buffer.concat([PNG, ANIMATION]), 'image/png'],
    [Buffer.concat([jpeg, Buffer.from('acTL IDAT')]), 'image/jpeg'],
  ] as const)
    assert.equal((await make(picture)).head.type, type)
})

test('too many pixels, a damaged picture and a document are refused', async (t) => {
  const make = openMaker(t)
  const refusalOf = async (picture: Uint8Array | string) => {
    const { head, bytes } = await make(picture)
    assert.deepEqual([head.size, bytes.length], [0, 0])
    return head.refused as string
  }
  assert.equal(await refusalOf(pngOf(101, 50)), 'too many pixels')
  assert.equal(await refusalOf(pngOf(65_500, 65_500, Buffer.from('x'))), 'too many pixels')
  for (const picture of [PNG.subarray(0, 60), SVG]) {
    const refused = await refusalOf(picture)
    assert.ok(refused.length > 0 && refused.length <= 200 && refused !== 'too many pixels', refused)
  }
})
