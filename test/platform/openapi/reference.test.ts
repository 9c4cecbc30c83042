/** The reference of the API at /docs: every operation and every event is on it, with its example, by the server alone. The browser: test/platform/pages/accessible.long.test.ts. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { REFUSALS } from '../../../src/errors.ts'
import { EVENT_NAMES, EVENTS } from '../../../src/events.ts'
import { refusalsOf } from '../../../src/platform/http/route.ts'
import { readEventExamples } from '../../../src/platform/openapi/events.ts'
import { curlOf, readExamples } from '../../../src/platform/openapi/examples.ts'
import { referencePages } from '../../../src/platform/openapi/reference.ts'
import { readSdkCalls, sdkText } from '../../../src/platform/openapi/sdk-calls.ts'
import { escapeText } from '../../../src/platform/pages/html.ts'
import { ROUTES } from '../../../src/routes.ts'
import { onBothEngines } from '../../support/world.ts'

/** The most bytes of a page. */
const MOST = 200_000
const SHUT =
  "default-src 'none'; style-src 'self'; font-src 'self'; manifest-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
const [index, operation] = referencePages(ROUTES)

async function pageAt(url: string): Promise<string> {
  const asked = { url, accept: undefined, acceptEncoding: undefined }
  const { status, body } = await (url.startsWith('/docs/') ? operation! : index!).answer(undefined, {}, asked)
  assert.equal(status, 200, url)
  return String(body)
}

/** The operations and events that a page lists, in its order. */
function listed(page: string): string[] {
  return [...page.matchAll(/<li id="([\w.-]+)"><a href="\/docs\/([\w.-]+)">/g)].map(([, id, to]) => {
    assert.equal(to, id)
    return id!
  })
}

test('the first page lists every operation and every event once', async () => {
  const all = [...ROUTES.map(({ operationId }) => operationId), ...EVENT_NAMES]
  assert.deepEqual(listed(await pageAt('/docs')).toSorted(), all.toSorted())
})

test('each event has a page that says when it is sent, with its headers, its example and the fields of its body', async () => {
  const examples = readEventExamples()
  for (const name of EVENT_NAMES) {
    const page = await pageAt(`/docs/${name}`)
    const has = (text: string) => assert.ok(page.includes(escapeText(text)), `${name} lacks ${text}`)
    assert.ok(page.includes(`<h1>${name}</h1>`), name)
    has(EVENTS[name].when)
    has(JSON.stringify(examples[name], null, 2))
    const fields = ['id', 'type', 'createdAt', 'region', 'payload', ...Object.keys(EVENTS[name].payload.properties)]
    for (const field of ['webhook-signature', 'x-vercel-signature', ...fields])
      assert.ok(page.includes(`<li><code>${field}</code>`), `${name} lacks the field ${field}`)
    assert.ok(page.includes(`<a href="/docs/${name}" aria-current="page">`))
  }
})

test('each operation has a page with its path, its command, its call by the SDK, its answer and every refusal', async () => {
  const examples = readExamples()
  const calls = readSdkCalls()
  for (const route of ROUTES) {
    const { operationId, method, path, summary } = route
    const page = await pageAt(`/docs/${operationId}`)
    const has = (text: string) => assert.ok(page.includes(escapeText(text)), `${operationId} lacks ${text}`)
    assert.ok(page.length < MOST, `${operationId}: ${page.length} bytes`)
    has(summary)
    assert.ok(
      page.replaceAll('<wbr>', '').includes(`<b class="method">${method}</b> <code>${path}</code>`),
      operationId,
    )
    const example = examples[operationId]!
    has(curlOf(route, example))
    const call = calls[operationId]
    if (call !== undefined) has(sdkText(call, route.reply !== undefined))
    assert.equal(page.includes('id="with-sdk"'), call !== undefined, operationId)
    if (typeof example.answer === 'object') has(JSON.stringify(example.answer, null, 2))
    for (const key of refusalsOf(route)) has(REFUSALS[key][2])
    for (const name of Object.keys({
      ...route.query?.properties,
      ...route.body?.properties,
      ...route.reply?.properties,
    }))
      assert.ok(page.includes(`<li><code>${escapeText(name)}</code>`), `${operationId} lacks the field ${name}`)
  }
})

test('a field is shown with its type, its limits, and whether it must be there', async () => {
  const page = await pageAt('/docs/createProject')
  assert.match(
    page,
    /<h2>Body<\/h2>\s*<ul class="fields"><li><code>name<\/code> <i>string<\/i> <b class="badge">required<\/b> – /,
  )
  assert.match(page, /<li><code>buildCommand<\/code> <i>string or null, at most 256 characters<\/i> – /)
  assert.match(page, /<li><code>passport<\/code> <i>refused<\/i> – Berth has no connectors/)
  assert.match(
    page,
    /<h2>Query<\/h2>\s*<ul class="fields"><li><code>teamId<\/code> <i>string<\/i> – the team to act for/,
  )
  assert.match(
    page,
    /<li><code>env<\/code> <i>array of object<\/i> <b class="badge">not always<\/b>.*<summary>Fields of env<\/summary>/,
  )
  assert.match(
    await pageAt('/docs/getProject'),
    /<li><code>idOrName<\/code> <i>string<\/i> <b class="badge">required<\/b>/,
  )
})

test('a search finds operations by their names, then by fields and refusals, and shows what was typed as text', async () => {
  const found = await pageAt('/docs?search=pause+project')
  assert.deepEqual(listed(found.split('id="inside"')[0]!), ['pauseProject', 'unpauseProject'])
  assert.match(found, /found for “pause project”/)
  assert.equal(new Set(listed(found)).size, listed(found).length, 'none is listed twice')
  const inside = (await pageAt('/docs?search=customerSupportCodeVisibility')).split('id="inside"')
  assert.deepEqual(listed(inside[0]!), [])
  assert.ok(listed(inside[1]!).includes('updateProject'))
  assert.ok(listed(await pageAt('/docs?search=TOO_MANY_IDS')).length > 0)
  assert.deepEqual(listed((await pageAt('/docs?search=domain.moved')).split('id="inside"')[0]!), [
    'project.domain.moved',
  ])
  const fields = (await pageAt('/docs?search=previousUserId')).split('id="inside"')
  assert.deepEqual(listed(fields[1]!), ['integration-configuration.transferred'])
  assert.match(await pageAt('/docs?search=nothing+at+all'), /<p role="status">0 found/)
  assert.ok((await pageAt(`/docs?search=${encodeURIComponent('"><script>')}`)).includes('“&quot;&gt;&lt;script&gt;”'))
  assert.ok((await pageAt('/docs?search=%zz&search=a')).length > 0)
})

onBothEngines(
  'the service shows the pages without a token, blocks all but their stylesheets, and a browser caches them',
  async (world) => {
    const ask = world.as(undefined)
    for (const url of ['/docs', '/docs/createProject', '/docs/project.created', '/docs?search=env', '/docs/nothing']) {
      const answer = await ask.try('GET', url)
      assert.equal(answer.status, url === '/docs/nothing' ? 404 : 200, url)
      assert.equal(answer.headers['content-type'], 'text/html; charset=utf-8')
      assert.equal(answer.headers['content-security-policy'], SHUT)
      const { 'referrer-policy': referrer, 'x-frame-options': frames, 'cache-control': cache } = answer.headers
      assert.deepEqual([referrer, frames, cache], ['no-referrer', 'DENY', 'public, max-age=300'])
      const asked = [...answer.text.matchAll(/<(?:link|script|img|iframe)\b[^>]*?(?:href|src)="([^"]*)"/g)].map(
        ([, to]) => to!,
      )
      assert.equal(asked.length, 4, 'mark, manifest, font and stylesheet, and nothing else')
      for (const path of asked) {
        assert.match(path, /^\/assets\//)
        assert.equal((await ask('GET', path)).status, 200, path)
      }
      assert.doesNotMatch(answer.text, /<script|<style| style=| on\w+=/)
    }
  },
)

test('what a browser gets compressed is the same page, also when it is asked for again', async () => {
  const asked = { url: '/docs/createProject', accept: undefined, acceptEncoding: 'gzip' }
  for (const _ of [1, 2]) {
    const { body, headers } = await operation!.answer(undefined, {}, asked)
    assert.equal(headers!['content-encoding'], 'gzip')
    assert.equal(gunzipSync(body).toString(), await pageAt('/docs/createProject'))
  }
})
