/** The page of one event: headers, example and fields. */
import { EVENT_NAMES, type EventName } from '../../events.ts'
import { type Html, html } from '../pages/html.ts'
import { EVENT_HEADERS, eventBody, eventDescription } from './events.ts'
import { anchorOf, parameterItem, section } from './operation-page.ts'
import { renderInlineCode, schemaList } from './schema-list.ts'

/** Title of the events among the topics of the reference. */
export const EVENTS_TAG = 'webhook events'

/** Renders the page content. */
export function eventPage(name: EventName, example: object | undefined): Html {
  return html`<p class="crumbs"><a href="/docs">API reference</a> / <a href="/docs#${anchorOf(EVENTS_TAG)}">${EVENTS_TAG}</a></p>
<h1>${name}</h1>
<p class="asked"><b class="method">POST</b> to the URL of the webhook</p>
<p>${renderInlineCode(eventDescription(name))}</p>
<div class="operation">
${
  example &&
  html`<section aria-labelledby="example">
<h2 id="example">Example</h2>
<pre>${JSON.stringify(example, null, 2)}</pre>
</section>`
}
<div>
${section('Headers', html`<ul class="fields">${EVENT_HEADERS.map(parameterItem)}</ul>`)}
${section('Body', schemaList(eventBody(name), 'not always'))}
</div>
</div>
<nav class="more" aria-label="More of ${EVENTS_TAG}">
<h2>More of ${EVENTS_TAG}</h2>
<ul>${EVENT_NAMES.map((event) => html`<li><a href="/docs/${event}"${event === name && html` aria-current="page"`}>${event}</a></li>`)}</ul>
</nav>`
}
