/** What was measured of sites, for eyes: a table of the servers, and a line for each goal. */
import { aligned, factor, type Goal, goalLines, milliseconds } from '../report.ts'
import type { FunctionsResult } from './functions.ts'
import type { FileResult, SitesResult } from './sites.ts'

/** At most so much of the processor time of Caddy's `file_server`. */
const OF_CADDY = { sent: 1.15, kept: 1 }
const AGAIN_OF_FIRST = 0.15
const MAX_MB = 200
const FELT_MS = 2000
const COST_US = 1000

const MAX_WARM_US = 120
const MAX_COLD_MS = 45
const HIT_OF_STATIC = 1.2

/** The goals of sites, as far as this machine could measure them. */
function judgeSites({ files, deploys, index, domains }: SitesResult): Goal[] {
  return [
    ...files.flatMap(goalOfFile),
    {
      goal: `the same files once more: at most ${AGAIN_OF_FIRST} of the first deploy`,
      figure: factor(deploys.againOfFirst),
      reached: deploys.againOfFirst.median <= AGAIN_OF_FIRST,
    },
    {
      goal: `${index.deployments} deployments that were visited: at most ${MAX_MB} MB`,
      figure: index.memory === undefined ? 'unknown' : `${index.memory.now.toFixed(0)} MB`,
      reached: index.memory !== undefined && index.memory.now <= MAX_MB,
    },
    {
      goal: `a change of one of ${domains.domains} domains: seen within ${FELT_MS} ms, under ${COST_US} µs of processor time`,
      figure: `${milliseconds(domains.felt)}, ${domains.cost?.toFixed(0) ?? 'unknown'} µs`,
      reached: domains.felt.high <= FELT_MS && domains.cost !== undefined && domains.cost < COST_US,
    },
  ]
}

function goalOfFile({ title, isKept, servers }: FileResult): Goal[] {
  const caddy = servers.find(({ name }) => name === 'Caddy')?.processor
  if (caddy === undefined) return []
  const most = isKept ? OF_CADDY.kept : OF_CADDY.sent
  return [
    {
      goal: `${title}: at most ${most} of Caddy's processor time`,
      figure: factor(caddy),
      reached: caddy.median <= most,
    },
  ]
}

/** The results as lines. */
export function showSites(found: SitesResult): string {
  const { files, deploys, index, domains } = found
  const rows = files.flatMap(({ title, servers }) =>
    servers.map(({ name, figures: { perSecond, p50, p99, processor, errors }, processor: ratio }, at) => [
      at === 0 ? title : '',
      name,
      perSecond.toFixed(0),
      p50.toFixed(1),
      p99.toFixed(1),
      processor?.toFixed(0) ?? '',
      String(errors),
      ratio === undefined ? '' : factor(ratio),
    ]),
  )
  const heads = ['', 'server', 'req/s', 'p50 ms', 'p99 ms', 'cpu µs', 'errors', 'berth sites in cpu']
  const { rsync, ofRsync } = deploys
  const beside = rsync && ofRsync ? `; rsync --fsync ${milliseconds(rsync)}: ${factor(ofRsync)} times that` : ''
  return [
    ...aligned([heads, ...rows]),
    '',
    `deploy of 1,000 files of 10 KB: ${milliseconds(deploys.first)}, once more ${milliseconds(deploys.again)}${beside}`,
    `memory over ${domains.domains} domains: ${domains.memory?.now.toFixed(0) ?? 'unknown'} MB; after ${index.deployments} deployments at most ${index.memory?.most.toFixed(0) ?? 'unknown'} MB`,
    '',
    ...goalLines(judgeSites(found)),
    '',
  ].join('\n')
}

/** What was measured of functions, as lines. */
export function showFunctions({ servers, overPlain, hitOverStatic, cold }: FunctionsResult): string {
  const rows = servers.map(({ name, figures: { perSecond, p50, p99, processor, errors } }) => [
    name,
    perSecond.toFixed(0),
    p50.toFixed(1),
    p99.toFixed(1),
    processor?.toFixed(0) ?? '',
    String(errors),
  ])
  const over = cold.ours.median - cold.plain.median
  const goals: Goal[] = [
    {
      goal: `a warm function: at most ${MAX_WARM_US} µs of processor time more than plain Node.js`,
      figure: `${overPlain.median.toFixed(0)} µs (${overPlain.low.toFixed(0)} to ${overPlain.high.toFixed(0)})`,
      reached: overPlain.median <= MAX_WARM_US,
    },
    {
      goal: `a cold function: at most ${MAX_COLD_MS} ms of processor time more than plain Node.js`,
      figure: `${over.toFixed(0)} ms (${milliseconds(cold.ours)} and ${milliseconds(cold.plain)})`,
      reached: over <= MAX_COLD_MS,
    },
  ]
  if (hitOverStatic !== undefined)
    goals.push({
      goal: `a prerendered page: at most ${HIT_OF_STATIC} of a static one's processor time`,
      figure: factor(hitOverStatic),
      reached: hitOverStatic.median <= HIT_OF_STATIC,
    })
  const heads = ['', 'req/s', 'p50 ms', 'p99 ms', 'cpu µs', 'errors']
  return [...aligned([heads, ...rows]), '', ...goalLines(goals), ''].join('\n')
}
