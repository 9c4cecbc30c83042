/** The table of operations as a page for people: what each takes, needs, answers and refuses. It works without script; a search is a question. */
import type { TSchema } from 'typebox'
import { REFUSALS } from '../errors.ts'
import { splitQuery } from '../http/query.ts'
import { type Route, refusalsOf } from '../http/route.ts'
import { COLOURS } from '../pages/assets/stylesheet.ts'
import { escapeText } from '../pages/html.ts'
import { wordsOf } from './document.ts'
import { curlOf, type Example } from './examples.ts'
import { FIELD_WORDS } from './field-words.ts'

/** Fields are shown inside fields so far; below that, their type says what they are. */
const DEEPEST = 3
const LONGEST_SEARCH = 100

/** Gives the page for an address: all operations, or with `?search=` those that have every word in path, name or summary. `examples` are asked for with the first page. */
export function docsPage(
  routes: readonly Route[],
  examples: () => Readonly<Record<string, Example>>,
): (url: string) => string {
  const cache = new Map<Route, string>()
  const show = (route: Route) => {
    if (!cache.has(route)) cache.set(route, operation(route, examples()[route.operationId]))
    return cache.get(route)!
  }
  return (url) => {
    const search = (splitQuery(url).values.search ?? '').slice(0, LONGEST_SEARCH)
    const words = search.toLowerCase().split(/\s+/)
    const matches = routes.filter((route) => words.every((word) => textOf(route).includes(word)))
    return frame(search, matches, show)
  }
}

function textOf({ method, path, operationId, summary, tag }: Route): string {
  return `${method} ${path} ${operationId} ${summary} ${tag}`.toLowerCase()
}

function frame(search: string, routes: Route[], show: (route: Route) => string): string {
  const tags = [...new Set(routes.map((route) => route.tag))]
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Berth: operations</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>Berth</h1>
<p>Every operation of this service. Send <code>Authorization: Bearer &lt;token&gt;</code>, and <code>teamId</code> or <code>slug</code>
to act for a team. Paths also answer at any <code>/v1</code> to <code>/v13</code> and without a version. The same as
<a href="/openapi.json">OpenAPI 3.1</a>. Fields marked <b>*</b> are required, or always answered.</p>
<form action="/docs" role="search"><label for="search">Search in paths and names</label>
<input id="search" name="search" type="search" maxlength="${LONGEST_SEARCH}" value="${escapeText(search)}"> <button>Search</button></form>
${search === '' ? '' : `<p role="status">${routes.length} found for “${escapeText(search)}”. <a href="/docs">All operations</a></p>`}
<nav>${tags.map((tag) => `<a href="#${anchor(tag)}">${tag}</a>`).join(' ')}</nav>
${tags
  .map(
    (tag) =>
      `<h2 id="${anchor(tag)}">${tag}</h2>\n${routes
        .filter((route) => route.tag === tag)
        .map(show)
        .join('\n')}`,
  )
  .join('\n')}
</main>
</body>
</html>
`
}

function operation(route: Route, example: Example | undefined): string {
  const refused = refusalsOf(route)
    .map((key) => REFUSALS[key])
    .sort(([a], [b]) => a - b)
    .map(
      ([status, code, sentence]) =>
        `<tr><td>${status}</td><td><code>${code.replaceAll('_', '_<wbr>')}</code></td><td>${escapeText(sentence)}</td></tr>`,
    )
  const answer = route.reply ? fields(route.reply) : route.textReply ? '<p>plain text</p>' : '<p>no content</p>'
  return `<details id="${route.operationId}">
<summary><b>${route.method}</b> <code>${escapeText(route.path).replaceAll('/', '/<wbr>')}</code> <span>${escapeText(route.summary)}</span></summary>
<p>${escapeText(wordsOf(route)).replaceAll(/`([^`]*)`/g, '<code>$1</code>')}</p>
${section('Example', example && shownExample(route, example))}${section('Query', route.query && fields(route.query))}${section('Body', route.body && (route.textBody ? '<p>plain text</p>' : fields(route.body)))}${section(`Answers ${route.status}`, answer)}
<h3>Refuses</h3>
<table><tr><th>Status</th><th>Code</th><th>When</th></tr>
${refused.join('\n')}
</table>
</details>`
}

/** The command, and what it is answered. Both wrap: nothing has to be scrolled sideways. */
function shownExample(route: Route, example: Example): string {
  const answer = example.answer === undefined ? 'with no content' : 'with'
  const body = example.answer === undefined ? '' : `\n<pre>${escapeText(JSON.stringify(example.answer, null, 2))}</pre>`
  return `<pre>${escapeText(curlOf(route, example))}</pre>\n<p>answers ${route.status} ${answer}</p>${body}`
}

function section(title: string, markup: string | undefined): string {
  return markup ? `<h3>${title}</h3>\n${markup}\n` : ''
}

type Shape = TSchema & {
  type?: string | string[]
  properties?: Record<string, Shape>
  required?: string[]
  items?: Shape
  anyOf?: Shape[]
  enum?: unknown[]
  const?: unknown
  description?: string
}

/** The fields of an object, of the things in a list, or of each of several shapes. */
function fields(schema: Shape, depth = 1): string {
  const inner = schema.items ?? schema
  const shapes = inner.anyOf ?? [inner]
  const lists = shapes.filter(({ properties }) => properties !== undefined).map((shape) => fieldList(shape, depth))
  const kind = depth === 1 && lists.length === 0 ? `<p>${escapeText(typeOf(schema))}</p>` : ''
  return kind + lists.join(depth === 1 ? '<p>or</p>' : '')
}

function fieldList({ properties = {}, required = [] }: Shape, depth: number): string {
  const rows = Object.entries(properties).map(([name, schema]) => {
    const mark = required.includes(name) ? ' <b>*</b>' : ''
    const about = schema.description ?? FIELD_WORDS[name]
    const below = depth < DEEPEST ? fields(schema, depth + 1) : ''
    return `<li><code>${escapeText(name)}</code>${mark} <i>${escapeText(typeOf(schema))}</i>${about ? ` – ${escapeText(about)}` : ''}${below}</li>`
  })
  return `<ul>${rows.join('')}</ul>`
}

/** `string`, `array of integer`, `"a" or "b"`: as a reader says it. */
function typeOf(schema: Shape): string {
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(', ')
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.anyOf) return [...new Set(schema.anyOf.map(typeOf))].join(' or ')
  if (schema.items) return `array of ${typeOf(schema.items)}${[schema.type].flat().includes('null') ? ' or null' : ''}`
  return [schema.type ?? 'anything'].flat().join(' or ')
}

function anchor(tag: string): string {
  return tag.replaceAll(' ', '-')
}

const STYLE = `${COLOURS}
body { margin: 0; background: var(--paper); color: var(--ink); font: 16px/1.5 system-ui, sans-serif }
a { color: var(--main) }
main { max-width: 60rem; margin: 0 auto; padding: 1rem }
code { font-family: ui-monospace, monospace; overflow-wrap: break-word }
details { border-top: 1px solid var(--line); padding: .5rem 0 }
summary { cursor: pointer; overflow-wrap: break-word }
h3 { font-size: 1rem; margin: 1rem 0 .25rem }
ul { margin: 0; padding-left: 1.25rem }
li, p { overflow-wrap: break-word }
pre { font: .875rem/1.45 ui-monospace, monospace; white-space: pre-wrap; overflow-wrap: anywhere; background: var(--note); padding: .5rem .75rem; margin: .25rem 0 }
table { border-collapse: collapse; width: 100%; font-size: .9rem }
th, td { text-align: left; padding: .25rem .5rem .25rem 0; vertical-align: top }
td:last-child { overflow-wrap: anywhere }
nav a { margin-right: 1rem }
form { margin: 1rem 0 } label { display: block } input, button { font: inherit; padding: .35rem .6rem }
`
