/** What a build leaves for the next one: who reads it, who writes it, and when it goes. docs/runner.md: Build cache. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { pino } from 'pino'
import type { Lease } from '../../src/delivery/protocol/runner-protocol.ts'
import { openBuildCache } from '../../src/runner/cache/build-cache.ts'
import { cacheKeysOf, skipsCache } from '../../src/runner/cache/cache-key.ts'
import { type CacheBudget, planEviction } from '../../src/runner/cache/eviction.ts'
import { leaseOf } from './protocol-server.ts'

const skip = spawnSync('tar', ['--version'], { encoding: 'utf8' }).stdout?.includes('GNU tar')
  ? false
  : 'needs tar of GNU'
const LARGE: CacheBudget = { bytes: 2 ** 40, accountBytes: 2 ** 40, entries: 100 }
const PRODUCTION = cacheKeysOf(leaseOf({ target: 'production' }), 22)
const PREVIEW = cacheKeysOf(leaseOf(), 22)

function temporary(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'berth-cache-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Opens a cache, and workspaces with files. */
async function open(t: TestContext, budget = LARGE, maxInside = 2 ** 40, unpackMs = 300_000) {
  const top = temporary(t)
  const folder = join(top, 'cache')
  const cache = await openBuildCache({ folder, budget, maxInside, unpackMs, log: pino({ level: 'silent' }) })
  const workspaceWith = (files: Record<string, string>) => {
    const place = temporary(t)
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(place, path)), { recursive: true })
      writeFileSync(join(place, path), text)
    }
    const { uid, gid } = statSync(place)
    return { folder: place, owner: { uid, gid } }
  }
  return { cache, folder, workspaceWith }
}

const BUILT = {
  'package.json': '{}',
  'node_modules/a/index.js': 'a',
  'apps/web/node_modules/b/index.js': 'b',
  'apps/web/.next/cache/c': 'c',
  'apps/web/.next/server/d': 'd',
  '.vercel/output/functions/f.func/node_modules/e/index.js': 'e',
}

test('packages and caches of frameworks are kept, and what the source has stays', { skip }, async (t) => {
  const { cache, workspaceWith } = await open(t)
  const built = workspaceWith(BUILT)
  mkdirSync(join(built.folder, 'node_modules/.bin'))
  symlinkSync('../a/index.js', join(built.folder, 'node_modules/.bin/a'))
  chmodSync(join(built.folder, 'node_modules/a/index.js'), 0o755)
  await cache.save(PRODUCTION, built, t.signal)
  const next = workspaceWith({ 'package.json': 'new', 'node_modules/a/index.js': 'of the source' })
  assert.equal(await cache.restore(PRODUCTION, next, t.signal), 'restored')
  const text = (path: string) => readFileSync(join(next.folder, path), 'utf8')
  assert.equal(text('package.json'), 'new')
  assert.equal(text('node_modules/a/index.js'), 'of the source')
  assert.equal(text('apps/web/node_modules/b/index.js'), 'b')
  assert.equal(text('apps/web/.next/cache/c'), 'c')
  assert.ok(lstatSync(join(next.folder, 'node_modules/.bin/a')).isSymbolicLink())
  assert.deepEqual(readdirSync(join(next.folder, 'apps/web/.next')), ['cache'])
  assert.ok(!existsSync(join(next.folder, '.vercel')))
  const other = workspaceWith({})
  await cache.restore(PRODUCTION, other, t.signal)
  assert.equal(statSync(join(other.folder, 'node_modules/a/index.js')).mode & 0o777, 0o755)
})

test('a preview reads the cache of production, and never changes it', { skip }, async (t) => {
  const { cache, workspaceWith } = await open(t)
  await cache.save(PRODUCTION, workspaceWith({ 'node_modules/a': 'good' }), t.signal)
  const preview = workspaceWith({})
  assert.equal(await cache.restore(PREVIEW, preview, t.signal), 'restored')
  writeFileSync(join(preview.folder, 'node_modules/a'), 'poisoned')
  await cache.save(PREVIEW, preview, t.signal)
  const read = async (keys: typeof PREVIEW) => {
    const workspace = workspaceWith({})
    await cache.restore(keys, workspace, t.signal)
    return readFileSync(join(workspace.folder, 'node_modules/a'), 'utf8')
  }
  assert.equal(await read(PRODUCTION), 'good')
  assert.equal(await read(PREVIEW), 'poisoned')
})

test('caches are separate by project, trust, branch, environment and version of Node.js', () => {
  const keys = [
    cacheKeysOf(leaseOf(), 22),
    cacheKeysOf(leaseOf(), 24),
    cacheKeysOf(leaseOf({ target: 'production' }), 22),
    cacheKeysOf(leaseOf({ environment: 'staging' }), 22),
    cacheKeysOf(leaseOf({ branch: 'main' }), 22),
    cacheKeysOf(leaseOf({ branch: 'next' }), 22),
    cacheKeysOf(leaseOf({ project: { ...leaseOf().project, id: 'prj_2' } }), 22),
  ]
  assert.equal(new Set(keys.map(({ own }) => own)).size, keys.length)
  assert.equal(new Set(keys.map(({ own }) => own.split('.')[0])).size, 1)
  assert.deepEqual(PRODUCTION.readable, [PRODUCTION.own])
  assert.deepEqual(PREVIEW.readable, [PREVIEW.own, PRODUCTION.own])
  assert.deepEqual(cacheKeysOf(leaseOf({ deploymentId: 'dpl_2', attempt: 3 }), 22), PREVIEW)
})

test('the cache of a preview is that of its branch, whatever its variables say', () => {
  const ownOf = (changes: Partial<Lease>) => cacheKeysOf(leaseOf(changes), 22).own
  const env = { VERCEL_GIT_COMMIT_REF: 'main' }
  assert.equal(ownOf({ branch: 'feature', env }), ownOf({ branch: 'feature', env: {} }))
  assert.equal(ownOf({ branch: null, env }), ownOf({ branch: null, env: {} }))
  assert.notEqual(ownOf({ branch: 'feature', env }), ownOf({ branch: 'main', env }))
  assert.equal(ownOf({ env }), ownOf({ branch: 'main' }), 'of a control plane that sends no branch')
})

test('a create or a variable asks for a build without the cache', () => {
  const { settings } = leaseOf()
  assert.ok(!skipsCache(leaseOf()))
  assert.ok(skipsCache({ settings: { ...settings, skipsCache: true }, env: {} }))
  assert.ok(skipsCache({ settings, env: { VERCEL_FORCE_NO_BUILD_CACHE: '1' } }))
})

test('a damaged cache is removed with all that was unpacked, and what the source has stays', { skip }, async (t) => {
  const { cache, folder, workspaceWith } = await open(t)
  const text = Array.from({ length: 300_000 }, (_, at) => Math.sin(at)).join('')
  const built = { 'node_modules/a': 'a', 'node_modules/b/c': 'c', 'node_modules/z': text, 'web/.yarn/cache/a': 'a' }
  await cache.save(PRODUCTION, workspaceWith(built), t.signal)
  const [name] = readdirSync(folder)
  const bytes = readFileSync(join(folder, name!))
  writeFileSync(join(folder, name!), bytes.subarray(0, bytes.length - 1000))
  const own = { 'package.json': '{}', 'node_modules/b/d e\n': 'of the source', 'web/.yarn/cache/b': 'b' }
  const next = workspaceWith(own)
  symlinkSync('b', join(next.folder, 'node_modules/link'))
  const before = readdirSync(next.folder, { recursive: true }).sort()
  assert.equal(await cache.restore(PRODUCTION, next, t.signal), 'failed')
  assert.deepEqual(readdirSync(folder), [])
  assert.deepEqual(readdirSync(next.folder, { recursive: true }).sort(), before)
  for (const [path, content] of Object.entries(own))
    assert.equal(readFileSync(join(next.folder, path), 'utf8'), content)
  const bare = workspaceWith({ 'package.json': '{}' })
  writeFileSync(join(folder, name!), bytes.subarray(0, bytes.length - 1000))
  assert.equal(await cache.restore(PRODUCTION, bare, t.signal), 'failed')
  assert.ok(!existsSync(join(bare.folder, 'node_modules')))
  assert.equal(await cache.restore(PRODUCTION, next, t.signal), 'none')
})

test('a cache that takes too long to unpack is removed, and the build goes on', { skip }, async (t) => {
  const { cache, folder, workspaceWith } = await open(t, LARGE, 2 ** 40, 1)
  const text = Array.from({ length: 300_000 }, (_, at) => Math.sin(at)).join('')
  await cache.save(PRODUCTION, workspaceWith({ 'node_modules/a': text }), t.signal)
  assert.equal(readdirSync(folder).length, 1)
  const canceled = AbortSignal.abort(new Error('canceled'))
  await assert.rejects(cache.restore(PRODUCTION, workspaceWith({}), canceled), /canceled/)
  assert.equal(readdirSync(folder).length, 1, 'a build that ends leaves it')
  assert.equal(await cache.restore(PRODUCTION, workspaceWith({}), t.signal), 'failed')
  assert.deepEqual(readdirSync(folder), [])
})

test('an empty cache and one over budget are not stored', { skip }, async (t) => {
  const text = Array.from({ length: 10_000 }, (_, at) => Math.sin(at)).join('')
  const built = { 'node_modules/a': text }
  const kept = async (files: Record<string, string>, budget = LARGE, maxInside = 2 ** 40) => {
    const { cache, folder, workspaceWith } = await open(t, budget, maxInside)
    await cache.save(PRODUCTION, workspaceWith(files), t.signal)
    return readdirSync(folder).length
  }
  assert.equal(await kept(built), 1)
  assert.equal(await kept({ 'index.html': text }), 0)
  assert.equal(await kept(built, { ...LARGE, accountBytes: 10_000 }), 0)
  assert.equal(await kept(built, LARGE, 100_000), 0)
})

test('a restored cache counts as used', { skip }, async (t) => {
  const { cache, folder, workspaceWith } = await open(t)
  await cache.save(PRODUCTION, workspaceWith({ 'node_modules/a': 'a' }), t.signal)
  const file = join(folder, readdirSync(folder)[0]!)
  utimesSync(file, 1000, 1000)
  await cache.restore(PRODUCTION, workspaceWith({}), t.signal)
  assert.ok(statSync(file).mtimeMs > 1_000_000)
})

test('the least recently used go first, of an account that has too much and of all', () => {
  /** `a5`: 5 bytes of the account a. Later ones were used later. */
  const plan = (names: string, budget: Partial<CacheBudget>) =>
    planEviction(
      names.split(' ').map((name, usedAt) => ({ name, account: name[0]!, bytes: Number(name[1]), usedAt })),
      { ...LARGE, ...budget },
    )
      .map(({ name }) => name)
      .join(' ')
  assert.equal(plan('a5 b5 a4', {}), '')
  assert.equal(plan('a5 b5 a4', { accountBytes: 8 }), 'a5')
  assert.equal(plan('a5 b5 a4', { bytes: 9 }), 'a5')
  assert.equal(plan('a1 b5 a4', { bytes: 5 }), 'b5')
  assert.equal(plan('a1 b1 c1 d1', { entries: 2 }), 'a1 b1')
})
