/** What was measured, for eyes: a table, and a line for each goal. */
import type { Compared } from './cases.ts'
import type { CheckResult } from './check.ts'
import type { Figures } from './load.ts'
import type { DurableResult } from './measure.ts'
import type { Spread } from './rounds.ts'
import type { StartResult } from './start.ts'
import type { CaseResult } from './work.ts'

/** A part is undefined when this run did not measure it. */
export type Results = {
  machine: {
    cores: number
    node: string
    tool: string
    memoryDisk: boolean
    seconds: number
    before: string | undefined
  }
  cases: CaseResult[]
  durable: DurableResult | undefined
  check: CheckResult | undefined
  start: StartResult[] | undefined
  /** Of the service over 100,000 projects, after its whole load: in RAM now, and the most it was. */
  memory: { now: number; most: number } | undefined
}

export type Goal = { goal: string; figure: string; reached: boolean }

/** The goals of the project, as far as this run measured them. */
export function judge({ cases, durable, check, start, memory: cache }: Results): Goal[] {
  return [
    ...cases.flatMap(goalsOf),
    ...goal(
      'durable creates at 64 connections: at least 5 times what one fsync per create gives',
      durable,
      ({ overUngrouped, overFsyncs }) => `${factor(overUngrouped)}; over append + fsync alone ${factor(overFsyncs)}`,
      ({ service, overUngrouped }) => service.errors === 0 && overUngrouped.median >= 5,
    ),
    ...goal(
      'check with 100,000 domains: at least 10,000 requests a second, p99 under 5 ms',
      check,
      ({ figures: { perSecond, p99 } }) => `${perSecond.toFixed(0)} a second, p99 ${p99.toFixed(2)} ms`,
      ({ figures: { errors, perSecond, p99 } }) => errors === 0 && perSecond >= 10_000 && p99 < 5,
    ),
    ...goal(
      'a pause is felt by all 100,000: within 50 ms',
      check,
      ({ pause: { median, low, high } }) => `${median.toFixed(1)} ms (${low.toFixed(1)} to ${high.toFixed(1)})`,
      ({ pause }) => pause.median < 50,
    ),
    ...goal(
      'start to first answer on an existing store: under 400 ms',
      start,
      (ways) => milliseconds(ways[0]!.ms),
      (ways) => ways[0]!.ms.median < 400,
    ),
    ...goal(
      'start of the npm package or of the executable: under 250 ms, or at most 0.65 of what the sources take',
      start,
      (ways) =>
        ways
          .slice(1)
          .map(({ way, ms, ofSources }) => `${way} ${milliseconds(ms)}, ${ofSources.toFixed(2)}`)
          .join('; '),
      (ways) => ways.slice(1).some(({ ms, ofSources }) => ms.median < 250 || ofSources <= 0.65),
    ),
    ...goal(
      'resident memory over 100,000 projects, after the load: at most 256 MB',
      cache,
      ({ now, most }) => `${now.toFixed(0)} MB (at most ${most.toFixed(0)})`,
      ({ now }) => now <= 256,
    ),
  ]
}

const TITLES: Record<Compared, string> = {
  bare: 'the bare server',
  peer: 'the peer',
  create: 'create of a project',
  before: 'the service as it was',
}

function goalsOf({ case: { title, goals }, engine, service, half, others }: CaseResult): Goal[] {
  const { p99, p99AtHalf } = goals[engine]!
  const what = engine === 'sqlite' ? title : `${title}, PostgreSQL`
  const atMost = (name: string, limit: number | undefined, seen: Figures | undefined) =>
    goal(
      `${what}: p99${name} at most ${limit} ms`,
      limit === undefined ? undefined : seen,
      (figures) => `${figures.p99.toFixed(1)} ms`,
      (figures) => figures.errors === 0 && figures.p99 <= limit!,
    )
  return [
    ...others.flatMap(({ name, ratio }) => {
      const least = goals[engine]![name]
      const wanted = least === undefined ? undefined : ratio
      const isClean = service.errors === 0
      const said = `${what}: at least ${least} of ${TITLES[name]}`
      return goal(said, wanted, factor, ({ median }) => isClean && median >= least!)
    }),
    ...atMost('', p99, service),
    ...atMost(' at half load', p99AtHalf, half),
  ]
}

function goal<T>(name: string, of: T | undefined, show: (of: T) => string, reached: (of: T) => boolean): Goal[] {
  return of === undefined ? [] : [{ goal: name, figure: show(of), reached: reached(of) }]
}

/** The whole report as text. */
export function show(results: Results, goals: Goal[]): string {
  const { cores, node, tool, memoryDisk, seconds, before } = results.machine
  return [
    `${cores} cores, Node ${node}, loaded with ${tool}: 3 rounds of ${seconds} s each, medians`,
    'Off: rate limits (BERTH_RATE_LIMITS=off). On: how many requests and lists of an account run at once, and what a project may have.',
    ...(before === undefined ? [] : [`"before" is the service as it was at ${before}.`]),
    ...(memoryDisk ? ['The temporary folder is in memory: durability costs nothing here. Set TMPDIR to a disk.'] : []),
    '',
    ...(results.cases.length > 0 ? [...tableOf(results.cases), ''] : []),
    ...(results.durable ? [...durableLines(results.durable), ''] : []),
    ...(results.check ? [...checkLines(results.check), ''] : []),
    ...(results.start ? [...startLines(results.start), ''] : []),
    ...goalLines(goals),
    '',
  ].join('\n')
}

/** Each goal with what was measured, and whether that reaches it. */
export function goalLines(goals: readonly Goal[]): string[] {
  return goals.map(({ goal, figure, reached }) => `${goal}\n  ${figure}${verdict(reached)}`)
}

function verdict(reached: boolean): string {
  return reached ? ': reached' : ': not reached'
}

const HEAD = [
  '',
  'store',
  'conns',
  'server',
  'req/s',
  'p50 ms',
  'p99 ms',
  'MB',
  'cpu µs',
  'errors',
  'berth is (low to high)',
  'in cpu',
]

function tableOf(cases: CaseResult[]): string[] {
  const rows = cases.flatMap(({ case: { title }, engine, connections, service, half, others }) => [
    [title, engine, String(connections), 'berth', ...cells(service), '', ''],
    ...(half ? [['', '', '', 'half load', ...cells({ ...half, memory: undefined }), '', '']] : []),
    ...others.map(({ name, figures, ratio, processor }) => [
      ...['', '', '', name],
      ...cells(figures),
      factor(ratio),
      processor === undefined ? '' : factor(processor),
    ]),
  ])
  return aligned([HEAD, ...rows])
}

function durableLines({ service, ungrouped, fsyncs, overUngrouped, overFsyncs }: DurableResult): string[] {
  const head = ['durable create, 64 conns', 'per s', 'p50 ms', 'p99 ms', 'errors', 'berth is']
  const latency = ({ p50, p99, errors }: Figures) => [p50.toFixed(2), p99.toFixed(2), String(errors)]
  return aligned([
    head,
    ['berth', service.perSecond.toFixed(0), ...latency(service), ''],
    ['one transaction per create', ungrouped.perSecond.toFixed(0), ...latency(ungrouped), factor(overUngrouped)],
    ['4 KiB append + fsync, no service', fsyncs.median.toFixed(0), '', '', '', factor(overFsyncs)],
  ])
}

function checkLines({ domains, figures, start, memory: cache }: CheckResult): string[] {
  const head = [`check, ${domains} domains`, 'per s', 'p50 ms', 'p99 ms', 'errors', 'start ms', 'MB']
  const { perSecond, p50, p99, errors } = figures
  const last = [String(errors), start.toFixed(0), cache?.now.toFixed(0) ?? '']
  return aligned([head, ['berth', perSecond.toFixed(0), p50.toFixed(2), p99.toFixed(2), ...last]])
}

function startLines(ways: StartResult[]): string[] {
  const rows = ways.map(({ way, ms, memory: cache, ofSources }) => [
    way,
    ms.median.toFixed(0),
    cache.median.toFixed(0),
    ofSources.toFixed(2),
  ])
  return aligned([['start', 'ms', 'MB', 'of the sources'], ...rows])
}

/** A time, with the lowest and the highest round. */
export function milliseconds({ median, low, high }: Spread): string {
  return `${median.toFixed(0)} ms (${low.toFixed(0)} to ${high.toFixed(0)})`
}

function cells({ perSecond, p50, p99, memory: cache, processor, errors }: CaseResult['service']): string[] {
  return [
    perSecond.toFixed(0),
    p50.toFixed(2),
    p99.toFixed(2),
    cache?.toFixed(0) ?? '',
    processor?.toFixed(0) ?? '',
    String(errors),
  ]
}

/** A ratio, with the lowest and the highest round. */
export function factor({ median, low, high }: Spread): string {
  return `${median.toFixed(2)} (${low.toFixed(2)} to ${high.toFixed(2)})`
}

/** Columns as wide as they need; the first to the left, the others to the right. */
export function aligned(rows: string[][]): string[] {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)))
  return rows.map((row) =>
    row
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!)))
      .join('  ')
      .trimEnd(),
  )
}
