/** What is told of a piece of work to whoever collects traces. What sends it is platform/tracing/otlp.ts, which is loaded only where a receiver is set. docs/operations.md: Traces. */

/** A request that is answered by what is found at `route`, a template such as `/v9/projects/:idOrName`. `traceparent`: as the caller sent it. */
type TracedRequest = {
  operation: string
  method: string
  route: string
  id: string
  traceparent: string | undefined
}

/** What comes of an attempt of a delivery. */
export type DeliveryOutcome = 'delivered' | 'retried' | 'failed' | 'held' | 'dropped'

export type Traces = {
  /** Runs the handler of a request. What it does is part of the request's span. `key` stands for the request until it is answered. */
  request<T>(key: object, request: TracedRequest, handle: () => T): T
  /** Ends the span of a request. `refusal`: its row in errors.ts. */
  answered(key: object, status: number, refusal: string | undefined): void
  /** A statement that was just answered, within a request or a delivery. `since`: of `performance.now()`. `error`: why it failed. */
  statement(sql: string, since: number, error?: unknown): void
  /** Runs a look-up in DNS, within a request or a delivery. `type`: of the records. The name is not told. */
  lookUp<T>(type: string, work: () => Promise<T[] | undefined>): Promise<T[] | undefined>
  /** Says that the request in hand causes a delivery. While this process remembers that, attempts of the delivery are part of the trace. */
  causes(deliveryId: string): void
  /** Runs an attempt of a delivery. `type`: of its event. `work` gives what came of it; undefined: that is not known. */
  delivery(id: string, type: string, work: () => Promise<DeliveryOutcome | undefined>): Promise<void>
  /** Gives the same work as a part of what is in hand now, also when it runs later. */
  bind<A extends unknown[], T>(work: (...args: A) => T): (...args: A) => T
  /** Sends what waits, and gives up after three seconds. */
  close(): Promise<void>
}

/** W3C Trace Context: version, trace id, parent id, flags; a later version may say more behind them. */
const TRACEPARENT = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/

/** What a caller says of the trace that a request is part of: its id, the caller's span, and whether the caller keeps it. */
type RemoteParent = { traceId: string; parentId: string; sampled: boolean }

/** Reads the header `traceparent`. Undefined when it is absent or says nothing valid. W3C Trace Context 3.2. */
export function readTraceparent(text: string | undefined): RemoteParent | undefined {
  const [, version, traceId, parentId, flags, more] = TRACEPARENT.exec(text ?? '') ?? []
  if (traceId === undefined || (version === '00' && more !== undefined)) return undefined
  return { traceId, parentId: parentId!, sampled: (Number.parseInt(flags!, 16) & 1) === 1 }
}
