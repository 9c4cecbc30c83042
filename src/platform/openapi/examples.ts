/** One true request of an operation and its answer, as test/platform/openapi/examples.test.ts asked a service: ids, secrets and moments are made even. */

import { shippedFile } from '../base/shipped-files.ts'
import type { Route } from '../http/route.ts'

/**
 * `url` is path and query; `body` is what is sent, of a form its fields; `answer` is what the operation's status brings: absent where there is
 * none, and where it differs from run to run.
 */
export type Example = { url: string; body?: unknown; answer?: unknown }

/** Reads the examples, by operationId. They are read when a document is asked for, and by nothing that serves operations. */
export function readExamples(): Record<string, Example> {
  return JSON.parse(shippedFile('API examples'))
}

const TOKENS = { public: '$TOKEN', operator: '$OPERATOR_TOKEN' } as const

/** The request as a command for a POSIX shell. `BERTH` is the address of the service; `TOKEN` and `OPERATOR_TOKEN` are who asks. */
export function curlOf(
  route: Pick<Route, 'method' | 'auth' | 'formBody' | 'textBody'>,
  { url, body }: Example,
): string {
  const method = route.method === 'GET' ? '' : `-X ${route.method} `
  const lines = [`curl ${method}"$BERTH${url}"`]
  if (route.auth !== 'client') lines.push(`-H "Authorization: Bearer ${TOKENS[route.auth]}"`)
  if (body !== undefined && route.formBody) {
    for (const [name, value] of Object.entries(body as Record<string, string>))
      lines.push(`--data-urlencode ${quoted(`${name}=${value}`)}`)
  } else if (typeof body === 'string' && route.textBody) {
    lines.push(`-H 'Content-Type: text/plain'`, `--data-binary ${quoted(body)}`)
  } else if (body !== undefined) {
    lines.push(`-H 'Content-Type: application/json'`, `-d ${quoted(JSON.stringify(body, null, 2))}`)
  }
  return lines.join(' \\\n  ')
}

/** What the example says for a parameter of the path or of the query; undefined when it says nothing. */
export function exampleOf(
  route: Route,
  example: Example | undefined,
  place: 'path' | 'query',
  name: string,
): string | undefined {
  if (example === undefined) return undefined
  const [path = '', query = ''] = example.url.split('?', 2)
  if (place === 'query') return new URLSearchParams(query).get(name) ?? undefined
  return decodeURIComponent(path.split('/')[route.path.split('/').indexOf(`:${name}`)] ?? '')
}

/** Text as one word of a POSIX shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
