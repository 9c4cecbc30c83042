/** Files of edge functions: compiled modules, and what `fetch` finds. docs/functions.md: Edge functions. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { functionOf, showFunctions } from './function-site.ts'

const EDGE = { runtime: 'edge', handler: 'index.js', entrypoint: 'index.js' }
// (module (func (export "twice") (param i32) (result i32) (i32.add (local.get 0) (local.get 0))))
const WASM = Buffer.from(
  '0061736d0100000001060160017f017f030201000709010574776963650000' + '0a09010700200020006a0b',
  'hex',
).toString('latin1')
const TWICE = '(new WebAssembly.Instance(twice)).exports.twice(21)'

test('an edge function finds its compiled modules by the names that builders write', async (t) => {
  const { visit } = await showFunctions(t, {
    ...functionOf(
      'api/next',
      `const twice = require("/wasm/wasm_a1.wasm"); export default () => new Response(String(${TWICE}))`,
      EDGE,
    ),
    'functions/api/next.func/wasm/wasm_a1.wasm': WASM,
    ...functionOf(
      'api/common',
      `const twice = require('./lib/a.wasm?module'); module.exports = () => new Response(String(${TWICE}))`,
      EDGE,
    ),
    'functions/api/common.func/lib/a.wasm': WASM,
  })
  for (const path of ['/api/next', '/api/common']) {
    const reply = await visit(path)
    assert.deepEqual([reply.status, reply.text], [200, '42'], path)
  }
})

test('fetch finds the assets of an edge function and its fonts, and no other file', async (t) => {
  const module = `import { helper } from './lib/helper.js'
const read = async (address) => { try { return await (await fetch(address)).text() } catch { return 'none' } }
export default async (request) => Response.json(await Promise.all([
  read('blob:a.1f.ttf'), read(new URL('blob:deep/b.txt')), read(new Request('blob:a.1f.ttf')), helper(),
  read('blob:none.ttf'), read('blob:../index.js'), read(new URL('./index.js', import.meta.url)), read('file:///etc/passwd.ttf/../../etc/hostname'),
  read('file:///usr/share/a.ttf'), read(URL.createObjectURL(new Blob(['of the memory']))),
]))`
  const { visit } = await showFunctions(t, {
    ...functionOf('api/og', module, EDGE),
    'functions/api/og.func/lib/helper.js':
      "export const helper = async () => (await fetch(new URL('../fonts/c.woff2', import.meta.url))).text()",
    'functions/api/og.func/package.json': '{"type":"module"}',
    'functions/api/og.func/assets/a.1f.ttf': 'a font',
    'functions/api/og.func/assets/deep/b.txt': 'a text',
    'functions/api/og.func/fonts/c.woff2': 'another font',
  })
  const reply = await visit('/api/og')
  assert.equal(reply.status, 200, reply.text)
  assert.deepEqual(JSON.parse(reply.text), [
    ...['a font', 'a text', 'a font', 'another font'],
    ...['none', 'none', 'none', 'none', 'none', 'of the memory'],
  ])
})
