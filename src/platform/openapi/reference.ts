/**
 * The API reference from the tables of routes and events: `/docs` lists and searches, `/docs/{operationId}` and `/docs/{event}` show one. Works
 * without script and without other hosts. docs/clients.md: The reference.
 */
import { gzipSync } from 'node:zlib'
import { REFUSALS } from '../../errors.ts'
import { EVENT_NAMES, EVENTS } from '../../events.ts'
import type { Probe, ProbeAnswer } from '../http/public-page.ts'
import { splitQuery } from '../http/query.ts'
import { type Route, refusalsOf } from '../http/route.ts'
import { acceptsGzip } from '../pages/compress.ts'
import { type Html, html } from '../pages/html.ts'
import { EVENTS_TAG, eventPage } from './event-page.ts'
import { type EventExamples, eventBody, readEventExamples } from './events.ts'
import { type Example, readExamples } from './examples.ts'
import { anchorOf, operationPage, operationPath } from './operation-page.ts'
import { MAX_SEARCH, REFERENCE_HEADERS, referenceDocument } from './reference-frame.ts'
import { fieldNames } from './schema-list.ts'
import { readSdkCalls, type SdkCall } from './sdk-calls.ts'

/** An entry with a page. `name`: its search text. `inside`: names of its fields and errors. `said`: the text after its title in a list. */
type Entry = {
  id: string
  title: string
  tag: string
  said: Html
  name: string
  inside: () => string
  page: () => Html
}

/** Returns the pages. The first request reads their sources; pages of entries are cached compressed. */
export function referencePages(routes: readonly Route[]): Probe[] {
  const entries = [...operationEntries(routes), ...eventEntries()]
  const byId = new Map(entries.map((entry) => [entry.id, entry]))
  const find = createSearch(entries)
  const cached = new Map<string, Buffer>()
  const pageOf = ({ title, page }: Entry) => referenceDocument(title, page())
  return [
    page('/docs', (url, zip) => sent(indexPage(entries, find, url), zip)),
    page('/docs/:operationId', (url, zip) => {
      const id = url.split('?', 1)[0]!.split('/').at(-1)!
      const entry = byId.get(id)
      if (entry === undefined) return sent(nothingPage(id), zip, 404)
      if (!zip) return sent(pageOf(entry), false)
      if (!cached.has(id)) cached.set(id, gzipSync(pageOf(entry)))
      return { status: 200, body: cached.get(id)!, headers: ZIPPED }
    }),
  ]
}

function operationEntries(routes: readonly Route[]): Entry[] {
  let tables: { examples: Record<string, Example>; calls: Record<string, SdkCall> } | undefined
  return routes.map((route) => {
    const { operationId, summary, tag } = route
    return {
      id: operationId,
      title: summary,
      tag,
      said: operationPath(route),
      name: nameText(route),
      inside: () => insideText(route),
      page() {
        tables ??= { examples: readExamples(), calls: readSdkCalls() }
        const shown = { example: tables.examples[operationId], call: tables.calls[operationId] }
        const ofTag = routes.filter((route) => route.tag === tag)
        return operationPage(route, shown, ofTag)
      },
    }
  })
}

function eventEntries(): Entry[] {
  let examples: EventExamples | undefined
  return EVENT_NAMES.map((name) => ({
    id: name,
    title: name,
    tag: EVENTS_TAG,
    said: html`${EVENTS[name].when}`,
    name: `${name} ${EVENTS[name].when} ${EVENTS_TAG}`.toLowerCase(),
    inside: () => fieldNames(eventBody(name)).join(' ').toLowerCase(),
    page() {
      examples ??= readEventExamples()
      return eventPage(name, examples[name])
    },
  }))
}

const ZIPPED = { ...REFERENCE_HEADERS, 'content-encoding': 'gzip' }

function page(path: string, answer: (url: string, zip: boolean) => ProbeAnswer): Probe {
  return {
    path,
    contentType: 'text/html; charset=utf-8',
    answer: (_, __, { url, acceptEncoding }) => answer(url, acceptsGzip(acceptEncoding)),
  }
}

function sent(text: string, zip: boolean, status = 200): ProbeAnswer {
  return zip ? { status, body: gzipSync(text), headers: ZIPPED } : { status, body: text, headers: REFERENCE_HEADERS }
}

/** `named`: entries with every search word in name, title or tag. `inside`: entries that need their fields and errors to match. */
type Found = { named: readonly Entry[]; inside: readonly Entry[] }

function createSearch(entries: readonly Entry[]): (search: string) => Found {
  const texts = entries.map((entry) => ({ entry, inside: undefined as string | undefined }))
  return (search) => {
    const words = search.toLowerCase().split(/\s+/)
    const has = (text: string) => words.every((word) => text.includes(word))
    const named = texts.filter(({ entry }) => has(entry.name))
    const others = texts.filter((entry) => {
      entry.inside ??= `${entry.entry.name} ${entry.entry.inside()}`
      return !named.includes(entry) && has(entry.inside)
    })
    return { named: named.map(({ entry }) => entry), inside: others.map(({ entry }) => entry) }
  }
}

function nameText({ method, path, operationId, summary, tag }: Route): string {
  return `${method} ${path} ${operationId} ${summary} ${tag}`.toLowerCase()
}

function insideText(route: Route): string {
  const schemas = [route.query, route.body, route.reply].filter((schema) => schema !== undefined)
  const codes = refusalsOf(route).map((key) => REFUSALS[key][1])
  return [...schemas.flatMap(fieldNames), ...codes].join(' ').toLowerCase()
}

/** The list of entries; with `?search=`, of the matching ones. */
function indexPage(entries: readonly Entry[], find: (search: string) => Found, url: string): string {
  const search = (splitQuery(url).values.search ?? '').slice(0, MAX_SEARCH).trim()
  if (search === '')
    return referenceDocument('API reference', html`<h1>API reference</h1>\n${INTRODUCTION}\n${byTag(entries)}`)
  const { named, inside } = find(search)
  const body = html`<h1>API reference</h1>
<p role="status">${named.length + inside.length} found for “${search}”. <a href="/docs">All operations and events</a></p>
${byTag(named)}
${inside.length > 0 && html`<h2 id="inside">In their fields or errors</h2>\n${listOf(inside)}`}`
  return referenceDocument(`${search} · API reference`, body, search)
}

function byTag(entries: readonly Entry[]): Html {
  const tags = [...Map.groupBy(entries, ({ tag }) => tag)]
  return html`<nav class="tags" aria-label="Topics"><ul>${tags.map(([tag]) => html`<li><a href="#${anchorOf(tag)}">${tag}</a></li>`)}</ul></nav>
${tags.map(([tag, all]) => html`<h2 id="${anchorOf(tag)}">${tag}</h2>\n${listOf(all)}\n`)}`
}

function listOf(entries: readonly Entry[]): Html {
  return html`<ul class="operations">${entries.map(
    ({ id, title, said }) => html`<li id="${id}"><a href="/docs/${id}">${title}</a> <span>${said}</span></li>\n`,
  )}</ul>`
}

function nothingPage(name: string): string {
  const body = html`<h1>There is no such operation or event</h1>
<p>No operation and no event is called “${name.slice(0, MAX_SEARCH)}”. <a href="/docs">All operations and events</a></p>`
  return referenceDocument('There is no such operation or event', body)
}

const INTRODUCTION = html`<p>Every operation of this service, and every event that it posts to <a href="#webhook-events">webhooks</a>. The same as a document: <a href="/openapi.json">OpenAPI 3.1</a>.</p>
<dl class="facts">
<dt>Authentication</dt><dd>Send <code>Authorization: Bearer</code> and a token. Create tokens in <a href="/console/account/tokens">the console</a>. Operations of <code>/operator/v1</code> take the operator token.</dd>
<dt>Account</dt><dd>Add <code>teamId</code> or <code>slug</code> to the query to act for a team. Without it you act for your own account.</dd>
<dt>Examples</dt><dd>They use <code>BERTH</code>, the URL of the service, and <code>TOKEN</code> from the environment. The calls of the SDK need <code>npm install @vercel/sdk</code>.</dd>
<dt>Versions</dt><dd>Every path is also available at any <code>/v1</code> to <code>/v13</code> and without a version.</dd>
<dt>Lists</dt><dd><code>limit</code> sets the page size. Send <code>pagination.next</code> as <code>until</code> to get the next page.</dd>
<dt>Idempotency</dt><dd>A write with an <code>Idempotency-Key</code> runs once, however often you send it within 24 hours.</dd>
<dt>Errors</dt><dd>They have the form <code>{"error": {"code", "message"}}</code>. A rejected request changes nothing.</dd>
</dl>`
