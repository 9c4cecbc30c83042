/**
 * TABLE what is counted: name, kind, what it says, labels. And the figures themselves, as Prometheus reads them (text format
 * 0.0.4). A label is one of few words that the code knows: never an id, a name or a path. docs/operations.md: Metrics, Metrics are ours.
 */

const SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]
const WRITES = [1, 2, 4, 8, 16, 32, 64, 128, 256]

export const METRICS = {
  berth_build_info: gauge('1; what runs', 'version', 'engine', 'node'),
  berth_http_requests_total: counter('requests answered', 'operation', 'method', 'status'),
  berth_http_request_duration_seconds: histogram('from the handler to the answer', SECONDS, 'operation'),
  berth_http_requests_in_flight: gauge('requests that wait for their answer'),
  berth_unsent_bytes: gauge('answers that have not left, in bytes; at most 64 MiB'),
  berth_slow_readers_ended_total: counter('connections ended because they did not take their answers'),
  berth_refusals_total: counter('refusals, by their row in errors.ts', 'key'),
  berth_commit_writes: histogram('writes that shared a commit (embedded store)', WRITES),
  berth_commit_duration_seconds: histogram('a commit; on PostgreSQL a whole transaction', SECONDS),
  berth_races_lost_total: counter('transactions run again because another one was first (PostgreSQL)'),
  berth_limit_portions_total: counter('portions of rate limits that the database was asked for (PostgreSQL)'),
  berth_db_connections: gauge('connections to PostgreSQL', 'state'),
  berth_store_up: gauge('1 while the store answers what the figures below need'),
  berth_deliveries_due: gauge('deliveries to webhooks and log drains that are due; at most 10000'),
  berth_deliveries_oldest_seconds: gauge('for how long the oldest of them has been due'),
  berth_deliveries_total: counter('attempts and decisions', 'outcome'),
  berth_drain_lines_dropped_total: counter(
    'lines dropped because too much waited for a log drain, counted for each drain',
  ),
  berth_mail_due: gauge('letters that are due; at most 10000'),
  berth_mail_oldest_seconds: gauge('for how long the oldest of them has been due'),
  berth_mail_total: counter('attempts to hand a letter over', 'outcome'),
  berth_live_pages: gauge('open pages of the console that hear of changes'),
  berth_live_told_total: counter('times that an open page was told of changes'),
  berth_audit_lines_dropped_total: counter('audit lines of clear values that were not written'),
  berth_audit_unlinked: gauge('entries of the audit log that are in no chain yet; at most 10000'),
  berth_store_bytes: gauge('the store on disk, free pages too'),
  berth_disk_free_bytes: gauge('room on the disk of the data folder'),
  berth_backup_last_good_timestamp_seconds: gauge(
    'when the newest backup was begun in which no check found a fault; 0: there is none',
  ),
  berth_backup_last_verified_timestamp_seconds: gauge(
    'when the newest backup was begun that a check found whole; 0: there is none',
  ),
  berth_backup_failed: gauge('1 while the last scheduled backup could not be made'),
  berth_backups_damaged: gauge('backups in which the last check found a fault'),
  berth_keyring_copy_verified: gauge('1 while an encrypted copy elsewhere was seen to hold every root key'),
  berth_timer_last_run_timestamp_seconds: gauge('when the sweep last ran to its end', 'timer'),
  berth_timer_swept_total: counter('rows that the sweep dealt with', 'timer'),
  berth_timer_failures_total: counter('sweeps that failed', 'timer'),
  berth_edge_checks_total: counter('what proxies were told of visitors', 'verdict'),
  berth_edge_hosts: gauge('names that the edge knows'),
  berth_edge_stale_seconds: gauge('for how long the edge could not read the store; 0 while it can'),
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

/** A figure that whoever counts holds on to. */
export type MetricValue = { value: number }
export type HistogramValue = { bounds: readonly number[]; counts: number[]; sum: number }

export type Metrics = {
  /** The figure of these labels, given in the order of the table; the same one each time. */
  counter(name: Named<'counter'>, ...labels: string[]): MetricValue
  gauge(name: Named<'gauge'>, ...labels: string[]): MetricValue
  histogram(name: Named<'histogram'>, ...labels: string[]): HistogramValue
  /** What was counted so far of a counter with one label, by the label. */
  valuesByLabel(name: Named<'counter'>): [label: string, count: number][]
  /** Calls `read` before each telling, to set what is only asked then. */
  onCollect(read: () => void | Promise<void>): void
  /** All figures as text. */
  render(): Promise<string>
}

/** Nothing is counted yet. */
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

/** Takes a value into a spread. */
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

/** What was never counted, or is not known now, is not told. */
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
  const escaped = (value: string) => value.replaceAll(/[\\"\n]/g, (one) => (one === '\n' ? '\\n' : `\\${one}`))
  return names.map((name, at) => `${name}="${escaped(values[at]!)}"`).join(',')
}

function braced(labels: string): string {
  return labels === '' ? '' : `{${labels}}`
}
