/** A receiver of traces: OTLP over HTTP as JSON, parsed. docs/operations.md: Traces. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'

type Attribute = { key: string; value: { stringValue?: string; intValue?: number } }
export type Span = {
  name: string
  kind: number
  traceId: string
  spanId: string
  parentSpanId?: string
  startTimeUnixNano: string
  endTimeUnixNano: string
  attributes: Attribute[]
  status: { code?: number }
}

/** `asked`: the number of requests. `requests` and the fields derived from it: the accepted ones. */
export type OtlpReceiver = {
  endpoint: string
  asked: number
  requests: { url: string; authorization: string | undefined }[]
  texts: string[]
  spans: Span[]
  /** Sets its responses from now on. A request without a 200 does not count as accepted. */
  answerWith(status: number): void
  /** Stops responding until the returned function is called. */
  hang(): () => void
}

export async function startOtlpReceiver(t: TestContext): Promise<OtlpReceiver> {
  let status = 200
  let free: Promise<void> | undefined
  const seen: OtlpReceiver = {
    endpoint: '',
    asked: 0,
    requests: [],
    texts: [],
    spans: [],
    answerWith(next) {
      status = next
    },
    hang() {
      const { promise, resolve } = Promise.withResolvers<void>()
      free = promise
      return resolve
    },
  }
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    seen.asked++
    await free
    response.statusCode = status
    response.setHeader('content-type', 'application/json')
    response.end('{}')
    if (status !== 200) return
    const text = String(Buffer.concat(chunks))
    seen.requests.push({ url: request.url!, authorization: request.headers.authorization })
    seen.texts.push(text)
    for (const { scopeSpans } of JSON.parse(text).resourceSpans)
      for (const scope of scopeSpans) seen.spans.push(...scope.spans)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  seen.endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return seen
}

/** The value of an attribute of a span. */
export function attributeOf({ attributes }: Span, name: string): string | number | undefined {
  const value = attributes.find(({ key }) => key === name)?.value
  return value?.stringValue ?? value?.intValue
}
