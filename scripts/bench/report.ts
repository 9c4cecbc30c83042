/** What was measured, for eyes: a table, and a line for each goal. */

import type { CheckResult } from './check.ts'
import type { Figures } from './load.ts'
import type { CaseResult, DurableResult } from './measure.ts'
import type { Spread } from './rounds.ts'

/** A part is undefined when this run did not measure it. */
export type Results = {
  machine: { cores: number; node: string; engine: string; tool: string; memoryDisk: boolean; seconds: number }
  cases: CaseResult[]
  durable: DurableResult | undefined
  check: CheckResult | undefined
  start: Spread | undefined
  /** Of the service, after the whole load: in RAM now, and the most it was. */
  memory: { now: number; most: number } | undefined
}

/** `reached` is null when this run did not measure it. */
export type Goal = { goal: string; figure: string; reached: boolean | null }

/** The goals of the project, judged by this run. */
export function judge({ cases, durable, check, start, memory }: Results): Goal[] {
  const get = cases.find((result) => result.case.name === 'get')?.ratio
  const clean = cases.every(({ service }) => service.errors === 0)
  return [
    goal('get project by name: at least 0.40 of the bare server', get, factor, get && clean && get.median >= 0.4),
    goal(
      'durable creates at 64 connections: at least 5 times what one fsync per create gives',
      durable,
      ({ overUngrouped, overFsyncs }) => `${factor(overUngrouped)}; over append + fsync alone ${factor(overFsyncs)}`,
      durable && durable.service.errors === 0 && durable.overUngrouped.median >= 5,
    ),
    goal(
      'check with 100,000 domains: at least 10,000 requests a second, p99 under 5 ms',
      check,
      ({ figures: { perSecond, p99 } }) => `${perSecond.toFixed(0)} a second, p99 ${p99.toFixed(2)} ms`,
      check && check.figures.errors === 0 && check.figures.perSecond >= 10_000 && check.figures.p99 < 5,
    ),
    goal(
      'a pause is felt by all 100,000: within 50 ms',
      check,
      ({ pause: { median, low, high } }) => `${median.toFixed(1)} ms (${low.toFixed(1)} to ${high.toFixed(1)})`,
      check && check.pause.median < 50,
    ),
    goal(
      'start to first answer on an existing store: under 400 ms',
      start,
      ({ median, low, high }) => `${median.toFixed(0)} ms (${low.toFixed(0)} to ${high.toFixed(0)})`,
      start && start.median < 400,
    ),
    goal(
      'resident memory after the load: under 120 MB',
      memory,
      ({ now, most }) => `${now.toFixed(0)} MB (at most ${most.toFixed(0)})`,
      memory && memory.now < 120,
    ),
  ]
}

function goal<T>(name: string, of: T | undefined, show: (of: T) => string, reached: boolean | undefined): Goal {
  return { goal: name, figure: of === undefined ? 'not measured' : show(of), reached: reached ?? null }
}

/** The whole report as text. */
export function show(results: Results, goals: Goal[]): string {
  const { cores, node, engine, tool, memoryDisk, seconds } = results.machine
  return [
    `${cores} cores, Node ${node}, ${engine}, loaded with ${tool}: 3 rounds of ${seconds} s each, medians`,
    ...(memoryDisk ? ['The temporary folder is in memory: durability costs nothing here. Set TMPDIR to a disk.'] : []),
    '',
    ...(results.cases.length > 0 ? [...tableOf(results.cases), ''] : []),
    ...(results.durable ? [...durableLines(results.durable), ''] : []),
    ...(results.check ? [...checkLines(results.check), ''] : []),
    ...goals.map(({ goal, figure, reached }) => `${goal}\n  ${figure}${reached === null ? '' : verdict(reached)}`),
    '',
  ].join('\n')
}

function verdict(reached: boolean): string {
  return reached ? ': reached' : ': not reached'
}

const HEAD = ['', 'conns', 'server', 'req/s', 'p50 ms', 'p99 ms', 'MB', 'errors', 'ratio (low to high)']

function tableOf(cases: CaseResult[]): string[] {
  const rows = cases.flatMap(({ case: { title, connections }, service, bare, ratio }) => [
    [title, String(connections), 'berth', ...cells(service), factor(ratio)],
    ['', '', 'bare', ...cells(bare), ''],
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

function checkLines({ domains, figures, start, memory }: CheckResult): string[] {
  const head = [`check, ${domains} domains`, 'per s', 'p50 ms', 'p99 ms', 'errors', 'start ms', 'MB']
  const { perSecond, p50, p99, errors } = figures
  const last = [String(errors), start.toFixed(0), memory?.now.toFixed(0) ?? '']
  return aligned([head, ['berth', perSecond.toFixed(0), p50.toFixed(2), p99.toFixed(2), ...last]])
}

function cells({ perSecond, p50, p99, memory, errors }: CaseResult['service']): string[] {
  return [perSecond.toFixed(0), p50.toFixed(2), p99.toFixed(2), memory?.toFixed(0) ?? '', String(errors)]
}

function factor({ median, low, high }: Spread): string {
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
