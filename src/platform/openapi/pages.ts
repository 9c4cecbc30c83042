import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { Probe, PublicPage } from '../http/public-page.ts'
import type { Route } from '../http/route.ts'
import { openApiDocument } from './document.ts'
import { readEventExamples } from './events.ts'
import { readExamples } from './examples.ts'
import { referencePages } from './reference.ts'

/** Returns `/openapi.json`, built at the first request, and the reference pages. */
export function documentPages(routes: readonly Route[]): (PublicPage | Probe)[] {
  const document = once(() => Buffer.from(openApiText(routes)))
  return [
    {
      path: '/openapi.json',
      contentType: 'application/json; charset=utf-8',
      body: document,
      zipped: once(() => zip(document())),
    },
    ...referencePages(routes),
  ]
}

/** Returns the document as served and as stored in docs/api. */
export function openApiText(routes: readonly Route[]): string {
  return `${JSON.stringify(openApiDocument(routes, readExamples(), readEventExamples()), null, 2)}\n`
}

const zip = promisify(gzip)

function once<Made>(make: () => Made): () => Made {
  let document: Made | undefined
  return () => {
    document ??= make()
    return document
  }
}
