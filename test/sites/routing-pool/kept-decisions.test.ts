/** Decisions that the pool keeps are those that the router gives each request. docs/deploying-sites.md: Patterns. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Worker } from 'node:worker_threads'
import fc from 'fast-check'
import type { Decision, Subject } from '../../../src/sites/router/decision.ts'
import type { VisitorRequest } from '../../../src/sites/router/request.ts'
import { resolve } from '../../../src/sites/router/resolve.ts'
import { openSite } from '../../../src/sites/router/site.ts'
import { createDecisionCache } from '../../../src/sites/routing-pool/decision-cache.ts'
import { openRoutingPool } from '../../../src/sites/routing-pool/pool.ts'
import { lineOf, manifestOf, requestOf, type SiteFiles } from '../router/sites.ts'

const PAGE = { type: 'Prerender', expiration: 60, allowQuery: ['id'] }
const has = (type: string, key: string, value?: unknown) => ({ type, key, ...(value !== undefined && { value }) })
const named = (value: string) => `(?<x>${value})`

/** As Next.js builds: payloads by header, pages that conditions bypass, and parameters of a page in its query. */
const NEXT = {
  routes: [
    { src: '^/old$', status: 308, headers: { location: '/a' } },
    { src: '/admin/.*', missing: [has('cookie', 'a')], status: 307, headers: { location: '/a' } },
    { src: '^/(.*)$', has: [has('header', 'next-router-prefetch', '1')], headers: { vary: 'rsc, $1' }, continue: true },
    {
      src: '^/(?!.+\\.rsc)(.+)$',
      has: [has('header', 'rsc', '1')],
      dest: '/$1.rsc',
      headers: { vary: 'rsc' },
      continue: true,
      override: true,
    },
    { handle: 'filesystem' },
    { handle: 'rewrite' },
    { src: '^/post/(?<id>[^/]+?)(?:\\.rsc)?$', dest: '/post/[id]?id=$id', check: true },
    { handle: 'error' },
    { src: '/.*', dest: '/404', status: 404 },
  ],
}
const BYPASSED = { ...PAGE, experimentalBypassFor: [has('header', 'next-action'), has('cookie', 'l', 'd.*')] }

/** TABLE what deployments look at. Each site has the files below. */
const SITES: Record<string, [config: object, files?: SiteFiles]> = {
  'Next.js': [NEXT, { prerenders: { 'post/[id]': PAGE, 'a.rsc': BYPASSED, b: BYPASSED }, functions: ['admin/c'] }],
  'values in headers and destinations': [
    {
      routes: [
        { src: '/a', has: [has('cookie', 'a', named('.*'))], headers: { 'x-a': '$x' }, continue: true },
        { src: '/b', has: [has('query', 'a')], dest: '/a', headers: { 'x-a': '$a' } },
        { src: '/c', has: [has('header', 'rsc')], missing: [has('header', 'h')], dest: '/$rsc' },
      ],
    },
  ],
  hosts: [
    {
      routes: [
        { src: '/a', has: [has('host', '', 'other.example')], dest: '/b' },
        { src: '/b', missing: [has('host', '', 'other.example')], status: 403 },
        { src: '/c', methods: ['GET'], has: [has('header', 'h')], dest: '/f' },
      ],
    },
  ],
  'domains of languages': [
    {
      routes: [
        { src: '/', locale: { redirect: { de: 'https://other.example/', fr: '/b' }, cookie: 'l' }, continue: true },
        { src: '/(.*)', headers: { 'x-w': '$wildcard' }, continue: true },
      ],
      wildcard: [
        { domain: 'site.example', value: '1' },
        { domain: 'other.example', value: '2' },
      ],
    },
  ],
  'changed queries and headers': [
    {
      routes: [
        {
          src: '/(a|f)',
          transforms: [
            { type: 'request.query', op: 'set', target: { key: 'a' }, args: '2' },
            { type: 'request.headers', op: 'delete', target: { key: 'rsc' } },
          ],
          continue: true,
        },
        { src: '/a', has: [has('query', 'a', '2')], headers: { 'x-q': '$a' }, continue: true },
        { src: '/a', has: [has('header', 'rsc')], dest: '/b' },
        { src: '/b', dest: '/f?a=1' },
        { src: '/c', dest: '/a?a=1' },
      ],
    },
  ],
  'headers of responses': [
    {
      routes: [
        {
          src: '/.*',
          has: [has('cookie', 'l', named('.*'))],
          transforms: [{ type: 'response.headers', op: 'set', target: { key: 'x-l' }, args: '$x' }],
          continue: true,
        },
        { src: '/b', mitigate: { action: 'deny' }, has: [has('query', 'b')] },
      ],
    },
    { functions: ['f'] },
  ],
  middleware: [{ routes: [{ src: '/(a|b)', middlewarePath: 'f', missing: [has('header', 'h')], continue: true }] }],
  pictures: [
    {
      images: { sizes: [16, 640], domains: [] },
      routes: [{ src: '/a', has: [has('header', 'h')], dest: '/_vercel/image' }],
    },
  ],
}
const FILES = { files: ['a', 'b', 'c', 'index.html', '404'], functions: ['f'] }

const path = fc.constantFrom(...['/', '/a', '/b', '/c', '/f', '/none', '/old', '/post/1', '/admin/c', '/_vercel/image'])
const search = fc.constantFrom(
  ...['', '?', '?a', '?a=1', '?a=2', '?a=1&a=2', '?a=2&a=1', '?a=%31', '?A=1', '?b=1', '?url=/a&w=16&q=75'],
)
const headers = fc.record(
  {
    rsc: fc.constantFrom('', '1', '1, 1', 'null'),
    h: fc.constantFrom('', 'x'),
    'next-action': fc.constant('x'),
    'next-router-prefetch': fc.constantFrom('1', '2'),
    'accept-language': fc.constantFrom('de', 'fr;q=0.1,de', 'fr'),
    cookie: fc.constantFrom('', 'a', 'a=', 'a=1', 'a=2; a=1', 'a=%31', 'A=1', 'l=fr', 'l=de;a=1', 'l=d', 'b=1'),
  },
  { requiredKeys: [] },
)
const requests = fc
  .record({
    line: fc.tuple(fc.constantFrom('GET', 'GET', 'GET', 'GET', 'HEAD', 'POST'), path, search),
    headers,
    host: fc.constantFrom('site.example', 'Site.Example:80', 'other.example', ''),
    listsFolders: fc.boolean(),
  })
  .map(({ line: [method, target, query], headers, host, listsFolders }) => ({
    ...requestOf(`${method} ${target}${query}`, headers, host),
    listsFolders,
  }))

/** The same in each run. */
function sampleOf(count: number): VisitorRequest[] {
  return fc.sample(requests, { seed: 7, numRuns: count })
}

function manifestAt(name: string) {
  const [config, own] = SITES[name]!
  const functions = [...new Set([...FILES.functions, ...(own?.functions ?? [])])]
  return manifestOf(config, { ...FILES, ...own, functions })
}

test('a pool gives each request what the router gives it, whatever was asked before, and asks no worker for some of them', async () => {
  let asked = 0
  // The workers of a pool keep no process running.
  const running = setInterval(() => {}, 60_000)
  const pool = openRoutingPool({
    spawn() {
      const worker = new Worker(new URL('routing-worker.ts', import.meta.url))
      worker.on('message', (message) => {
        if ('decision' in message) asked++
      })
      return worker
    },
  })
  try {
    for (const name of Object.keys(SITES)) {
      const manifest = await manifestAt(name)
      const job = { account: name, network: 'v', site: name, manifest: JSON.stringify(manifest) }
      const site = openSite(manifest)
      const all = sampleOf(300)
      asked = 0
      for (const request of all) {
        const decision = await pool.ask({ ...job, question: { kind: 'resolve', request } })
        assert.deepEqual(decision, structuredClone(resolve(site, request)), `${name}: ${textOf(request)}`)
      }
      assert.ok(asked < all.length * 0.9, `${name}: workers were asked ${asked} of ${all.length} times`)
    }
  } finally {
    clearInterval(running)
    await pool.close()
  }
})

function textOf({ method, host, path, search, headers }: VisitorRequest): string {
  return `${method} ${host} ${path}${search} ${JSON.stringify([...headers])}`
}

/** The requests that a cache answers with another decision than the router, if it keeps decisions as `keep` changes them. */
async function wrongOf(name: string, keep: (decision: Decision) => Decision): Promise<string[]> {
  const site = openSite(await manifestAt(name))
  const cache = createDecisionCache()
  return sampleOf(800).flatMap((request) => {
    const decision = resolve(site, request)
    const kept = cache.get(name, request)
    if (kept === undefined) cache.set(name, request, keep(decision))
    const { looked: _, ...right } = decision
    const { looked: __, ...given } = kept ?? decision
    return JSON.stringify(given) === JSON.stringify(right) ? [] : [textOf(request)]
  })
}

test('each part that rules look at counts: a cache that leaves one of them out gives wrong decisions', async () => {
  const types: Subject['type'][] = ['host', 'header', 'cookie', 'query', 'search']
  for (const left of types) {
    const without = ({ looked, ...decision }: Decision): Decision =>
      ({ ...decision, looked: new Map([...looked].filter(([, { type }]) => type !== left)) }) as Decision
    const wrong = await Promise.all(Object.keys(SITES).map((name) => wrongOf(name, without)))
    assert.ok(wrong.flat().length > 0, left)
  }
  const wrong = await Promise.all(Object.keys(SITES).map((name) => wrongOf(name, (decision) => decision)))
  assert.deepEqual(wrong.flat(), [])
})

test('a decision that is not to be used again is marked so: one that depends on all of a query, on changed headers, or on too many parts', async () => {
  for (const name of Object.keys(SITES)) {
    const wrong = await wrongOf(name, (decision) => ({ ...decision, reusable: true }))
    assert.equal(
      wrong.length > 0,
      ['Next.js', 'domains of languages', 'changed queries and headers', 'middleware'].includes(name),
      name,
    )
  }
  const many = Array.from({ length: 20 }, (_, at) => ({ src: '/a', has: [has('header', `h${at}`)], dest: '/b' }))
  const site = openSite(await manifestOf({ routes: many }, FILES))
  const { reusable, looked } = resolve(site, requestOf('GET /a'))
  assert.deepEqual([reusable, looked.size], [false, 16])
  const long = openSite(await manifestOf({ routes: [{ src: '/(x+)', dest: `/b?x=${'$1'.repeat(20)}` }] }, FILES))
  const tooLarge = resolve(long, requestOf(`GET /${'x'.repeat(1000)}?${'a&'.repeat(5000)}`))
  assert.deepEqual([lineOf(tooLarge), tooLarge.reusable], ['error 508 ROUTING_TOO_LARGE', false])
})
