/**
 * TABLE Metrics: name, kind, help, labels; and their values, in the Prometheus text format 0.0.4. Label values are few and fixed: never an id, a name
 * or a path. docs/operations.md: Metrics.
 */

const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
const MINUTES = [5, 10, 20, 30, 60, 120, 300, 600, 1200, 2700]
const WRITES = [1, 2, 4, 8, 16, 32, 64, 128, 256]

export const METRICS = {
  berth_build_info: gauge('always 1; the labels name the running program', 'version', 'engine', 'node'),
  berth_http_requests_total: counter('answered requests', 'operation', 'method', 'status'),
  berth_http_request_duration_seconds: histogram('from the handler to the response', SECONDS, 'operation'),
  berth_http_requests_in_flight: gauge('requests in flight'),
  berth_unsent_bytes: gauge('pending response bytes; at most 64 MiB'),
  berth_slow_readers_ended_total: counter('connections closed because they did not read their responses'),
  berth_refusals_total: counter('errors, by their key in errors.ts', 'key'),
  berth_commit_writes: histogram('writes per commit (SQLite)', WRITES),
  berth_commit_duration_seconds: histogram('a commit; on PostgreSQL a whole transaction', SECONDS),
  berth_races_lost_total: counter('transactions retried after a serialization failure (PostgreSQL)'),
  berth_limit_portions_total: counter('allocations of rate limits that were requested from the database (PostgreSQL)'),
  berth_db_connections: gauge('connections to PostgreSQL', 'state'),
  berth_store_up: gauge('1 while the database answers the queries for the metrics below'),
  berth_deliveries_due: gauge('deliveries to webhooks and log drains that are due; at most 10000'),
  berth_deliveries_oldest_seconds: gauge('for how long the oldest of them has been due'),
  berth_deliveries_total: counter('attempts and decisions', 'outcome'),
  berth_drain_lines_dropped_total: counter('lines dropped because of the backlog of a log drain, counted per drain'),
  berth_mail_due: gauge('emails that are due; at most 10000'),
  berth_mail_oldest_seconds: gauge('for how long the oldest of them has been due'),
  berth_mail_total: counter('attempts to send an email', 'outcome'),
  berth_builds_waiting: gauge('builds that wait for a runner; at most 10000'),
  berth_builds_oldest_seconds: gauge('for how long the oldest of them has been in the queue'),
  berth_builds_running: gauge('builds that runners have'),
  berth_runners: gauge('runners that asked for a build within two minutes, or have one', 'state'),
  berth_build_duration_seconds: histogram('from the lease to the report of the runner', MINUTES, 'outcome'),
  berth_live_pages: gauge('open console pages with live updates'),
  berth_live_told_total: counter('live updates sent to open pages'),
  berth_audit_lines_dropped_total: counter('audit entries of secret reads that were not written'),
  berth_audit_unlinked: gauge('entries of the audit log that are not linked yet; at most 10000'),
  berth_store_bytes: gauge('the database on disk, with free pages'),
  berth_disk_free_bytes: gauge('free space on the disk of the data directory'),
  berth_backup_last_good_timestamp_seconds: gauge('start of the newest backup without a failed check; 0: none'),
  berth_backup_last_verified_timestamp_seconds: gauge('start of the newest verified backup; 0: none'),
  berth_backup_failed: gauge('1 while the last scheduled backup failed'),
  berth_backups_damaged: gauge('backups whose last check failed'),
  berth_keyring_copy_verified: gauge('1 while verified encrypted copies contain every root key'),
  berth_timer_last_run_timestamp_seconds: gauge('when the sweep last ran to its end', 'timer'),
  berth_timer_swept_total: counter('rows that the sweep processed', 'timer'),
  berth_timer_failures_total: counter('sweeps that failed', 'timer'),
  berth_edge_checks_total: counter('verdicts for proxies', 'verdict'),
  berth_edge_hosts: gauge('names in the host index'),
  berth_edge_stale_seconds: gauge('for how long the edge could not read the database; 0 while it can'),
  berth_log_lines_dropped_total: counter('log lines that could not be written'),
  process_cpu_user_seconds_total: counter('processor time in the program'),
  process_cpu_system_seconds_total: counter('processor time in the system'),
  process_resident_memory_bytes: gauge('resident memory'),
  process_start_time_seconds: gauge('when the process started'),
  nodejs_heap_size_total_bytes: gauge('heap that is reserved'),
  nodejs_heap_size_used_bytes: gauge('heap that is used'),
  nodejs_external_memory_bytes: gauge('memory of objects outside the heap'),
  nodejs_eventloop_lag_p50_seconds: gauge('delay of the event loop since the last reading, median'),
  nodejs_eventloop_lag_p99_seconds: gauge('the same, 99th percentile'),
  nodejs_eventloop_lag_max_seconds: gauge('the same, longest'),
  nodejs_eventloop_utilization: gauge('share of the time since the last reading in which the event loop worked'),
} as const satisfies Record<string, Metric>

type Metric = {
  kind: 'counter' | 'gauge' | 'histogram'
  help: string
  labels: readonly string[]
  bounds?: readonly number[]
}
type Named<K extends Metric['kind']> = {
  [N in keyof typeof METRICS]: (typeof METRICS)[N]['kind'] extends K ? N : never
}[keyof typeof METRICS]

/** A mutable value that a counting caller keeps. */
export type MetricValue = { value: number }
export type HistogramValue = { bounds: readonly number[]; counts: number[]; sum: number }

export type Metrics = {
  /** The value of these labels, in the order of the table; the same object each time. */
  counter(name: Named<'counter'>, ...labels: string[]): MetricValue
  gauge(name: Named<'gauge'>, ...labels: string[]): MetricValue
  histogram(name: Named<'histogram'>, ...labels: string[]): HistogramValue
  /** The values of a counter with one label, by the label. */
  valuesByLabel(name: Named<'counter'>): [label: string, count: number][]
  /** Calls `read` before each collection, to set values that are read on demand. */
  onCollect(read: () => void | Promise<void>): void
  /** Renders all metrics as text. */
  render(): Promise<string>
}

/** Creates empty metrics. */
export function createMetrics(): Metrics {
  const all = new Map<string, Map<string, MetricValue | HistogramValue>>()
  const reads: (() => void | Promise<void>)[] = []
  const find = <T extends MetricValue | HistogramValue>(name: string, labels: string[], make: () => T): T => {
    let series = all.get(name)
    if (series === undefined) {
      series = new Map()
      all.set(name, series)
    }
    const key = renderLabels((METRICS as Record<string, Metric>)[name]!.labels, labels)
    let figure = series.get(key) as T | undefined
    if (figure === undefined) {
      figure = make()
      series.set(key, figure)
    }
    return figure
  }
  const figure = (name: string, ...labels: string[]) => find(name, labels, () => ({ value: 0 }))
  return {
    counter: figure,
    gauge: figure,
    histogram(name, ...labels) {
      const { bounds } = METRICS[name]
      return find(name, labels, () => ({ bounds, counts: Array(bounds.length + 1).fill(0) as number[], sum: 0 }))
    },
    valuesByLabel: (name) =>
      [...(all.get(name) ?? [])].map(([labels, figure]) => [
        labels.replace(/^\w+="(.*)"$/, '$1'),
        (figure as MetricValue).value,
      ]),
    onCollect: (read) => void reads.push(read),
    async render() {
      await Promise.all(reads.map((read) => read()))
      return Object.entries(METRICS)
        .map(([name, metric]) => renderMetric(name, metric, all.get(name) ?? new Map()))
        .join('')
    },
  }
}

/** Adds a value to a histogram. */
export function observe(spread: HistogramValue, value: number): void {
  const { bounds, counts } = spread
  let at = 0
  while (at < bounds.length && value > bounds[at]!) at++
  counts[at]!++
  spread.sum += value
}

function counter(help: string, ...labels: string[]) {
  return { kind: 'counter', help, labels } as const
}

function gauge(help: string, ...labels: string[]) {
  return { kind: 'gauge', help, labels } as const
}

function histogram(help: string, bounds: readonly number[], ...labels: string[]) {
  return { kind: 'histogram', help, bounds, labels } as const
}

/** Omits metrics without a value. */
function renderMetric(name: string, { kind, help }: Metric, series: Map<string, MetricValue | HistogramValue>): string {
  const lines: string[] = []
  for (const [labels, figure] of series) {
    if ('counts' in figure) lines.push(...renderHistogram(name, labels, figure))
    else if (!Number.isNaN(figure.value)) lines.push(`${name}${braced(labels)} ${figure.value}`)
  }
  if (lines.length === 0) return ''
  return `# HELP ${name} ${help}\n# TYPE ${name} ${kind}\n${lines.join('\n')}\n`
}

function renderHistogram(name: string, labels: string, { bounds, counts, sum }: HistogramValue): string[] {
  const before = labels === '' ? '' : `${labels},`
  let count = 0
  const buckets = counts.map((more, at) => {
    count += more
    return `${name}_bucket{${before}le="${bounds[at] ?? '+Inf'}"} ${count}`
  })
  if (count === 0) return []
  return [...buckets, `${name}_sum${braced(labels)} ${sum}`, `${name}_count${braced(labels)} ${count}`]
}

function renderLabels(names: readonly string[], values: string[]): string {
  if (names.length !== values.length) throw new Error(`the labels are ${names.join(', ')}`)
  const escaped = (value: string) =>
    value.replaceAll(/[\\"\n]/g, (character) => (character === '\n' ? '\\n' : `\\${character}`))
  return names.map((name, at) => `${name}="${escaped(values[at]!)}"`).join(',')
}

function braced(labels: string): string {
  return labels === '' ? '' : `{${labels}}`
}
