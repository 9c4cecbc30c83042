/** Pictures of a prebuilt deployment, resized by sharp as it comes from the registry. docs/pictures.md. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { get, imagePath, pngOf } from '../sites/pictures/png.ts'
import { eventually } from '../support/eventually.ts'
import { isDriven } from './ledger.ts'
import { folderWith, json, startLaptop } from './source-builds.ts'

const CONFIG = { version: 3, images: { sizes: [64, 640], domains: [], formats: ['image/webp'] } }

test('a prebuilt deployment has pictures in the size and format of the browser', { timeout: 7_200_000 }, async (t) => {
  if (!isDriven('cli-64.0.2')) return t.skip('is not driven in short')
  const laptop = await startLaptop(t)
  const png = pngOf(800, 400)
  const files = { '.vercel/output/config.json': json(CONFIG), '.vercel/output/static/a.png': png }
  const { host } = await laptop.deploy(folderWith(t, files, 'pictures'), '64.0.2', ['--prebuilt'])
  const ask = () => get(laptop.sites(), imagePath('/a.png'), { host, accept: 'image/webp,*/*' })
  // The original is sent while sharp is being installed.
  await eventually(async () => (await ask()).headers['content-type'] === 'image/webp')
  const { status, headers, bytes } = await ask()
  assert.deepEqual([status, headers['x-vercel-cache'], headers['x-berth-picture']], [200, 'HIT', undefined])
  assert.ok(bytes.length < png.length)
  assert.equal(await laptop.running.kill('SIGTERM'), 0)
})
