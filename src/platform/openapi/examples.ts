/** Examples of operations, recorded by test/platform/openapi/examples.test.ts with normalized ids, secrets and times. */

import { shippedFile } from '../base/shipped-files.ts'
import type { Route } from '../http/route.ts'

/** `url`: path and query; `body`: the request, or the fields of a form; `answer`: the response, absent if empty or different in each run. */
export type Example = { url: string; body?: unknown; answer?: unknown }

/** Reads the examples by operationId, which only documents need. */
export function readExamples(): Record<string, Example> {
  return JSON.parse(shippedFile('API examples'))
}

const TOKENS = { public: '$TOKEN', operator: '$OPERATOR_TOKEN' } as const

/** Returns the request as a curl command. `BERTH` is the URL of the service; `TOKEN` and `OPERATOR_TOKEN` are credentials. */
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

/** Returns the example value of a path or query parameter; undefined without one. */
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

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
