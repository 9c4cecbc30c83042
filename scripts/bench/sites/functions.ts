/**
 * `npm run bench -- --functions`: what a function and a prerendered page cost on a sites server, compared with the same handler in plain Node.js and a static
 * page. docs/bench.md: Functions.
 */
import { mkdirSync, readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { TOOLS } from '../../../test/faults/function-place.ts'
import { ask } from '../ask.ts'
import { processorTimeOf, type Server, startServer, stopServer } from '../children.ts'
import type { Figures } from '../load.ts'
import type { Bench } from '../measure.ts'
import { alternate, medians, processorRatios, type Side, type Spread, spread } from '../rounds.ts'
import { deployOutput, fileOf } from './deploy.ts'
import { startPlane } from './plane.ts'
import { visit } from './visit.ts'

const PROJECT = 'bench-of-functions'
const CONNECTIONS = 32
const ROUNDS = 5
const COLD = 12
const PAGE = `<!doctype html>${'x'.repeat(5000)}`
const HANDLER = 'plain-handler.mjs'

/** `overPlain`: µs of processor time of a request in all processes, less those of plain Node.js. `cold`: ms, first request of a process. */
export type FunctionsResult = {
  servers: { name: string; figures: Figures }[]
  overPlain: Spread
  hitOverStatic: Spread | undefined
  cold: { ours: Spread; plain: Spread }
}

/** Measures over a store of its own, with functions as plain processes: a sandbox costs at its start alone. */
export async function measureFunctions(bench: Bench): Promise<FunctionsResult> {
  const folder = join(bench.folder, 'functions')
  mkdirSync(TOOLS, { recursive: true })
  mkdirSync(join(folder, 'cache'), { recursive: true })
  symlinkSync(TOOLS, join(folder, 'cache', 'tools'))
  const plane = await startPlane(bench, folder, {
    BERTH_FUNCTIONS: 'trusted',
    BERTH_RUNNER_CACHE: join(folder, 'cache'),
    BERTH_LOG_LEVEL: 'info',
  })
  try {
    await ask(plane.service, { path: '/v10/projects', body: JSON.stringify({ name: PROJECT }) })
    const { url: host } = await deployOutput(plane.service, outputFiles(), { project: PROJECT })
    const cold = await measureCold(bench, plane.sites, host)
    const plain = await startPlain(bench)
    const sides = [
      await sideOf(plane.sites, host, '/warm'),
      await sideOf(plain, host, '/warm'),
      await sideOf(plane.sites, host, '/entry'),
      await sideOf(plane.sites, host, '/page.html'),
    ]
    const rounds = await alternate({ ...bench, rounds: ROUNDS }, { name: 'functions', connections: CONNECTIONS }, sides)
    await stopServer(plain)
    const [warm, bare, hit, page] = rounds as [Figures[], Figures[], Figures[], Figures[]]
    const names = ['function', 'plain node', 'prerendered page (HIT)', 'static page']
    return {
      servers: names.map((name, at) => ({ name, figures: medians(rounds[at]!) })),
      overPlain: spread(warm.map(({ processor }, at) => processor! - bare[at]!.processor!)),
      hitOverStatic: processorRatios(hit, page),
      cold,
    }
  } finally {
    await plane.stop()
  }
}

function outputFiles() {
  const module = readFileSync(join(import.meta.dirname, HANDLER), 'utf8')
  const settings = { runtime: 'nodejs24.x', handler: 'index.mjs', launcherType: 'Nodejs', shouldAddHelpers: false }
  const named = (name: string) => [
    fileOf(`functions/${name}.func/.vc-config.json`, JSON.stringify(settings)),
    fileOf(`functions/${name}.func/index.mjs`, module),
  ]
  return [
    fileOf('config.json', '{"version":3}'),
    fileOf('static/page.html', PAGE),
    ...['warm', 'entry', ...Array.from({ length: COLD }, (_, at) => `cold-${at}`)].flatMap(named),
    fileOf('functions/entry.prerender-config.json', '{"expiration":false,"fallback":"entry.prerender-fallback.html"}'),
    fileOf('functions/entry.prerender-fallback.html', PAGE),
  ]
}

/** The processor time of a first request, in a process of its own each time. */
async function measureCold(bench: Bench, sites: Server, host: string): Promise<FunctionsResult['cold']> {
  const [ours, plain]: [number[], number[]] = [[], []]
  for (let at = 0; at < COLD; at++) {
    const before = treeTime(sites)
    await mustShow(sites, host, `/cold-${at}`)
    ours.push((treeTime(sites) - before) / 1000)
    const bare = await startPlain(bench)
    await mustShow(bare, host, '/')
    plain.push(treeTime(bare) / 1000)
    await stopServer(bare)
  }
  return { ours: spread(ours), plain: spread(plain) }
}

/** The same handler on the Node.js of functions. */
function startPlain({ env }: Bench): Promise<Server> {
  return startServer(join(import.meta.dirname, 'plain-server.mjs'), env)
}

async function sideOf(server: Server, host: string, path: string): Promise<Side> {
  await mustShow(server, host, path)
  return {
    origin: server.origin,
    asked: async () => ({ method: 'GET', path, headers: { host } }),
    processorTime: () => treeTime(server),
  }
}

async function mustShow(server: Server, host: string, path: string): Promise<void> {
  const { status } = await visit(server, host, path)
  if (status !== 200) throw new Error(`${path} was answered ${status}`)
}

/** The processor time of a process and of all below it, in microseconds. */
function treeTime(server: Server): number {
  const parents = new Map<number, number>()
  for (const name of readdirSync('/proc')) {
    const parent = parentOf(name)
    if (parent !== undefined) parents.set(Number(name), parent)
  }
  const isBelow = (pid: number): boolean =>
    pid === server.process.pid || (parents.has(pid) && isBelow(parents.get(pid)!))
  const times = [...parents.keys()].filter(isBelow).map((pid) => processorTimeOf({ pid }) ?? 0)
  return times.reduce((sum, time) => sum + time, 0)
}

function parentOf(name: string): number | undefined {
  if (!/^\d+$/.test(name)) return undefined
  try {
    const stat = readFileSync(`/proc/${name}/stat`, 'utf8')
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
  } catch {
    return undefined
  }
}
