/** Transforms of headers: which names they may change, and what they cost. docs/deploying-sites.md: Router. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deserialize, serialize } from 'node:v8'
import type { Header, Match, Transform } from '../../../src/delivery/protocol/routing-manifest.ts'
import type { ResponseTransform } from '../../../src/sites/router/decision.ts'
import { RoutingError } from '../../../src/sites/router/destination.ts'
import { resolve } from '../../../src/sites/router/resolve.ts'
import { responseHeaders } from '../../../src/sites/router/response-headers.ts'
import { openSite } from '../../../src/sites/router/site.ts'
import { fairCostOf } from '../../attacks/processor-time.ts'
import { faultsOf, outputUpload, validOutput } from '../../delivery/outputs/upload.ts'
import { assertWithin } from '../../support/time-limits.ts'
import { lineOf, requestOf, siteOf } from './sites.ts'

/** Names that no deployment may set, in spellings of their own. */
const FORBIDDEN = ['Content-Length', 'TRANSFER-ENCODING', 'Connection', 'hOst', 'x y', 'x\r\ny', 'ü', '']

type Target = 'request.headers' | 'response.headers'

/** What a manifest of an older version may hold: it was not checked at upload. */
async function storedSite(transforms: Transform[]) {
  const output = await validOutput({ routes: [{ src: '/f' }] }, { 'functions/f.func/.vc-config.json': VC, ...INDEX })
  const manifest = structuredClone(output.manifest)
  manifest.phases.none[0]!.transforms = transforms
  return openSite(manifest)
}

const VC = JSON.stringify({ runtime: 'nodejs24.x', handler: 'index.js', launcherType: 'Nodejs' })
const INDEX = { 'functions/f.func/index.js': '' }

function setting(target: Target, match: Match): Transform {
  return { target, op: 'set', match, args: ['1'] }
}

test('no transform of a stored manifest changes what frames a message, or a name that is none, however it is spelled', async () => {
  for (const target of ['request.headers', 'response.headers'] as const) {
    const matches: Match[] = [
      ...FORBIDDEN.map((eq) => ({ eq })),
      { inc: FORBIDDEN },
      { pre: 'CONTENT-L' },
      { eq: 'X-Own' },
    ]
    const site = await storedSite(matches.map((match) => setting(target, match)))
    const decision = resolve(site, requestOf('GET /f', { host: 'a.example', 'content-length': '3' }))
    assert.ok(decision.kind === 'function')
    const headers =
      target === 'response.headers'
        ? responseHeaders(decision, [{ name: 'content-length', value: '3' }]).map(({ name, value }) => [name, value])
        : decision.invocation.headers?.filter(([name]) => name !== 'host')
    assert.deepEqual(headers, [
      ['content-length', '3'],
      ['x-own', '1'],
    ])
    if (target === 'request.headers') assert.equal(new Map(decision.invocation.headers).get('host'), 'a.example')
  }
  const given = { op: 'set' as const, match: { eq: 'Content-Length' }, value: '1' }
  assert.deepEqual(
    responseHeaders({ headers: [], responseTransforms: [given] }, []),
    [],
    'nor one that is only decided',
  )
})

test('an upload has the names of headers in lower case, without those that the server writes', async () => {
  const keys = ['X-A', { eq: 'X-B' }, { inc: ['X-C', 'Transfer-Encoding'] }, { suf: '-D' }]
  const ignored = ['Content-Length', { eq: 'Content-Length' }, { inc: ['Host', 'Connection'] }]
  for (const type of ['request.headers', 'response.headers']) {
    const transforms = [...keys, ...ignored].map((key) => ({ type, op: 'delete', target: { key } }))
    const { manifest, notices } = await validOutput({ routes: [{ src: '/', transforms }] })
    const matches = manifest.phases.none[0]!.transforms!.map(({ match }) => match)
    assert.deepEqual(matches, [{ eq: 'x-a' }, { eq: 'x-b' }, { inc: ['x-c'] }, { suf: '-d' }])
    const places = [2, 4, 5, 6].map((at) => `routes[0].transforms[${at}].target.key`).join(', ')
    assert.deepEqual(notices, [
      { code: 'header_ignored', message: `The server writes these headers itself, so they are ignored: ${places}.` },
    ])
  }
  const query = [{ type: 'request.query', op: 'delete', target: { key: { eq: 'Content-Length' } } }]
  const { manifest } = await validOutput({ routes: [{ src: '/', transforms: query }] })
  assert.deepEqual(manifest.phases.none[0]!.transforms![0]!.match, { eq: 'Content-Length' }, 'queries have a case')
})

test('the transforms of a deployment have at most 4,096 names', async () => {
  const transform = (count: number) => ({
    type: 'response.headers',
    op: 'delete',
    target: { key: { inc: names(count, 1) } },
  })
  const routes = (last: number) =>
    [1000, 1000, 1000, 1000, last].map((count) => ({ src: '/', transforms: [transform(count)] }))
  await validOutput({ routes: routes(96) })
  assert.deepEqual(await faultsOf(outputUpload({ routes: routes(97) })), [
    '.vercel/output/config.json: routes has 4097 names in its transforms. At most 4096 are allowed.',
  ])
})

test('comparisons with names of headers have no case', async () => {
  const keys = [
    { eq: 'X-A' },
    { inc: ['X-B', 'x-c'] },
    { pre: 'X-Pre' },
    { suf: '-SUF' },
    { ninc: ['X-E', 'x-a', 'x-b', 'x-c'] },
  ]
  const transforms = keys.map((key) => ({
    type: 'response.headers',
    op: 'append',
    target: { key },
    args: JSON.stringify(key),
  }))
  const site = await siteOf(
    {
      routes: [
        { src: '/f', transforms: transforms.slice(0, 4) },
        { src: '/g', transforms: transforms.slice(4) },
      ],
    },
    { functions: ['f', 'g'] },
  )
  const changed = (path: string) =>
    responseHeaders(
      resolve(site, requestOf(`GET ${path}`)),
      ['x-a', 'x-b', 'x-c', 'x-pre-1', 'a-suf', 'x-e'].map((name) => ({ name, value: 'own' })),
    ).flatMap(({ name, value }) => (value === 'own' ? [] : [name]))
  assert.deepEqual(changed('/f'), ['x-a', 'x-b', 'x-c', 'x-pre-1', 'a-suf'])
  assert.deepEqual(changed('/g'), ['x-pre-1', 'a-suf'])
})

/** TABLE transforms that cost the most in a response of 1,000 headers, and how many of them it may have. */
const WORST: Readonly<Record<string, { transforms: (at: number) => Omit<ResponseTransform, 'op'>; allowed: number }>> =
  {
    'comparisons with all headers': { transforms: () => ({ match: { pre: 'y' }, value: '' }), allowed: 20 },
    'names as numbers': { transforms: () => ({ match: { gt: 1 }, value: '' }), allowed: 0 },
    'long prefixes': { transforms: () => ({ match: { pre: 'y'.repeat(256) }, value: '' }), allowed: 1 },
    'long lists of names': {
      transforms: (at) => ({ match: { inc: names(1000, at), ninc: names(1000, -at) }, value: '' }),
      allowed: 6,
    },
    'long values in every header': {
      transforms: () => ({ match: { pre: 'x' }, value: 'v'.repeat(60) }),
      allowed: 4,
    },
  }

function names(count: number, of: number): string[] {
  return Array.from({ length: count }, (_, at) => `x-${of}-${at}`)
}

for (const [name, { transforms, allowed }] of Object.entries(WORST)) {
  test(`a response costs the thread that answers visitors less than 5 ms, with ${name} (a bound on time)`, async () => {
    const all = Array.from({ length: 60 }, (_, at) => ({ op: 'append' as const, ...transforms(at) }))
    const headers: Header[] = Array.from({ length: 1000 }, (_, at) => ({ name: `x-${at}`, value: '' }))
    const respond = (responseTransforms: ResponseTransform[]) =>
      responseHeaders({ headers, responseTransforms }, []).map(({ value }) => Buffer.byteLength(value))
    assert.equal(
      isAllowed(() => respond(all.slice(0, allowed))),
      true,
    )
    assert.equal(
      isAllowed(() => respond(all.slice(0, allowed + 1))),
      false,
    )
    for (const most of [all.slice(0, allowed), all]) {
      const ms = await fairCostOf(() => Number(isAllowed(() => respond(most))), 5)
      assertWithin(ms, 5)
    }
  })
}

function isAllowed(run: () => unknown): boolean {
  try {
    run()
    return true
  } catch (error) {
    assert.ok(error instanceof RoutingError)
    return false
  }
}

test('a decision sends the thread that answers visitors little, however much the rules note and set (a bound on time)', async () => {
  const rule = (match: Match): Transform[] =>
    Array.from({ length: 64 }, () => ({ ...setting('response.headers', match), op: 'delete' }))
  for (const match of [{ inc: names(1000, 1) }, { pre: 'p'.repeat(4000) }]) {
    const site = await storedSite(rule(match))
    const decision = resolve(site, requestOf('GET /f'))
    assert.equal(lineOf(decision), 'error 508 ROUTING_TOO_LARGE')
    const bytes = serialize(decision)
    assert.ok(bytes.length < 256 * 1024, `${bytes.length} bytes`)
    const ms = await fairCostOf(() => Object.keys(deserialize(bytes)).length, 5)
    assertWithin(ms, 5)
  }
  const routes = Array.from({ length: 12 }, (_, at) => ({
    src: '/f',
    headers: Object.fromEntries(names(100, at).map((name) => [name, ''])),
    continue: true,
  }))
  const many = await siteOf({ routes }, { functions: ['f'] })
  assert.equal(lineOf(resolve(many, requestOf('GET /f'))), 'error 508 ROUTING_TOO_LARGE')
  const few = await siteOf({ routes: routes.slice(0, 9) }, { functions: ['f'] })
  assert.equal(lineOf(resolve(few, requestOf('GET /f'))), 'function f')
})
