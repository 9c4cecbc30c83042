/**
 * The router against cases of another project: the fixtures of `build-output-router`, read from the folder `fixtures` of a clone that
 * BERTH_OUTSIDE_FIXTURES names. They are not in this repository; without the folder the test is skipped. docs/testing.md.
 */
import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import type { Decision } from '../../src/sites/router/decision.ts'
import { resolve } from '../../src/sites/router/resolve.ts'
import { openSite, type Site } from '../../src/sites/router/site.ts'
import { validOutput } from '../delivery/outputs/upload.ts'
import { headersOf, requestOf } from '../sites/router/sites.ts'
import { type SuiteCase, type SuiteSet, sets } from './router-suite.ts'

const folder = process.env.BERTH_OUTSIDE_FIXTURES ?? ''

/** TABLE the cases that fail, with the reason. */
const KNOWN: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    ['', '/en', '/fr', '/nl', '/es', '/de'].map((locale) => [
      `i18n ${locale}/gsp/test`,
      'wants the parameter `slug` next to `nxtPslug`: an addition of that router, which no route of the configuration makes',
    ]),
  ),
  'i18n /de': 'wants a route with a slash after the language to match without it: a special case of that router',
  'infinite-loop /infinite': 'wants 500 where rules send a request in circles and nothing is found; here it is 404',
}

test('66 outside cases of routing pass, but for the eight that are known', { skip: !existsSync(folder) }, async () => {
  const hooks = registerHooks({ resolve: (name, context, next) => next(standIn(name), context) })
  for (const name of readdirSync(folder).sort()) {
    const spec = join(folder, name, `${name}.spec.ts`)
    if (existsSync(spec)) await import(pathToFileURL(spec).href)
  }
  hooks.deregister()
  const outcomes = (await Promise.all(sets.map(outcomesOf))).flat()
  assert.equal(outcomes.length, 66)
  assert.deepEqual(
    outcomes
      .filter(({ passed }) => !passed)
      .map(({ name }) => name)
      .sort(),
    Object.keys(KNOWN).sort(),
  )
})

/** Their imports have no ending, and name a module of theirs that runs the cases. */
function standIn(name: string): string {
  if (name.endsWith('/run-test-set')) return new URL('router-suite.ts', import.meta.url).href
  return /^\.\/[a-z-]+$/.test(name) ? `${name}.ts` : name
}

async function outcomesOf(set: SuiteSet): Promise<{ name: string; passed: boolean }[]> {
  const site = await siteOf(set)
  return set.cases.flatMap((one) =>
    one.paths.map((path) => ({ name: `${set.name} ${path}`, passed: passes(set, one, decide(site, one, path)) })),
  )
}

async function siteOf({ config, fileSystem }: SuiteSet): Promise<Site> {
  const { manifest } = await validOutput(config)
  for (const [path, { type, entrypoint }] of Object.entries(fileSystem)) {
    if (type === 'static') manifest.files.push({ path, digest: '', size: 0, contentType: '' })
    else {
      const name = entrypoint!
      const bundle = {
        name,
        kind: 'edge' as const,
        runtime: 'edge',
        entrypoint: '',
        streaming: false,
        webApi: false,
        helpers: false,
      }
      manifest.functionPaths.push({ path, bundle: manifest.functions.push(bundle) - 1 })
    }
  }
  return openSite(manifest)
}

function decide(
  site: Site,
  { input: { host = 'localhost', method = 'GET', headers = {} } }: SuiteCase,
  path: string,
): Decision {
  const lower = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])
  return resolve(site, requestOf(`${method} ${path}`, Object.fromEntries(lower), host))
}

function passes(set: SuiteSet, { expected }: SuiteCase, decision: Decision): boolean {
  const { refresh: _, ...ruled } = headersOf(decision)
  const { status, data, headers } = answerOf(set, decision)
  const sorted = (all: object) => JSON.stringify(Object.entries(all).sort())
  return (
    status === expected.status &&
    data === expected.data &&
    sorted({ ...headers, ...ruled }) === sorted(expected.headers ?? {})
  )
}

/** What a server of theirs would answer. Their functions answer their own path and query. */
function answerOf(
  set: SuiteSet,
  decision: Decision,
): { status: number; data: string; headers: Record<string, string> } {
  if (decision.kind === 'file') {
    const { path = decision.file.path, headers } = set.fileSystem[decision.file.path]!
    return { status: decision.status, data: textOf(set, path), headers }
  }
  if (decision.kind === 'function') {
    const params = [...new URLSearchParams(decision.invocation.search)]
    const data = JSON.stringify({ file: decision.bundle.name, params })
    return { status: decision.status ?? 200, data, headers: { 'content-type': 'text/plain;charset=UTF-8' } }
  }
  if (decision.kind === 'redirect')
    return { status: decision.status, data: '', headers: { location: decision.location } }
  return { status: 'status' in decision ? (decision.status ?? 0) : 0, data: '', headers: {} }
}

function textOf({ name }: SuiteSet, path: string): string {
  const file = join(folder, name, 'output', path)
  return readFileSync(existsSync(file) ? file : `${file}.html`, 'utf8')
}
