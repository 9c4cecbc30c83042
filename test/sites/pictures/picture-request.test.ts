/** TABLE what a request for a picture asks for, and why it is refused. docs/pictures.md: Requests. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatFor, pictureOf, readyImages } from '../../../src/sites/pictures/picture-request.ts'
import { isSvg, pictureTypeOf } from '../../../src/sites/pictures/picture-type.ts'
import { validOutput } from '../../delivery/outputs/upload.ts'
import { SVG } from './png.ts'

const IMAGES = {
  sizes: [64, 640],
  domains: ['cdn.example'],
  qualities: [50, 75],
  remotePatterns: [
    { protocol: 'https', hostname: '^(?:^(?:[^/]*?)\\.pictures\\.example)$', pathname: '^(?:\\/a(?:\\/.*)?)$' },
    { hostname: '^(?:one\\.example)$', port: '8080', search: '?v=1' },
  ],
}

/** The source, or the sentence. */
async function asked(images: object, query: string): Promise<string> {
  const { manifest } = await validOutput({ images: { sizes: [64, 640], domains: [], ...images } })
  const picture = pictureOf(readyImages(manifest.images!), query)
  if ('refusal' in picture) return picture.refusal
  const { source } = picture
  return source.kind === 'local' ? `local ${source.path}${source.search}` : `remote ${source.url}`
}

const SIZED = '&w=64&q=75'

const SOURCES: [url: string, source: string][] = [
  ['/a.png', 'local /a.png'],
  ['/a b.png?v=2#top', 'local /a%20b.png?v=2'],
  ['/x/../../a.png', 'local /a.png'],
  ['https://cdn.example/a.png#x', 'remote https://cdn.example/a.png'],
  ['http://cdn.example:81/a.png', 'remote http://cdn.example:81/a.png'],
  ['https://CDN.example/a.png', 'remote https://cdn.example/a.png'],
  ['https://x.pictures.example/a/b.png', 'remote https://x.pictures.example/a/b.png'],
  ['http://one.example:8080/?v=1', 'remote http://one.example:8080/?v=1'],
  ['http://x.pictures.example/a/b.png', '"url" parameter is not allowed'],
  ['https://x.pictures.example/b.png', '"url" parameter is not allowed'],
  ['http://one.example/?v=1', '"url" parameter is not allowed'],
  ['http://one.example:8080/?v=2', '"url" parameter is not allowed'],
  ['https://cdn.example.evil.example/a.png', '"url" parameter is not allowed'],
  ['https://evil.example/?cdn.example', '"url" parameter is not allowed'],
  ['https://cdn.example@evil.example/a.png', '"url" parameter is invalid'],
  ['', '"url" parameter is required'],
  ['a.png', '"url" parameter is invalid'],
  ['javascript:alert(1)', '"url" parameter is invalid'],
  ['data:image/png;base64,AA==', '"url" parameter is invalid'],
  ['file:///etc/passwd', '"url" parameter is invalid'],
  ['//evil.example/a.png', '"url" parameter cannot be a protocol-relative URL (//)'],
  ['/\\evil.example/a.png', '"url" parameter cannot be a protocol-relative URL (//)'],
  ['/\t/evil.example/a.png', '"url" parameter cannot be a protocol-relative URL (//)'],
  ['/_next/image?url=/a.png', '"url" parameter cannot be recursive'],
  ['/docs/_vercel/imag%65/', '"url" parameter cannot be recursive'],
  [`/${'a'.repeat(3072)}`, '"url" parameter is too long'],
]

for (const [url, source] of SOURCES) {
  test(`a picture of ${JSON.stringify(url.slice(0, 60))}: ${source.slice(0, 60)}`, async () => {
    assert.equal(await asked(IMAGES, `?url=${encodeURIComponent(url)}${SIZED}`), source)
  })
}

const QUERIES: [query: string, sentence: string][] = [
  ['', '"url" parameter is required'],
  ['?url=/a&url=/b&w=64&q=75', '"url" parameter cannot be an array'],
  ['?url=/a&q=75', '"w" parameter (width) is required'],
  ['?url=/a&w=64&w=640&q=75', '"w" parameter (width) cannot be an array'],
  ['?url=/a&w=0&q=75', '"w" parameter (width) must be an integer greater than 0'],
  ['?url=/a&w=-64&q=75', '"w" parameter (width) must be an integer greater than 0'],
  ['?url=/a&w=6e2&q=75', '"w" parameter (width) must be an integer greater than 0'],
  ['?url=/a&w=64.0&q=75', '"w" parameter (width) must be an integer greater than 0'],
  [`?url=/a&w=${'9'.repeat(400)}&q=75`, '"w" parameter (width) must be an integer greater than 0'],
  ['?url=/a&w=65&q=75', '"w" parameter (width) of 65 is not allowed'],
  ['?url=/a&w=64', '"q" parameter (quality) is required'],
  ['?url=/a&w=64&q=101', '"q" parameter (quality) must be an integer between 1 and 100'],
  ['?url=/a&w=64&q=x', '"q" parameter (quality) must be an integer between 1 and 100'],
  ['?url=/a&w=64&q=51', '"q" parameter (quality) of 51 is not allowed'],
]

for (const [query, sentence] of QUERIES) {
  test(`the query ${query.slice(0, 40)} is refused: ${sentence}`, async () => {
    assert.equal(await asked(IMAGES, query), sentence)
  })
}

test('without lists every local path and every quality is allowed, and no other server', async () => {
  assert.equal(await asked({}, '?url=/any/a.png&w=64&q=51'), 'local /any/a.png')
  assert.equal(await asked({}, `?url=https://cdn.example/a.png${SIZED}`), '"url" parameter is not allowed')
})

test('local patterns name the path and the query', async () => {
  const images = { localPatterns: [{ pathname: '^\\/assets\\/.*$', search: '' }] }
  assert.equal(await asked(images, `?url=/assets/a.png${SIZED}`), 'local /assets/a.png')
  assert.equal(await asked(images, `?url=/assets/a.png%3Fv=1${SIZED}`), '"url" parameter is not allowed')
  assert.equal(await asked(images, `?url=/a.png${SIZED}`), '"url" parameter is not allowed')
  assert.equal(await asked({ localPatterns: [] }, `?url=/a.png${SIZED}`), '"url" parameter is not allowed')
})

test('the settings of the deployment go with the picture; without them nothing in it runs', async () => {
  const read = async (images: object) => {
    const { manifest } = await validOutput({ images: { sizes: [64], ...images } })
    const picture = pictureOf(readyImages(manifest.images!), `?url=/a.png${SIZED}`)
    assert.ok(!('refusal' in picture))
    const { formats, minSeconds, allowsSvg, policy, disposition } = picture
    return [formats, minSeconds, allowsSvg, policy, disposition]
  }
  assert.deepEqual(await read({}), [[], 60, false, "script-src 'none'; frame-src 'none'; sandbox;", 'inline'])
  const images = {
    ...{ formats: ['image/avif', 'image/webp'], minimumCacheTTL: 3600, dangerouslyAllowSVG: true },
    ...{ contentSecurityPolicy: "default-src 'self'", contentDispositionType: 'attachment' },
  }
  const expected = [['image/avif', 'image/webp'], 3600, true, "default-src 'self'", 'attachment']
  assert.deepEqual(await read(images), expected)
})

const BOTH = ['image/avif', 'image/webp']
const ACCEPTS: [accept: string | undefined, formats: string[], format: string | undefined][] = [
  ['image/avif,image/webp,*/*', BOTH, 'image/avif'],
  ['image/webp,image/avif', BOTH, 'image/avif'],
  ['image/webp, image/avif;q=0.5', BOTH, 'image/webp'],
  ['image/avif;q=0, image/webp', BOTH, 'image/webp'],
  ['image/webp', ['image/avif'], undefined],
  ['*/*', BOTH, undefined],
  ['image/*', BOTH, undefined],
  [undefined, BOTH, undefined],
  ['IMAGE/WEBP', BOTH, 'image/webp'],
  ['image/webp;q=x', BOTH, undefined],
  ['image/webp', [], undefined],
]

for (const [accept, formats, format] of ACCEPTS) {
  test(`Accept: ${accept} of ${formats.length} formats gives ${format}`, () => {
    assert.equal(formatFor(accept, formats), format)
  })
}

const STARTS: [bytes: string, type: string | undefined][] = [
  ['\xff\xd8\xff\xe0', 'image/jpeg'],
  ['\x89PNG\r\n\x1a\n', 'image/png'],
  ['GIF89a', 'image/gif'],
  ['RIFF\0\0\0\0WEBPVP8 ', 'image/webp'],
  ['RIFF\0\0\0\0WAVE', undefined],
  ['\0\0\0\x1cftypavif', 'image/avif'],
  ['\0\0\0\x1cftypmp42', undefined],
  [SVG, 'image/svg+xml'],
  ['<?xml version="1.0"?>', 'image/svg+xml'],
  [' <svg>', undefined],
  ['<html>', undefined],
  ['%PDF-1.7', undefined],
  ['', undefined],
]

for (const [bytes, type] of STARTS) {
  test(`${JSON.stringify(bytes.slice(0, 20))} is ${type ?? 'no picture'}`, () => {
    const found = pictureTypeOf(Buffer.from(bytes, 'latin1'))
    assert.equal(found?.type, type)
    assert.equal(found !== undefined && isSvg(found), type === 'image/svg+xml')
  })
}
