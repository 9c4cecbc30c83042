/** Outputs that are in order, and what becomes of them. docs/deploying-sites.md: Routing manifest. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Ajv } from 'ajv'
import { isPrebuilt, readOutput } from '../../../src/delivery/outputs/output.ts'
import { entryKind } from '../../../src/delivery/outputs/tree.ts'
import { readFunctionFiles } from '../../../src/delivery/protocol/function-files.ts'
import { RoutingManifest } from '../../../src/delivery/protocol/routing-manifest.ts'
import { digestOf, faultsOf, nodeFunction, outputUpload, uploadOf, validOutput } from './upload.ts'

const PAGE = '<p>page</p>'

test('a static output becomes files by path, with digest, size and content type', async () => {
  const { manifest, notices, functionLists } = await validOutput(
    {
      overrides: {
        'about.html': { path: 'about' },
        feed: { contentType: 'application/rss+xml' },
        'index.html': { path: '' },
      },
    },
    {
      'static/about.html': PAGE,
      'static/feed': 'x',
      'static/index.html': 'i',
      'static/a/B.JS': '',
      'static/v.m3u8': '',
      'static/c.YAML': '',
      'static/x': '',
    },
  )
  assert.deepEqual(manifest.files, [
    { path: '/about', digest: digestOf(PAGE), size: PAGE.length, contentType: 'text/html; charset=utf-8' },
    { path: '/feed', digest: digestOf('x'), size: 1, contentType: 'application/rss+xml' },
    { path: '/', digest: digestOf('i'), size: 1, contentType: 'text/html; charset=utf-8' },
    { path: '/a/B.JS', digest: digestOf(''), size: 0, contentType: 'application/javascript; charset=utf-8' },
    { path: '/v.m3u8', digest: digestOf(''), size: 0, contentType: 'application/vnd.apple.mpegurl' },
    { path: '/c.YAML', digest: digestOf(''), size: 0, contentType: 'text/yaml; charset=utf-8' },
    { path: '/x', digest: digestOf(''), size: 0, contentType: 'application/octet-stream' },
  ])
  assert.deepEqual([notices, functionLists], [[], []])
})

test('links below static/ resolve to files, also through links', async () => {
  const { manifest } = await validOutput(
    {},
    {
      'static/real.txt': 'r',
      'static/b/one.txt': { link: '../real.txt' },
      'static/two.txt': { link: './b/one.txt' },
    },
  )
  assert.deepEqual(
    manifest.files.map(({ path, digest }) => [path, digest]),
    [
      ['/real.txt', digestOf('r')],
      ['/b/one.txt', digestOf('r')],
      ['/two.txt', digestOf('r')],
    ],
  )
})

test('routes are compiled: phases, anchors, names in lower case, other names of fields', async () => {
  const { manifest } = await validOutput({
    routes: [
      {
        source: '/a',
        destination: '/b',
        statusCode: 307,
        methods: ['get'],
        unknown: 1,
        has: [{ type: 'header', key: 'X-A', value: 'v.*' }],
      },
      { handle: 'miss' },
      { src: '^/(?P<n>c)', check: true, continue: false, headers: { 'X-H': '1', 'Content-Length': '5' } },
      { handle: 'error' },
      { src: '/.*', locale: { redirect: { 'pt-BR': '/pt' } } },
      { handle: 'miss' },
      { src: '/d$' },
    ],
  })
  assert.deepEqual(manifest.phases, {
    none: [
      {
        rule: 0,
        source: '^/a$',
        methods: ['GET'],
        has: [{ type: 'header', key: 'x-a', match: { pattern: '^(?:v.*)$' } }],
        dest: '/b',
        status: 307,
      },
    ],
    miss: [
      { rule: 2, source: '^/(?<n>c)$', check: true, headers: [{ name: 'x-h', value: '1' }] },
      { rule: 6, source: '^/d$' },
    ],
    error: [{ rule: 4, source: '^/.*$', locale: { redirects: [{ locale: 'pt-br', to: '/pt' }] } }],
    filesystem: [],
    resource: [],
    rewrite: [],
    hit: [],
  })
})

test('PCRE spellings are translated, unless they are escaped or in a set', async () => {
  const sources = {
    '/(?P<n>a)(?i)': '/(?<n>a)',
    '/\\\\(?P<n>a)': '/\\\\(?<n>a)',
    '/a(\\(?i)b': '/a(\\(?i)b',
    '/\\(?P<b': '/\\(?P<b',
    '/[(?i)]x': '/[(?i)]x',
    '/[\\](?P<](?P<n>a)': '/[\\](?P<](?<n>a)',
  }
  const { manifest } = await validOutput({ routes: Object.keys(sources).map((src) => ({ src })) })
  const compiled = manifest.phases.none.map(({ source }) => source)
  assert.deepEqual(
    compiled,
    Object.values(sources).map((source) => `^${source}$`),
  )
})

test('functions: folders, links between them, files of the project, prerenders with their page', async () => {
  const upload = outputUpload(
    { framework: { slug: 'nextjs', version: '16.0.0' } },
    {
      ...nodeFunction('api/[id]', {
        filePathMap: {
          'node_modules/x/i.js': 'node_modules/x/i.js',
          'node_modules/w': 'node_modules/w',
          l: 'l',
          m: 'm',
          n: 'n',
          a: 'a',
        },
        memory: 512,
        maxDuration: 30,
        supportsResponseStreaming: true,
      }),
      'functions/api/[id].func/node_modules/y': { link: './x' },
      'functions/api/7.func': { link: '[id].func' },
      'functions/deep/a.func': { link: '../api/7.func' },
      'functions/api/7.prerender-config.json': JSON.stringify({
        type: 'Prerender',
        expiration: 60,
        group: 1,
        bypassToken: 'x'.repeat(32),
        fallback: { type: 'FileFsRef', fsPath: '7.prerender-fallback.html' },
        initialHeaders: { 'X-A': '1' },
        allowQuery: [],
        staleExpiration: null,
      }),
      'functions/api/7.prerender-fallback.html': PAGE,
      'functions/deep/a.prerender-config.json': { link: '../api/b.json' },
      'functions/api/b.json': JSON.stringify({ expiration: false }),
      'functions/edge.func/.vc-config.json': JSON.stringify({ runtime: 'edge', entrypoint: 'e.js' }),
      'functions/edge.func/e.js': '',
    },
  )
  const project = uploadOf({
    'node_modules/x/i.js': 'js',
    'node_modules/w': { link: '../w' },
    'w/i.js': '',
    a: '',
    b: 'js',
    l: { link: 'a' },
    m: { link: 'b' },
    n: { link: 'index.js' },
    'index.js': '',
  })
  const output = await readOutput({
    entries: [...upload.entries, ...project.entries],
    read: async (path) => (await upload.read(path)) ?? (await project.read(path)),
  })
  assert.ok('manifest' in output)
  const { functions, functionPaths, framework } = output.manifest
  assert.deepEqual(framework, { slug: 'nextjs', version: '16.0.0' })
  assert.deepEqual(
    functions.map(({ name, kind, entrypoint, memory: cache, maxDuration, streaming }) => [
      name,
      kind,
      entrypoint,
      cache,
      maxDuration,
      streaming,
    ]),
    [
      ['api/[id]', 'node', 'index.js', 512, 30, true],
      ['edge', 'edge', 'e.js', undefined, undefined, false],
    ],
  )
  assert.deepEqual(
    functionPaths.map(({ path, bundle, prerender }) => [path, bundle, prerender?.expiration]),
    [
      ['/api/[id]', 0, undefined],
      ['/edge', 1, undefined],
      ['/api/7', 0, 60],
      ['/deep/a', 0, false],
    ],
  )
  assert.deepEqual(functionPaths[2]?.prerender, {
    expiration: 60,
    initialHeaders: [{ name: 'x-a', value: '1' }],
    passQuery: false,
    concrete: true,
    exposeErrBody: false,
    partialFallback: false,
    group: 1,
    bypassToken: 'x'.repeat(32),
    fallback: { digest: digestOf(PAGE), size: PAGE.length, contentType: 'text/html; charset=utf-8' },
    allowQuery: [],
  })
  const [list] = output.functionLists
  assert.deepEqual(output.manifest.functions[0]!.files, { digest: list!.digest, size: list!.text.length })
  assert.equal(digestOf(list!.text), list!.digest)
  assert.deepEqual(new Set(list!.files), new Set([digestOf(''), digestOf('js')]))
  assert.deepEqual(readFunctionFiles(list!.text), {
    version: 1,
    files: [
      { path: 'index.js', digest: digestOf(''), size: 0, executable: false },
      { path: 'node_modules/x/i.js', digest: digestOf('js'), size: 2, executable: false },
      { path: 'm', digest: digestOf('js'), size: 2, executable: false },
      { path: 'a', digest: digestOf(''), size: 0, executable: false },
    ],
    links: [
      { path: 'node_modules/y', target: './x' },
      { path: 'node_modules/w', target: '../w' },
      { path: 'l', target: 'a' },
      { path: 'n', target: 'index.js' },
    ],
    environment: {},
  })
})

test('unsupported parts are listed: one message for each kind, with at most five names', async () => {
  const { notices } = await validOutput(
    {
      routes: [
        { src: '/a', middlewarePath: 'mw', continue: true, env: ['A'] },
        { src: '/b', mitigate: { action: 'challenge' }, headers: { Connection: 'close' } },
      ],
      crons: [{ path: '/api/tick', schedule: '*/5 * * * *' }],
      images: { sizes: [640], domains: [] },
      overrides: { 'gone.html': { path: 'gone' } },
    },
    {
      ...nodeFunction('mw'),
      ...Object.assign({}, ...Array.from({ length: 6 }, (_, at) => nodeFunction(`f${at}`))),
      ...nodeFunction('py', { runtime: 'python3.12', handler: 'x.y' }),
      ...nodeFunction('aws', { launcherType: undefined }),
      ...nodeFunction('aws2', { awsLambdaHandler: 'index.handler' }),
    },
  )
  assert.deepEqual(Object.fromEntries(notices.map(({ code, message }) => [code, message])), {
    variables_ignored: 'Variables in routes are not replaced: routes[0].env.',
    challenge_denies:
      'Berth has no challenge for visitors: the rules (routes[1].mitigate.action) deny the requests that they match.',
    header_ignored: 'The server writes these headers itself, so they are ignored: routes[1].headers["Connection"].',
    images_not_optimized:
      'Images will not be resized: this server runs no sandboxed functions. /_vercel/image and /_next/image send them as they are.',
    crons_not_run: 'The cron job (/api/tick) will not run: functions are off on this server.',
    functions_not_run:
      '7 functions (mw, f0, f1, f2, f3, 2 more) will not run: functions are off on this server. Visitors of these paths get status 501.',
    unsupported_runtime:
      'Berth does not run these functions, now or later: py (python3.12), aws (a handler in the form of AWS Lambda), aws2 (a handler in the form of AWS Lambda). Visitors of their paths get status 501.',
    middleware_not_run:
      'The middleware (mw) will not run: functions are off on this server. Visitors of the paths that it matches get status 501.',
    override_unused: 'These overrides of config.json name no file below static/: gone.html.',
  })
})

test('pages that are prerendered in part are listed where functions run', async () => {
  const prerender = (config: object) => JSON.stringify({ expiration: 60, ...config })
  const upload = outputUpload(
    {},
    {
      ...Object.assign({}, ...['whole', 'chained', 'shell'].map((name) => nodeFunction(name))),
      'functions/shell.html': PAGE,
      'functions/whole.prerender-config.json': prerender({ fallback: 'shell.html' }),
      'functions/chained.prerender-config.json': prerender({ chain: { outputPath: 'chained', headers: {} } }),
      'functions/shell.prerender-config.json': prerender({
        fallback: { fsPath: 'shell.html', contentType: 'application/x-nextjs-pre-render; state-length=10' },
      }),
    },
  )
  const noticesOf = async (functions: boolean) => {
    const output = await readOutput({ ...upload, runs: { functions, pictures: false } })
    assert.ok('notices' in output, JSON.stringify(output))
    return output.notices.map(({ code, message }) => [code, message])
  }
  assert.deepEqual(await noticesOf(true), [
    [
      'pages_not_partial',
      'Berth sends no page in parts, so functions render these pages whole, at each request: /chained, /shell.',
    ],
  ])
  assert.deepEqual(
    (await noticesOf(false)).map(([code]) => code),
    ['functions_not_run'],
  )
})

test('a runtime that no list names is taken: builders write the Node.js version that they ran on', async () => {
  const { manifest } = await validOutput({}, nodeFunction('f', { runtime: 'nodejs26.x' }))
  assert.equal(manifest.functions[0]?.kind, 'node')
})

test('every manifest matches its schema', async () => {
  const { manifest } = await validOutput(
    {
      routes: [
        {
          src: '/a',
          dest: '/b',
          transforms: [{ type: 'request.query', op: 'set', target: { key: { pre: 'a' } }, args: ['1'] }],
        },
        {
          src: '/b',
          missing: [{ type: 'host', value: { inc: ['a'] } }],
          locale: { redirect: { de: '/' }, cookie: 'c' },
        },
      ],
      wildcard: [{ domain: 'a.example', value: '/a' }],
      images: { sizes: [1], localPatterns: [{ pathname: '^/a$', search: '' }], remotePatterns: [{ hostname: '.*' }] },
      crons: [{ path: '/a', schedule: '0 0 * * *' }],
    },
    { 'static/a': '', ...nodeFunction('f'), 'functions/f.prerender-config.json': '{"expiration":false}' },
  )
  const validate = new Ajv({ strict: false }).compile(RoutingManifest)
  assert.ok(validate(JSON.parse(JSON.stringify(manifest))), JSON.stringify(validate.errors))
})

test('an output is distinguished from a source by its config.json', () => {
  assert.equal(isPrebuilt([{ path: 'a' }, { path: '.vercel/output/config.json' }]), true)
  assert.equal(isPrebuilt([{ path: 'output/config.json' }, { path: '.vercel/output/config.json/x' }]), false)
})

test('the modes that clients send determine the kind of an entry', () => {
  assert.deepEqual([0o100644, 0o100755, 0o120777, 0o040755, 0o666, 0o010644, 0o020644, 0o140755].map(entryKind), [
    'file',
    'file',
    'link',
    'folder',
    'file',
    'other',
    'other',
    'other',
  ])
})

test('an error of the store is not an error of the upload', async () => {
  const upload = outputUpload({})
  await assert.rejects(readOutput({ ...upload, read: () => Promise.reject(new Error('disk')) }), /disk/)
  assert.deepEqual(await faultsOf(upload), [])
})
