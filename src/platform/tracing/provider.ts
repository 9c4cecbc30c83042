/** Exports spans in batches, and logs when the collector rejects them. docs/operations.md: Traces. */
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { BatchSpanProcessor, type SpanExporter, TracerProvider } from '@opentelemetry/sdk-trace'
import type { Logger } from 'pino'
import { randomText } from '../base/ids.ts'
import { VERSION } from '../base/version.ts'
import type { TraceReceiver } from '../settings/traces.ts'

/** Pending spans; further ones are dropped. */
const QUEUE = 2048
const BATCH = 256
const SEND_EVERY_MS = 1000
/** For one batch with its retries: the default of OpenTelemetry. */
const SEND_TIMEOUT_MS = 10_000
const MAX_ATTRIBUTE = 1000

/** Opens the span exporter. Only `shutdown` waits for it. */
export function openTracerProvider({ endpoint, headers }: TraceReceiver, log: Logger): TracerProvider {
  const url = `${endpoint}/v1/traces`
  const exporter = new OTLPTraceExporter({ url, headers, timeoutMillis: SEND_TIMEOUT_MS, concurrencyLimit: 2 })
  const processor = new BatchSpanProcessor({
    exporter: heard(exporter, log),
    maxQueueSize: QUEUE,
    maxExportBatchSize: BATCH,
    scheduledDelayMillis: SEND_EVERY_MS,
    exportTimeoutMillis: SEND_TIMEOUT_MS,
  })
  return new TracerProvider({
    resource: resourceFromAttributes({
      'service.name': 'berth',
      'service.version': VERSION,
      'service.instance.id': randomText(16),
    }),
    spanLimits: { attributeValueLengthLimit: MAX_ATTRIBUTE },
    spanProcessors: [processor],
  })
}

/** Logs once when the exporter starts to fail, and once when it works again. */
function heard(exporter: SpanExporter, log: Logger): SpanExporter {
  let works = true
  return {
    export(spans, done) {
      exporter.export(spans, (result) => {
        const { error } = result
        if (error !== undefined && works)
          log.warn({ err: error }, 'the receiver of traces takes no spans; they are dropped')
        if (error === undefined && !works) log.info('the receiver of traces takes spans again')
        works = error === undefined
        done(result)
      })
    },
    shutdown: () => exporter.shutdown(),
    forceFlush: async () => exporter.forceFlush?.(),
  }
}
