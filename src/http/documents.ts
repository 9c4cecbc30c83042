/** What the service says about itself: the OpenAPI document, and the same table as a page for people. */
import { REFUSALS } from '../errors.ts'
import { escapeText } from './html.ts'
import { openApiDocument } from './openapi.ts'
import { type Route, refusalsOf } from './route.ts'
import type { OpenPage } from './serve.ts'

/** `/openapi.json` and `/docs`, both made from the routes at the first request. */
export function documentPages(routes: readonly Route[]): OpenPage[] {
  return [
    { path: '/openapi.json', contentType: 'application/json; charset=utf-8', body: once(() => openApiText(routes)) },
    { path: '/docs', contentType: 'text/html; charset=utf-8', body: once(() => docsPage(routes)) },
  ]
}

/** The document as it is served and as it is kept in docs/api. */
export function openApiText(routes: readonly Route[]): string {
  return `${JSON.stringify(openApiDocument(routes), null, 2)}\n`
}

function once(make: () => string): () => string {
  let made: string | undefined
  return () => {
    made ??= make()
    return made
  }
}

function docsPage(routes: readonly Route[]): string {
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
<a href="/openapi.json">OpenAPI 3.1</a>.</p>
<nav>${tags.map((tag) => `<a href="#${anchor(tag)}">${tag}</a>`).join(' ')}</nav>
${tags
  .map((tag) =>
    section(
      tag,
      routes.filter((route) => route.tag === tag),
    ),
  )
  .join('\n')}
</main>
</body>
</html>
`
}

function section(tag: string, routes: Route[]): string {
  return `<h2 id="${anchor(tag)}">${tag}</h2>\n${routes.map(operation).join('\n')}`
}

function operation(route: Route): string {
  const fields = Object.keys((route.body as { properties?: object })?.properties ?? {})
  const query = Object.keys((route.query as { properties?: object })?.properties ?? {})
  return `<details id="${route.operationId}">
<summary><b>${route.method}</b> <code>${escapeText(route.path)}</code> <span>${escapeText(route.summary)}</span></summary>
<dl>
${row('Needs', (route.needs ?? []).join(', '))}${row('Query', query.join(', '))}${row('Body', fields.join(', '))}${row('Answers', String(route.status))}${row('Tells', (route.emits ?? []).join(', '))}
</dl>
<table><tr><th>Status</th><th>Code</th><th>When</th></tr>
${refusalsOf(route)
  .map((key) => REFUSALS[key])
  .sort(([a], [b]) => a - b)
  .map(
    ([status, code, sentence]) =>
      `<tr><td>${status}</td><td><code>${code}</code></td><td>${escapeText(sentence)}</td></tr>`,
  )
  .join('\n')}
</table>
</details>`
}

function anchor(tag: string): string {
  return tag.replaceAll(' ', '-')
}

function row(name: string, value: string): string {
  return value === '' ? '' : `<dt>${name}</dt><dd>${escapeText(value)}</dd>\n`
}

const STYLE = `
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif }
main { max-width: 60rem; margin: 0 auto; padding: 1rem }
code { font-family: ui-monospace, monospace; overflow-wrap: anywhere }
details { border-top: 1px solid #8886; padding: .5rem 0 }
summary { cursor: pointer; overflow-wrap: anywhere }
summary span { opacity: .75 }
dl { display: grid; grid-template-columns: 6rem 1fr; gap: .25rem 1rem }
dd { margin: 0; overflow-wrap: anywhere }
table { border-collapse: collapse; width: 100%; font-size: .9rem }
th, td { text-align: left; padding: .25rem .5rem .25rem 0; vertical-align: top }
nav a { margin-right: 1rem }
`
