/** Pictures that are resized in a real sandbox, and sources that attack it. docs/pictures.md: Sandbox. */
import assert from 'node:assert/strict'
import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { runAsOf } from '../../../src/sandbox/run-as.ts'
import { trySandbox } from '../../../src/sandbox/trial.ts'
import { canRun, skipReason } from '../../support/programs.ts'
import { root } from '../../support/root.ts'
import { type Offered, SITE } from '../visitors/control-plane.ts'
import { showSite } from '../visitors/servers.ts'
import { ANIMATION, get, imagePath, pngOf, SVG, widthOf } from './png.ts'

/** TABLE packages that sharp is loaded with. */
const PACKAGES = ['sharp', '@img', 'detect-libc', 'semver']

async function reasonToSkip(): Promise<string | false> {
  if (!canRun('bwrap', '--version')) return skipReason('bwrap', 'bubblewrap', 'pictures in a sandbox')
  const trial = await trySandbox({ parent: tmpdir(), runAs: runAsOf(undefined), network: 'none' })
  return trial.works ? false : `no sandbox starts here: ${trial.sentence}`
}

const skip = await reasonToSkip()

/** A sites server that makes pictures. `made`: how many it has begun. */
async function show(t: TestContext, contents: Offered['contents'], limitMs = 240_000) {
  const folder = mkdtempSync(join(tmpdir(), 'berth-pictures-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  chmodSync(folder, 0o711)
  const sharp = join(folder, 'sharp')
  mkdirSync(sharp)
  for (const name of PACKAGES) {
    const from = join(root, 'node_modules', name)
    if (existsSync(from)) cpSync(from, join(sharp, 'node_modules', name), { recursive: true })
  }
  const node = { folder: dirname(dirname(process.execPath)), program: process.execPath }
  let made = 0
  const tools = async () => {
    made++
    return { node, sharp }
  }
  const config = { images: { sizes: [64, 640], domains: [], formats: ['image/avif', 'image/webp'] } }
  const pictures = { folder, runAs: runAsOf(undefined), tools, limitMs }
  const shown = await showSite(t, { config, contents: contents ?? {} }, {}, undefined, undefined, pictures)
  const picture = (url: string, accept = 'image/png', width = 64) =>
    get(shown.origin, imagePath(url, width), { host: SITE, accept })
  return { ...shown, picture, made: () => made, runs: () => readdirSync(join(folder, 'pictures')) }
}

test('a picture has the width that is asked for, in a format that the browser names, and is made once', {
  skip,
}, async (t) => {
  const { picture, made, runs } = await show(t, { 'static/a.png': pngOf(100, 50) })
  const webp = await Promise.all(Array.from({ length: 8 }, () => picture('/a.png', 'image/webp,*/*')))
  for (const { status, headers, bytes } of webp) {
    assert.deepEqual([status, headers['content-type'], headers.vary], [200, 'image/webp', 'Accept'], String(bytes))
    assert.deepEqual(
      [headers['x-berth-picture'], headers['content-disposition']],
      [undefined, 'inline; filename="a.webp"'],
    )
    assert.equal(bytes.toString('latin1', 8, 12), 'WEBP')
  }
  assert.equal(made(), 1)
  assert.equal((await picture('/a.png', 'image/webp')).headers['x-vercel-cache'], 'HIT')
  const avif = await picture('/a.png', 'image/avif,image/webp')
  assert.deepEqual([avif.headers['content-type'], avif.bytes.toString('latin1', 4, 12)], ['image/avif', 'ftypavif'])
  assert.equal(widthOf((await picture('/a.png')).bytes), 64)
  assert.equal(widthOf((await picture('/a.png', '*/*', 640)).bytes), 100, 'never larger than it is')
  assert.equal(made(), 4)
  assert.equal(runs().length, 1, 'no run is left')
})

test('a picture of four thousand million pixels, and a damaged one are refused; an animation stays whole', {
  skip,
}, async (t) => {
  const animated = pngOf(100, 50, undefined, [ANIMATION])
  const contents = {
    'static/huge.png': pngOf(65_500, 65_500, Buffer.from('x')),
    'static/cut.png': pngOf(100, 50).subarray(0, 60),
    'static/moves.png': animated,
    'static/a.svg': `GIF89a${SVG}`,
  }
  const { picture } = await show(t, contents)
  const huge = await picture('/huge.png')
  assert.deepEqual([huge.status, huge.headers['x-vercel-error']], [400, 'INVALID_IMAGE_OPTIMIZE_REQUEST'])
  assert.match(huge.bytes.toString(), /more than 50 million pixels/)
  for (const path of ['/cut.png', '/a.svg']) {
    const answer = await picture(path)
    assert.deepEqual([answer.status, answer.bytes.toString()], [400, "The requested resource isn't a valid image.\n"])
  }
  assert.ok((await picture('/moves.png', 'image/webp')).bytes.equals(animated))
})

test('what does not end in time is ended, and the source is sent', { skip }, async (t) => {
  const png = pngOf(100, 50)
  const { picture, runs } = await show(t, { 'static/a.png': png }, 1)
  const late = await picture('/a.png')
  assert.deepEqual([late.status, late.headers['x-berth-picture'], late.bytes.equals(png)], [200, 'original', true])
  assert.equal(runs().length, 1)
})
