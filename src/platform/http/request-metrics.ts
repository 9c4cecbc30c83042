/** Metrics and debug log lines of requests. docs/operations.md. */
import type { Deps } from '../../context.ts'
import type { RefusalKey } from '../../errors.ts'
import { type MetricValue, observe } from '../../metrics.ts'
import { randomText } from '../base/ids.ts'
import { readTraceparent } from '../tracing/traces.ts'
import { singleHeader } from './parse-request.ts'

type CountedRequest = { id: string; method: string; raw: { rawHeaders: readonly string[] } }
/** `since`: the result of `begin`; undefined if no operation ran. */
type End = { since?: number; status: number; refusal?: RefusalKey | undefined }

export type OperationMetrics = {
  /** Wraps a handler in a span where tracing is on. `route`: its path template. */
  withSpan<A extends [CountedRequest, ...unknown[]], T>(route: string, handle: (...args: A) => T): (...args: A) => T
  begin(): number
  end(request: CountedRequest, end: End): void
}

/** Records the requests of each operation. Each request is logged only at level `debug`. */
export function createRequestMetrics(
  deps: Pick<Deps, 'metrics' | 'log' | 'traces'>,
): (operation: string) => OperationMetrics {
  const { metrics, log, traces } = deps
  const inFlight = metrics.gauge('berth_http_requests_in_flight')
  const tellsEach = log.isLevelEnabled('debug')
  return (operation) => {
    const durations = metrics.histogram('berth_http_request_duration_seconds', operation)
    const byMethod = new Map<string, MetricValue[]>()
    const count = (method: string, status: number) => {
      const kind = Math.trunc(status / 100)
      const figures = byMethod.get(method) ?? []
      if (figures.length === 0) byMethod.set(method, figures)
      figures[kind] ??= metrics.counter('berth_http_requests_total', operation, method, `${kind}xx`)
      figures[kind].value++
    }
    return {
      withSpan(route, handle) {
        if (traces === undefined) return handle
        return (...args) => {
          const { id, method, raw } = args[0]
          const traceparent = singleHeader(raw.rawHeaders, 'traceparent')
          return traces.request(args[0], { operation, method, route, id, traceparent }, () => handle(...args))
        }
      },
      begin() {
        inFlight.value++
        return performance.now()
      },
      end(request, { since, status, refusal }) {
        const ms = since === undefined ? undefined : performance.now() - since
        if (ms !== undefined) {
          inFlight.value--
          observe(durations, ms / 1000)
        }
        count(methodOf(request.method), status)
        if (refusal !== undefined) metrics.counter('berth_refusals_total', refusal).value++
        traces?.answered(request, status, refusal)
        if (!tellsEach) return
        const { id, method } = request
        log.debug({ requestId: id, ...traceOf(request), operation, method, status, refusal, ms }, 'answered')
      },
    }
  }
}

const METHODS = new Set(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'])

/** Unknown methods share a label, because clients could send any number of them. */
function methodOf(method: string): string {
  return METHODS.has(method) ? method : 'other'
}

/** Creates request ids for `x-request-id` and the log. Callers cannot choose them, so they cannot forge log entries. */
export function createRequestIds(): () => string {
  const start = randomText(10)
  let last = 0
  return () => `${start}-${(++last).toString(36)}`
}

/** Returns the trace of a request, for the log; empty without a valid `traceparent`. */
export function traceOf({ raw }: Pick<CountedRequest, 'raw'>): { traceId?: string; parentId?: string } {
  const caller = readTraceparent(singleHeader(raw.rawHeaders, 'traceparent'))
  return caller === undefined ? {} : { traceId: caller.traceId, parentId: caller.parentId }
}
