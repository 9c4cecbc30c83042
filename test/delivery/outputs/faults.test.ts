/** TABLE invalid outputs, each with the message that users get: file, field, what is wrong, what to do. docs/deploying-sites.md: Validation errors. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Upload } from '../../../src/delivery/outputs/output.ts'
import { OUTPUT_LIMITS } from '../../../src/delivery/protocol/output-limits.ts'
import { type Content, faultsOf, nodeFunction, outputUpload, uploadOf } from './upload.ts'

const CONFIG = '.vercel/output/config.json'
const STATIC = '.vercel/output/static'
const FUNCTIONS = '.vercel/output/functions'

/** Configurations that cannot be followed. The sentence is the one after the name of the file. */
const CONFIGS: [config: object, sentence: string][] = [
  [{ version: 2 }, 'version must be 3. Build with a current version of the builder.'],
  [{ version: '3' }, 'version must be 3. Build with a current version of the builder.'],
  [{ routes: {} }, 'routes must be a list.'],
  [
    { routes: Array.from({ length: 3000 }, () => ({ src: '/' })) },
    'routes has 3000 entries. At most 2048 are allowed.',
  ],
  [{ routes: ['/a'] }, 'routes[0] must be an object.'],
  [{ routes: [null] }, 'routes[0] is missing.'],
  [{ routes: [{ dest: '/a' }] }, 'routes[0].src is missing.'],
  [{ routes: [{ src: 5 }] }, 'routes[0].src must be a string.'],
  [{ routes: [{ src: '/a', source: '/a' }] }, 'routes[0].source and src are the same. Remove one.'],
  [{ routes: [{ src: '/(' }] }, 'routes[0].src is not a regular expression: Unterminated group. Correct the pattern.'],
  [{ routes: [{ src: `/${'a'.repeat(5000)}` }] }, 'routes[0].src has 5001 characters. At most 4096 are allowed.'],
  [{ routes: [{ src: '/\ud800' }] }, 'routes[0].src must be Unicode text without NUL.'],
  [
    { routes: [{ handle: 'later' }] },
    'routes[0].handle must be one of filesystem, resource, miss, rewrite, hit, error.',
  ],
  [{ routes: [{ src: '/', status: 101 }] }, 'routes[0].status must be a whole number from 200 to 599.'],
  [{ routes: [{ src: '/', continue: 'yes' }] }, 'routes[0].continue must be true or false.'],
  [{ routes: [{ src: '/', headers: { 'a b': '1' } }] }, 'routes[0].headers["a b"] is not a header name.'],
  [
    { routes: [{ src: '/', headers: { a: 'b\r\nset-cookie: c' } }] },
    'routes[0].headers["a"] has a line break or another control character.',
  ],
  [{ routes: [{ src: '/', headers: { a: 1 } }] }, 'routes[0].headers["a"] must be a string.'],
  [
    { routes: [{ src: '/', has: [{ type: 'header', key: 'a', value: '[' }] }] },
    'routes[0].has[0].value is not a regular expression: Unterminated character class. Correct the pattern.',
  ],
  [
    { routes: [{ src: '/', has: [{ type: 'ip', key: 'a' }] }] },
    'routes[0].has[0].type must be one of host, header, cookie, query.',
  ],
  [{ routes: [{ src: '/', has: [{ type: 'host' }] }] }, 'routes[0].has[0].value is missing.'],
  [{ routes: [{ src: '/', missing: [{ type: 'query' }] }] }, 'routes[0].missing[0].key is missing.'],
  [
    { routes: [{ src: '/', has: [{ type: 'query', key: 'a', value: { like: 'b' } }] }] },
    'routes[0].has[0].value.like is not a comparison. Use one of eq, neq, inc, ninc, pre, suf, re, gt, gte, lt and lte.',
  ],
  [
    { routes: [{ src: '/', has: Array(17).fill({ type: 'query', key: 'a' }) }] },
    'routes[0].has has 17 entries. At most 16 are allowed.',
  ],
  [
    { routes: [{ handle: 'hit' }, { src: '/', dest: '/a' }] },
    'routes[1].dest is after "handle": "hit". Rules there set headers and transforms. Move it before.',
  ],
  [
    { routes: [{ handle: 'miss' }, { src: '/', middlewarePath: 'm' }] },
    'routes[1].middlewarePath is after "handle": "miss". Middleware runs before the first "handle". Move it there.',
  ],
  [
    { routes: [{ src: '/', middlewarePath: 'm' }] },
    'routes[0].middlewarePath names m, which is not a function of the output.',
  ],
  [
    { routes: [{ src: '/', destination: { service: 'a' } }] },
    'routes[0].destination names a service. Services are not available: give a path or a URL.',
  ],
  [
    { routes: [{ src: '/', transforms: [{ type: 'request.headers', op: 'set', target: { key: 'a' } }] }] },
    'routes[0].transforms[0].args is missing.',
  ],
  [
    { routes: [{ src: '/', transforms: [{ type: 'request.query', op: 'delete' }] }] },
    'routes[0].transforms[0].target is missing.',
  ],
  [
    { routes: [{ src: '/', transforms: [{ type: 'request.query', op: 'delete', target: { key: { re: 'a' } } }] }] },
    'routes[0].transforms[0].target.key.re is not available here.',
  ],
  [
    {
      routes: [{ src: '/', transforms: [{ type: 'response.headers', op: 'delete', target: { key: { eq: 'a b' } } }] }],
    },
    'routes[0].transforms[0].target.key.eq is not a header name.',
  ],
  [
    {
      routes: [
        { src: '/', transforms: [{ type: 'request.headers', op: 'delete', target: { key: { inc: ['a', 'é'] } } }] },
      ],
    },
    'routes[0].transforms[0].target.key.inc[1] is not a header name.',
  ],
  [
    { routes: [{ src: '/', mitigate: { action: 'log' } }] },
    'routes[0].mitigate.action must be one of challenge, deny.',
  ],
  [{ wildcard: [{ domain: 'a' }] }, 'wildcard[0].value is missing.'],
  [{ overrides: { a: 'b' } }, 'overrides["a"] must be an object.'],
  [{ overrides: { a: { contentType: 'a\nb' } } }, 'overrides["a"].contentType is not a content type.'],
  [{ images: { sizes: [0] } }, 'images.sizes[0] must be a whole number from 1 to 100000.'],
  [{ images: {} }, 'images.sizes is missing.'],
  [
    { images: { sizes: [1], remotePatterns: [{ hostname: '(' }] } },
    'images.remotePatterns[0].hostname is not a regular expression: Unterminated group. Correct the pattern.',
  ],
  [{ crons: [{ path: 'a', schedule: '* * * * *' }] }, 'crons[0].path must begin with "/".'],
  [
    { crons: [{ path: '/a', schedule: 'daily' }] },
    'crons[0].schedule must have the five fields of cron, of numbers: minute, hour, day, month, weekday.',
  ],
  [{ framework: { slug: 'a', version: 5 } }, 'framework.version must be a string.'],
  [{ routes: [{ src: '/', has: ['a'] }] }, 'routes[0].has[0] must be an object.'],
  [
    { routes: [{ src: '/', has: [{ type: 'host', value: 5 }] }] },
    'routes[0].has[0].value must be a string or an object.',
  ],
  [{ routes: [{ src: '/', transforms: ['a'] }] }, 'routes[0].transforms[0] must be an object.'],
  [
    { routes: [{ src: '/', transforms: [{ type: 'request.query', op: 'delete', target: { key: 5 } }] }] },
    'routes[0].transforms[0].target.key must be a string or an object.',
  ],
  [
    { routes: [{ src: '/', transforms: [{ type: 'request.query', op: 'set', target: { key: 'a' }, args: 5 }] }] },
    'routes[0].transforms[0].args must be a string or a list.',
  ],
  [
    { images: { sizes: [1], contentSecurityPolicy: "default-src 'none'\u2026" } },
    'images.contentSecurityPolicy must be visible ASCII characters and spaces.',
  ],
]

for (const [config, sentence] of CONFIGS) {
  test(`config.json is refused: ${sentence}`, async () => {
    assert.deepEqual(await faultsOf(outputUpload(config)), [`${CONFIG}: ${sentence}`])
  })
}

/** Files, links and functions that cannot be kept. */
const CONTENTS: [contents: Record<string, Content>, sentence: string][] = [
  [{ 'static/../../../etc/passwd': '' }, `${STATIC}/../../../etc/passwd leaves the output with "..". Remove it.`],
  [{ 'static//a': '' }, `${STATIC}//a has an empty name or "." in its path. Remove it.`],
  [{ 'static/./a': '' }, `${STATIC}/./a has an empty name or "." in its path. Remove it.`],
  [{ 'static/a\0b': '' }, `${STATIC}/a\\u0000b has a NUL in its name. Rename the file.`],
  [{ 'static/a\nb': '' }, `${STATIC}/a\\nb has a control character in its name. Rename the file.`],
  [{ 'static/a\\..\\b': '' }, `${STATIC}/a\\\\..\\\\b has a backslash in its name. Separate folders by "/".`],
  [{ 'static/\ud800': '' }, `${STATIC}/\\ud800 is not valid Unicode. Rename the file.`],
  [
    { [`static/${'n'.repeat(300)}`]: '' },
    `${STATIC}/${'n'.repeat(100 - STATIC.length - 1)}… has a name of more than 255 bytes. Shorten it.`,
  ],
  [
    { [`static/${'é'.repeat(128)}`]: '' },
    `${STATIC}/${'é'.repeat(100 - STATIC.length - 1)}… has a name of more than 255 bytes. Shorten it.`,
  ],
  [{ [`static${'/a'.repeat(70)}`]: '' }, `${STATIC}${'/a'.repeat(39)}/… is more than 64 folders deep.`],
  [
    { [`static/${'a/'.repeat(600)}b`]: '' },
    `${STATIC}${'/a'.repeat(39)}/… is longer than 1024 characters. Shorten it.`,
  ],
  [{ 'static/NUL': '' }, `${STATIC}/NUL has the name of a device (CON, NUL, COM1 …). Rename it.`],
  [{ 'static/com1.txt/a': '' }, `${STATIC}/com1.txt/a has the name of a device (CON, NUL, COM1 …). Rename it.`],
  [
    { 'static/Readme.md': '', 'static/README.md': '' },
    `${STATIC}/README.md and ${STATIC}/Readme.md differ only in upper and lower case or in the form of accents. Rename one of them.`,
  ],
  [
    { 'static/\u00e9': '', 'static/e\u0301': '' },
    `${STATIC}/e\u0301 and ${STATIC}/\u00e9 differ only in upper and lower case or in the form of accents. Rename one of them.`,
  ],
  [{ 'static/a': '', 'static/a/b': '' }, `${STATIC}/a is a file or a link, and other entries lie below it.`],
  [{ 'static/a': { link: 'b' }, 'static/a/b': '' }, `${STATIC}/a is a file or a link, and other entries lie below it.`],
  [
    { 'static/a': { link: '/etc/passwd' } },
    `${STATIC}/a is a link that points outside of the upload. Links must be relative, and end inside it.`,
  ],
  [
    { 'static/a': { link: '../../../../etc/passwd' } },
    `${STATIC}/a is a link that points outside of the upload. Links must be relative, and end inside it.`,
  ],
  [
    { 'static/a': { link: 'gone' } },
    `${STATIC}/a is a link that does not point to a file below static/. Links to folders are not followed: copy the folder.`,
  ],
  [
    { 'static/a': { link: 'b' }, 'static/b/c': '' },
    `${STATIC}/a is a link that does not point to a file below static/. Links to folders are not followed: copy the folder.`,
  ],
  [
    { 'static/a': { link: '../config.json' } },
    `${STATIC}/a is a link that does not point to a file below static/. Links to folders are not followed: copy the folder.`,
  ],
  [{ 'functions/a.func/index.js': '' }, `${FUNCTIONS}/a.func/.vc-config.json is missing.`],
  [{ 'functions/a.func/.vc-config.json': '{' }, `${FUNCTIONS}/a.func/.vc-config.json is not JSON in UTF-8.`],
  [{ 'functions/a.func/.vc-config.json': '[]' }, `${FUNCTIONS}/a.func/.vc-config.json must be an object.`],
  [{ 'functions/a.func/.vc-config.json': '{}' }, `${FUNCTIONS}/a.func/.vc-config.json: runtime is missing.`],
  [nodeFunction('a', { handler: undefined }), `${FUNCTIONS}/a.func/.vc-config.json: handler is missing.`],
  [
    nodeFunction('a', { handler: 'b.js' }),
    `${FUNCTIONS}/a.func/.vc-config.json: handler names b.js, which is not in the function.`,
  ],
  [
    nodeFunction('a', { memory: 1 }),
    `${FUNCTIONS}/a.func/.vc-config.json: memory must be a whole number from 128 to 10240.`,
  ],
  [
    nodeFunction('a', { maxDuration: 'most' }),
    `${FUNCTIONS}/a.func/.vc-config.json: maxDuration must be "max" or a whole number from 1 to 1800.`,
  ],
  [
    nodeFunction('a', { filePathMap: { 'x.js': 'gone.js' } }),
    `${FUNCTIONS}/a.func/.vc-config.json: filePathMap["x.js"] names gone.js, which was not uploaded. Deploy from the folder of the build.`,
  ],
  [
    nodeFunction('a', { filePathMap: { 'x.js': '../../etc/passwd' } }),
    `${FUNCTIONS}/a.func/.vc-config.json: filePathMap["x.js"] names ../../etc/passwd, which was not uploaded. Deploy from the folder of the build.`,
  ],
  [
    {
      ...nodeFunction('a', { filePathMap: { l: '.vercel/output/lib/a/l' } }),
      'lib/a/l': { link: '../b' },
      'lib/b/index.js': '',
    },
    `${FUNCTIONS}/a.func/.vc-config.json: filePathMap["l"] names .vercel/output/lib/a/l, a link that points outside of its function.`,
  ],
  [
    nodeFunction('a', { filePathMap: { '../x.js': CONFIG } }),
    `${FUNCTIONS}/a.func/.vc-config.json: filePathMap["../x.js"] leaves the output with "..". Remove it.`,
  ],
  [
    { ...nodeFunction('a'), 'functions/a.func/l': { link: '../b' } },
    `${FUNCTIONS}/a.func/l is a link that points outside of its function. Copy its target.`,
  ],
  [
    { 'functions/b.func': { link: 'gone.func' } },
    `${FUNCTIONS}/b.func is a link to ${FUNCTIONS}/gone.func, which is not a function of this output.`,
  ],
  [
    { 'functions/b.func': { link: 'b.func' } },
    `${FUNCTIONS}/b.func is a link to itself, which is not a function of this output.`,
  ],
  [
    { 'functions/b.func': { link: '../static/a.func' }, 'static/a.func/x': '' },
    `${FUNCTIONS}/b.func is a link to ${STATIC}/a.func, which is not a function of this output.`,
  ],
  [
    { ...nodeFunction('a'), 'functions/a.prerender-config.json': '{}' },
    `${FUNCTIONS}/a.prerender-config.json: expiration is missing.`,
  ],
  [
    { ...nodeFunction('a'), 'functions/a.prerender-config.json': '{"expiration":true}' },
    `${FUNCTIONS}/a.prerender-config.json: expiration must be false or a whole number from 0 to 2147483647.`,
  ],
  [
    { ...nodeFunction('a'), 'functions/a.prerender-config.json': '{"expiration":1,"fallback":5}' },
    `${FUNCTIONS}/a.prerender-config.json: fallback must be a string or an object.`,
  ],
  [
    { ...nodeFunction('a'), 'functions/a.prerender-config.json': `{"expiration":1,"bypassToken":"${'x'.repeat(31)}"}` },
    `${FUNCTIONS}/a.prerender-config.json: bypassToken must have 32 characters or more.`,
  ],
  [
    { ...nodeFunction('a'), 'functions/a.prerender-config.json': '{"expiration":1,"fallback":"../config.json"}' },
    `${FUNCTIONS}/a.prerender-config.json: fallback names ../config.json, which is not a file of the output.`,
  ],
  [
    { ...nodeFunction('a'), 'functions/a.prerender-config.json': '{"expiration":1,"group":0}' },
    `${FUNCTIONS}/a.prerender-config.json: group must be a whole number from 1 to 2147483647.`,
  ],
]

for (const [contents, sentence] of CONTENTS) {
  test(`an output is refused: ${sentence.replace(/^\.vercel\/output\//, '')}`, async () => {
    assert.deepEqual(await faultsOf(outputUpload({}, contents)), [sentence])
  })
}

/** Uploads that are refused whole. */
const UPLOADS: [name: string, upload: () => Upload, sentence: string][] = [
  ['no config.json', () => uploadOf({ '.vercel/output/static/a': '' }), `${CONFIG} is missing.`],
  ['no JSON', () => uploadOf({ [CONFIG]: 'version: 3' }), `${CONFIG} is not JSON in UTF-8.`],
  [
    'more values than anyone parses',
    () => uploadOf({ [CONFIG]: `[${'[],'.repeat(100_001)}"[,{:"]` }),
    `${CONFIG} has more than 200000 values. Remove some.`,
  ],
  ['no UTF-8', () => uploadOf({ [CONFIG]: new Uint8Array([0x22, 0xff, 0x22]) }), `${CONFIG} is not JSON in UTF-8.`],
  ['a list', () => uploadOf({ [CONFIG]: '[]' }), `${CONFIG} must be an object.`],
  [
    'an absolute path',
    () => uploadOf({ '/etc/passwd': '' }),
    '/etc/passwd is absolute. Paths begin in the project folder.',
  ],
  ['an empty path', () => uploadOf({ '': '' }), ' is empty.'],
  ['a drive', () => uploadOf({ 'C:/x': '' }), 'C:/x is absolute. Paths begin in the project folder.'],
  [
    'the same name twice',
    () => ({ ...outputUpload({}), entries: [...outputUpload({}).entries, ...outputUpload({}).entries] }),
    `${CONFIG} is there twice.`,
  ],
  [
    'a device',
    () => entriesWith({ kind: 'other' }),
    'x is neither a file nor a folder nor a link. Devices, pipes and sockets are not kept.',
  ],
  ['a link without a target', () => entriesWith({ kind: 'link' }), 'x is a link without a target.'],
  [
    'a file of 101 MiB',
    () => entriesWith({ size: 101 * 1024 ** 2 }),
    `x has ${101 * 1024 ** 2} bytes. At most 104857600 are allowed.`,
  ],
  ['20,001 files', () => manyFiles(20_001, 1), 'The upload has 20001 files. At most 20000 are allowed.'],
  ['more than 1 GiB', () => manyFiles(20, 64 * 1024 ** 2), 'The upload has more than 1073741824 bytes.'],
  [
    'two files at one path',
    () => outputUpload({ overrides: { 'a.html': { path: 'b' } } }, { 'static/a.html': '', 'static/b': '' }),
    `${STATIC}/b and another file are both served at /b. Change an override.`,
  ],
  [
    'an override that leads out',
    () => outputUpload({ overrides: { a: { path: '../b' } } }, { 'static/a': '' }),
    `${CONFIG}: overrides["a"].path leaves the output with "..". Remove it.`,
  ],
]

function entriesWith(part: Partial<Upload['entries'][number]>): Upload {
  const upload = outputUpload({})
  return { ...upload, entries: [...upload.entries, { path: 'x', kind: 'file', size: 0, mode: 0, digest: '', ...part }] }
}

function manyFiles(count: number, size: number): Upload {
  const entries = Array.from({ length: count }, (_, at) => ({
    path: `f${at}`,
    kind: 'file' as const,
    size,
    mode: 0o100644,
    digest: '',
  }))
  return { entries, read: () => Promise.reject(new Error('nothing is read of an upload that is over budget')) }
}

for (const [name, upload, sentence] of UPLOADS) {
  test(`an upload is refused: ${name}`, async () => {
    assert.deepEqual(await faultsOf(upload()), [sentence])
  })
}

test('a config.json of 40 MB is refused by its size, without reading it', async () => {
  const upload = uploadOf({ [CONFIG]: '' })
  const entries = upload.entries.map((entry) => ({ ...entry, size: 40_000_000 }))
  const read = () => Promise.reject(new Error('it was read'))
  assert.deepEqual(await faultsOf({ entries, read }), [
    `${CONFIG} has 40000000 bytes. At most ${OUTPUT_LIMITS.configBytes} are allowed.`,
  ])
})

test('configurations of functions share a budget', async () => {
  const contents = Object.assign({}, ...Array.from({ length: 40 }, (_, at) => nodeFunction(`f${at}`)))
  const upload = outputUpload({}, contents)
  const entries = upload.entries.map((entry) =>
    entry.path.endsWith('.vc-config.json') ? { ...entry, size: 1024 ** 2 } : entry,
  )
  const faults = await faultsOf({ ...upload, entries })
  assert.equal(faults.length, 8)
  assert.match(faults[0]!, /\.vc-config\.json and the files like it have too many bytes together\.$/)
})

test('at most 20 errors are named, and the number of the others', async () => {
  const routes = Array.from({ length: 50 }, () => ({ src: '(' }))
  const faults = await faultsOf(outputUpload({ routes }))
  assert.equal(faults.length, 21)
  assert.equal(faults[20], '30 more errors are not listed.')
})
