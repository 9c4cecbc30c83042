/** The tracing interface. platform/tracing/otlp.ts implements it, loaded only with a collector. docs/operations.md: Traces. */

/** `route`: the template, such as `/v9/projects/:idOrName`. `traceparent`: as the caller sent it. */
type TracedRequest = {
  operation: string
  method: string
  route: string
  id: string
  traceparent: string | undefined
}

/** The outcome of a delivery attempt. */
export type DeliveryOutcome = 'delivered' | 'retried' | 'failed' | 'held' | 'dropped'

export type Traces = {
  /** Runs the handler of a request within its span. `key` identifies the request until its response. */
  request<T>(key: object, request: TracedRequest, handle: () => T): T
  /** Ends the span of a request. `refusal`: its key in errors.ts. */
  answered(key: object, status: number, refusal: string | undefined): void
  /** Records a finished statement of a request or delivery. `since`: of `performance.now()`. */
  statement(sql: string, since: number, error?: unknown): void
  /** Runs a DNS lookup within a request or delivery. `type`: of the records. The name is not recorded. */
  lookUp<T>(type: string, work: () => Promise<T[] | undefined>): Promise<T[] | undefined>
  /** Links a delivery to the current request, so later attempts join its trace while this process remembers it. */
  causes(deliveryId: string): void
  /** Runs a delivery attempt. `type`: of its event. `work` returns the outcome; undefined: unknown. */
  delivery(id: string, type: string, work: () => Promise<DeliveryOutcome | undefined>): Promise<void>
  /** Binds work to the current span, also when it runs later. */
  bind<A extends unknown[], T>(work: (...args: A) => T): (...args: A) => T
  /** Flushes pending spans for up to three seconds. */
  close(): Promise<void>
}

/** W3C Trace Context: version, trace id, parent id, flags; a later version may append fields. */
const TRACEPARENT = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/

/** The caller's trace: its id, the caller's span, and whether it is sampled. */
type RemoteParent = { traceId: string; parentId: string; sampled: boolean }

/** Parses the header `traceparent`. Returns undefined when it is absent or invalid. W3C Trace Context 3.2. */
export function readTraceparent(text: string | undefined): RemoteParent | undefined {
  const [, version, traceId, parentId, flags, more] = TRACEPARENT.exec(text ?? '') ?? []
  if (traceId === undefined || (version === '00' && more !== undefined)) return undefined
  return { traceId, parentId: parentId!, sampled: (Number.parseInt(flags!, 16) & 1) === 1 }
}
