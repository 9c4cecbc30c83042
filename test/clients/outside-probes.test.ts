/** What is wrong with a response, as probes of another project say it. docs/testing.md: Outside builds. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { askProbes, type Deployed, type Probe } from './outside/probes.ts'

/** A page, and redirects to it. */
const SITE: Deployed = {
  host: 'site.example',
  visit: async (path, { method, headers, body }) => {
    const location = ({ '/old': '/new?a=1', '/away': 'https://other.example/' } as Record<string, string>)[path]
    const text = [method, path, headers.a, body].join(' ').trim()
    return { status: location ? 307 : 200, headers: { 'x-one': '1', ...(location && { location }) }, text }
  },
  log: async () => 'installed\nbuilt',
}

/** TABLE probe → whether it passes. */
const PROBES: readonly [probe: Probe, passes: boolean][] = [
  [{ path: '/', status: 200 }, true],
  [{ path: '/', status: 404 }, false],
  [{ path: '/', mustContain: 'GET /' }, true],
  [{ path: '/', mustContain: 'POST' }, false],
  [{ path: '/', mustNotContain: 'POST' }, true],
  [{ path: '/', mustNotContain: 'GET' }, false],
  [{ path: '/', headers: { a: 'b' }, bodyMustBe: 'GET / b' }, true],
  [{ path: '/', bodyMustBe: 'GET' }, false],
  [{ path: '/', method: 'POST', body: { a: 1 }, mustContain: 'POST /  {"a":1}' }, true],
  [{ path: '/', responseHeaders: { 'X-One': '1' } }, true],
  [{ path: '/', responseHeaders: { 'X-One': '/^\\d$/' } }, true],
  [{ path: '/', responseHeaders: { 'X-One': '2' } }, false],
  [{ path: '/', responseHeaders: { 'x-two': null } }, true],
  [{ path: '/', responseHeaders: { 'x-one': null } }, false],
  [{ path: '/', responseHeaders: { 'x-two': '2' } }, false],
  [{ path: '/', notResponseHeaders: { 'x-one': '2' } }, true],
  [{ path: '/', notResponseHeaders: { 'x-one': '1' } }, false],
  [{ path: '/old', status: 200, mustContain: '/new?a=1' }, true],
  [{ path: '/old', status: 307, fetchOptions: { redirect: 'manual' } }, true],
  [{ path: '/away', status: 307 }, true],
  [{ path: '', logMustContain: 'built' }, true],
  [{ path: '', logMustContain: 'failed' }, false],
  [{ path: '', logMustNotContain: 'failed' }, true],
  [{ path: '', logMustNotContain: 'built' }, false],
]

test('a probe passes where the response has what it says, and only there', async () => {
  const probes = PROBES.map(([probe]) => probe)
  const probed = await askProbes('folder', [...probes, { path: '', delay: 1 }], SITE)
  assert.deepEqual(
    probed.map(({ name, fault }) => [name, fault === undefined]),
    PROBES.map(([, passes], at) => [probed[at]!.name, passes]),
    JSON.stringify(probed),
  )
})
