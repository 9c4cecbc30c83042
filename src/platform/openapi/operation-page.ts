/** The page of one operation: authentication, example, parameters, response and errors. */
import { REFUSALS } from '../../errors.ts'
import { type Route, refusalsOf } from '../http/route.ts'
import { type Html, html } from '../pages/html.ts'
import { operationDescription, type Parameter, parametersOf } from './document.ts'
import { curlOf, type Example } from './examples.ts'
import { fieldItem, renderInlineCode, schemaList } from './schema-list.ts'
import { type SdkCall, sdkText } from './sdk-calls.ts'

export type Shown = { example: Example | undefined; call: SdkCall | undefined }

/** Renders the page content. `tag`: the operations of the same tag. */
export function operationPage(route: Route, { example, call }: Shown, tag: readonly Route[]): Html {
  return html`<p class="crumbs"><a href="/docs">API reference</a> / <a href="/docs#${anchorOf(route.tag)}">${route.tag}</a></p>
<h1>${route.summary}</h1>
<p class="asked">${operationPath(route)}</p>
<p>${renderInlineCode(operationDescription(route))}</p>
<div class="operation">
${example && exampleSection(route, example, call)}
<div>
${parameterSections(route, example)}
${route.body && section('Body', route.textBody ? html`<p><i>plain text</i></p>` : schemaList(route.body, 'required'))}
${route.fileBody && section('Body', html`<p><i>the bytes of the file</i></p>`)}
${section(`Response ${route.status}`, answerOf(route))}
${section('Errors', refusalTable(route))}
</div>
</div>
${moreOf(route, tag)}`
}

/** Renders method and path, with line breaks after slashes. */
export function operationPath({ method, path }: Pick<Route, 'method' | 'path'>): Html {
  const parts = path.split('/').slice(1)
  return html`<b class="method">${method}</b> <code>${parts.map((part) => html`/<wbr>${part}`)}</code>`
}

/** Returns the id of a tag. */
export function anchorOf(tag: string): string {
  return tag.replaceAll(' ', '-')
}

/** Command and SDK call in tabs, as radio buttons that work without script. */
function exampleSection(route: Route, example: Example, call: SdkCall | undefined): Html {
  const command = html`<pre class="with-curl">${curlOf(route, example)}</pre>`
  const tabs =
    call &&
    html`<input type="radio" name="with" id="with-curl" checked><label for="with-curl">curl</label>
<input type="radio" name="with" id="with-sdk"><label for="with-sdk">TypeScript SDK</label>
${command}
<pre class="with-sdk">${sdkText(call, answers(route))}</pre>`
  return html`<section aria-labelledby="example">
<h2 id="example">Example</h2>
<div class="example" role="group" aria-label="The request">${tabs ?? command}</div>
${exampleAnswer(route, example)}
</section>`
}

function exampleAnswer(route: Route, { answer }: Example): Html {
  if (!answers(route)) return html`<p>Returns ${route.status} without content.</p>`
  if (answer === undefined) return html`<p>Returns ${route.status}. The response differs between services.</p>`
  const text = typeof answer === 'string' ? answer : JSON.stringify(answer, null, 2)
  return html`<p>Returns ${route.status}:</p>
<pre>${text}</pre>`
}

function answers({ reply, textReply }: Route): boolean {
  return reply !== undefined || textReply === true
}

const PLACES = { path: 'Path', query: 'Query', header: 'Headers' } as const

function parameterSections(route: Route, example: Example | undefined): Html[] {
  const all = parametersOf(route, example)
  return Object.entries(PLACES).map(([place, title]) => {
    const items = all.filter((parameter) => parameter.in === place).map(parameterItem)
    return items.length === 0 ? html`` : section(title, html`<ul class="fields">${items}</ul>`)
  })
}

/** Renders a parameter as a list item. */
export function parameterItem({ name, schema, required, description }: Parameter): Html {
  return fieldItem(name, { ...(description && { description }), ...schema }, required ? 'required' : undefined)
}

function answerOf({ reply, textReply }: Route): Html {
  if (reply) return schemaList(reply, 'not always')
  return textReply ? html`<p><i>plain text</i></p>` : html`<p>No content.</p>`
}

function refusalTable(route: Route): Html {
  const rows = refusalsOf(route)
    .map((key) => REFUSALS[key])
    .toSorted(([a], [b]) => a - b)
  return html`<table class="refusals"><thead><tr><th>Status</th><th>Code</th><th>When</th></tr></thead><tbody>
${rows.map(
  ([status, code, sentence]) =>
    html`<tr><td>${status}</td><td><code>${code.split('_').map((part, at) => html`${at > 0 && html`_<wbr>`}${part}`)}</code></td><td>${sentence}</td></tr>
`,
)}</tbody></table>`
}

/** Renders a section with a heading. */
export function section(title: string, body: Html): Html {
  return html`<h2>${title}</h2>
${body}`
}

function moreOf({ operationId, tag }: Route, all: readonly Route[]): Html {
  return html`<nav class="more" aria-label="More of ${tag}">
<h2>More of ${tag}</h2>
<ul>${all.map((operation) => html`<li><a href="/docs/${operation.operationId}"${operation.operationId === operationId && html` aria-current="page"`}>${operation.summary}</a></li>`)}</ul>
</nav>`
}
