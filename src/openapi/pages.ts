/** What the service says about itself: the OpenAPI document, and the same table as a page for people. */

import type { OpenPage, Probe } from '../http/open-page.ts'
import type { Route } from '../http/route.ts'
import { docsPage } from './docs-page.ts'
import { openApiDocument } from './document.ts'
import { readExamples } from './examples.ts'

/** `/openapi.json` and `/docs`, both made from the routes at the first request. */
export function documentPages(routes: readonly Route[]): (OpenPage | Probe)[] {
  const docs = docsPage(routes, once(readExamples))
  return [
    { path: '/openapi.json', contentType: 'application/json; charset=utf-8', body: once(() => openApiText(routes)) },
    {
      path: '/docs',
      contentType: 'text/html; charset=utf-8',
      answer: (_, __, { url }) => ({ status: 200, body: docs(url) }),
    },
  ]
}

/** The document as it is served and as it is kept in docs/api. */
export function openApiText(routes: readonly Route[]): string {
  return `${JSON.stringify(openApiDocument(routes, readExamples()), null, 2)}\n`
}

function once<Made>(make: () => Made): () => Made {
  let document: Made | undefined
  return () => {
    document ??= make()
    return document
  }
}
