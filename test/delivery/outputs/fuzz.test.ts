/** Whatever an upload contains: it is an output, or sentences say why not. Nothing is thrown. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { readOutput } from '../../../src/delivery/outputs/output.ts'
import { resolve } from '../../../src/sites/router/resolve.ts'
import { openSite } from '../../../src/sites/router/site.ts'
import { requestOf } from '../../sites/router/sites.ts'
import { outputUpload, uploadOf } from './upload.ts'

const key = fc.constantFrom(
  ...[
    'src',
    'dest',
    'has',
    'missing',
    'headers',
    'status',
    'handle',
    'type',
    'key',
    'value',
    'transforms',
    'target',
    'op',
    'args',
  ],
  ...[
    'locale',
    'redirect',
    'cookie',
    'methods',
    'middlewarePath',
    'mitigate',
    'action',
    'routes',
    'images',
    'sizes',
    'overrides',
  ],
  ...['path', 'contentType', 'wildcard', 'domain', 'crons', 'schedule', '__proto__', 'constructor', 'pre', 're', 'eq'],
)
const text = fc.constantFrom(
  '/',
  '/(.*)',
  '(',
  'host',
  'header',
  'set',
  'request.query',
  'a',
  '',
  '\0',
  '\ud800',
  'filesystem',
  '$1',
)
const value = fc.letrec((tie) => ({
  any: fc.oneof(
    { depthSize: 'medium' },
    text,
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    tie('object'),
    tie('list'),
  ),
  object: fc.dictionary(key, tie('any'), { maxKeys: 6 }),
  list: fc.array(tie('any'), { maxLength: 4 }),
})).any

test('any configuration is read without an error, and an accepted one can be routed', async () => {
  await fc.assert(
    fc.asyncProperty(value, fc.array(value, { maxLength: 3 }), async (config, routes) => {
      const base = typeof config === 'object' && config !== null && !Array.isArray(config) ? config : {}
      const output = await readOutput(outputUpload({ ...base, routes }, { 'static/a': '' }))
      if ('faults' in output) {
        assert.ok(output.faults.length > 0 && output.faults.length <= 21)
        for (const fault of output.faults) assert.match(fault, /^\.vercel\/output\/\S+ .*\.$/s)
      } else resolve(openSite(output.manifest), requestOf('GET /a?b=1'))
    }),
    { numRuns: 500 },
  )
})

test('any bytes in the place of a file of JSON are read without an error', async () => {
  const places = ['config.json', 'functions/a.func/.vc-config.json', 'functions/a.prerender-config.json']
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...places), fc.uint8Array({ maxLength: 40 }), async (place, bytes) => {
      const output = await readOutput(outputUpload({}, { 'functions/a.func/index.js': '', [place]: bytes }))
      assert.ok('faults' in output)
    }),
    { numRuns: 300 },
  )
})

test('any paths and links are read without an error', async () => {
  const name = fc.constantFrom(
    'static',
    'functions',
    'a.func',
    '..',
    '.',
    '',
    'a',
    'A',
    'nul',
    'é',
    'e\u0301',
    '.vc-config.json',
  )
  const path = fc.array(name, { maxLength: 5 }).map((names) => names.join('/'))
  const content = fc.oneof(
    fc.constant(''),
    path.map((link) => ({ link })),
  )
  await fc.assert(
    fc.asyncProperty(fc.dictionary(path, content, { maxKeys: 6 }), async (contents) => {
      const inside = Object.entries(contents).map(([at, what]) => [`.vercel/output/${at}`, what])
      const output = await readOutput(
        uploadOf({ '.vercel/output/config.json': '{"version":3}', ...Object.fromEntries(inside) }),
      )
      if ('faults' in output) return
      for (const file of output.manifest.files) assert.doesNotMatch(file.path, /(^|\/)\.\.(\/|$)/)
    }),
    { numRuns: 500 },
  )
})
