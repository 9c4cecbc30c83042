/** Traces over OTLP/HTTP as JSON, with the OpenTelemetry SDK. Loaded only where OTEL_EXPORTER_OTLP_ENDPOINT is set. docs/operations.md: Traces. */
import { AsyncLocalStorage } from 'node:async_hooks'
import {
  type Attributes,
  type Context,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import type { Logger } from 'pino'
import { VERSION } from '../base/version.ts'
import { withTimeLimit } from '../fairness/time-limit.ts'
import type { TraceReceiver } from '../settings/traces.ts'
import { attributesOf, failureOf, summaryOf } from './attributes.ts'
import { openTracerProvider } from './provider.ts'
import { type DeliveryOutcome, readTraceparent, type Traces } from './traces.ts'

/** How long a stop waits for pending spans. */
const LAST_SEND_MS = 3000
/** Deliveries with a known cause. The oldest are evicted. */
const CAUSES = 10_000

type Options = { receiver: TraceReceiver; engine: 'sqlite' | 'postgresql'; scheme: 'http' | 'https'; log: Logger }

/** Opens the tracer. `engine`: the OpenTelemetry name of the database. `scheme`: of incoming requests. */
export function openOtlp({ receiver, engine, scheme, log }: Options): Traces {
  const provider = openTracerProvider(receiver, log)
  const spans = createSpans(provider.getTracer('berth', VERSION))
  return {
    ...requestSpans(spans, scheme),
    ...statementSpans(spans, engine),
    ...deliverySpans(spans),
    bind: (work) => AsyncLocalStorage.bind(work),
    // An unavailable collector only loses spans.
    close: () =>
      withTimeLimit(
        provider.shutdown().catch(() => {}),
        LAST_SEND_MS,
        undefined,
      ),
  }
}

type Spans = ReturnType<typeof createSpans>
type Begin = { kind: SpanKind; attributes: Attributes; startTime?: number }

function createSpans(tracer: Tracer) {
  const inHand = new AsyncLocalStorage<Context>()
  return {
    begin: (name: string, options: Begin, parent: Context) => tracer.startSpan(name, options, parent),
    run: <T>(span: Span, parent: Context, work: () => T) => inHand.run(trace.setSpan(parent, span), work),
    inHand: () => inHand.getStore(),
    /** The current span that has not ended. A later timer of a request is not part of it. */
    open(): Context | undefined {
      const context = inHand.getStore()
      return context !== undefined && trace.getSpan(context)?.isRecording() ? context : undefined
    },
  }
}

function requestSpans({ begin, run }: Spans, scheme: string): Pick<Traces, 'request' | 'answered'> {
  const requests = new WeakMap<object, Span>()
  return {
    request(key, { operation, method, route, id, traceparent }, handle) {
      const parent = contextOf(traceparent)
      const attributes = {
        'http.request.method': method,
        'http.route': route,
        'url.scheme': scheme,
        'berth.operation': operation,
        'berth.request_id': id,
      }
      const span = begin(`${method} ${route}`, { kind: SpanKind.SERVER, attributes }, parent)
      requests.set(key, span)
      return run(span, parent, handle)
    },
    answered(key, status, refusal) {
      const span = requests.get(key)
      if (span !== undefined) endRequest(span, status, refusal)
    },
  }
}

function statementSpans({ begin, run, open }: Spans, engine: string): Pick<Traces, 'statement' | 'lookUp'> {
  return {
    statement(sql, since, error) {
      const parent = open()
      if (parent === undefined) return
      const startTime = performance.timeOrigin + since
      const span = begin(
        summaryOf(sql),
        { kind: SpanKind.CLIENT, attributes: attributesOf(engine, sql), startTime },
        parent,
      )
      if (error !== undefined) fail(span, failureOf(error))
      span.end(performance.timeOrigin + performance.now())
    },
    async lookUp(type, work) {
      const parent = open()
      if (parent === undefined) return work()
      const attributes = { 'berth.dns.type': type }
      const span = begin(`look up ${type}`, { kind: SpanKind.CLIENT, attributes }, parent)
      try {
        const found = await run(span, parent, work)
        if (found === undefined) fail(span, 'no_resolver_answered')
        return found
      } finally {
        span.end()
      }
    },
  }
}

function deliverySpans({ begin, run, inHand }: Spans): Pick<Traces, 'causes' | 'delivery'> {
  const causes = createCauses()
  return {
    causes: (deliveryId) => causes.note(deliveryId, inHand()),
    async delivery(id, type, work) {
      const parent = causes.of(id)
      const attributes = { 'berth.delivery.id': id, 'berth.event': type }
      const span = begin('delivery', { kind: SpanKind.CLIENT, attributes }, parent)
      try {
        endDelivery(span, await run(span, parent, work))
      } finally {
        span.end()
      }
    },
  }
}

/** The causes of recent deliveries: ids only, not spans. */
function createCauses() {
  const causes = new Map<string, SpanContext>()
  return {
    note(deliveryId: string, context: Context | undefined) {
      const cause = context && trace.getSpanContext(context)
      if (cause === undefined) return
      if (causes.size >= CAUSES) causes.delete(causes.keys().next().value!)
      const { traceId, spanId, traceFlags } = cause
      causes.set(deliveryId, { traceId, spanId, traceFlags })
    },
    of(deliveryId: string): Context {
      const cause = causes.get(deliveryId)
      return cause === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, cause)
    },
  }
}

function endRequest(span: Span, status: number, refusal: string | undefined): void {
  span.setAttribute('http.response.status_code', status)
  if (refusal !== undefined) span.setAttribute('berth.refusal', refusal)
  if (status >= 500) fail(span, refusal ?? String(status))
  span.end()
}

function endDelivery(span: Span, outcome: DeliveryOutcome | undefined): void {
  if (outcome !== undefined) span.setAttribute('berth.delivery.outcome', outcome)
  if (outcome === 'failed' || outcome === 'retried') fail(span, outcome)
}

function fail(span: Span, type: string): void {
  span.setAttribute('error.type', type)
  span.setStatus({ code: SpanStatusCode.ERROR })
}

/** The parent context of a `traceparent`. A trace that the caller does not sample is not sampled here. */
function contextOf(traceparent: string | undefined): Context {
  const caller = readTraceparent(traceparent)
  if (caller === undefined) return ROOT_CONTEXT
  const { traceId, parentId: spanId, sampled } = caller
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags: sampled ? 1 : 0, isRemote: true })
}
