/**
 * `npm run bench -- --sites`: what a sites server takes of the processor compared with file servers, what a deploy takes compared with `rsync`, and what
 * many deployments and domains cost it. docs/bench.md: Sites.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ask } from '../ask.ts'
import { memoryOf, processorTimeOf, type Server, stopServer } from '../children.ts'
import type { Figures } from '../load.ts'
import type { Bench } from '../measure.ts'
import { alternate, medians, processorRatios, type Side, type Spread } from '../rounds.ts'
import { deployFolder } from './deploy.ts'
import { type ManyDomains, measureDomains } from './domains.ts'
import { has, startCaddy, startNginx } from './file-servers.ts'
import { type Plane, startPlane } from './plane.ts'
import { measureDeploys, type Synced } from './sync.ts'
import { visit } from './visit.ts'

const PROJECT = 'bench-of-sites'
const CONNECTIONS = 64
const ROUNDS = 7
const DEPLOYMENTS = 1000
/** The file that is asked for, its bytes, and whether the visitor has it already. */
const FILES = [
  { title: 'page of 5 KB', file: 'page.html', bytes: 5000, isKept: false },
  { title: 'picture of 150 KB', file: 'picture.png', bytes: 150_000, isKept: false },
  { title: 'page that the visitor has (304)', file: 'page.html', bytes: 5000, isKept: true },
] as const

type Named = { name: string; figures: Figures; processor: Spread | undefined }
/** What was measured of one file: each server, and the processor time that the sites server takes compared with it. */
export type FileResult = { title: string; isKept: boolean; servers: Named[] }
export type SitesResult = {
  files: FileResult[]
  deploys: Synced
  index: { deployments: number; memory: { now: number; most: number } | undefined }
  domains: ManyDomains
}

/** Measures over stores of its own. */
export async function measureSites(bench: Bench): Promise<SitesResult> {
  const folder = join(bench.folder, 'plane')
  const content = join(folder, 'content')
  mkdirSync(content, { recursive: true })
  for (const { file, bytes } of FILES) writeFileSync(join(content, file), textOf(bytes))
  const plane = await startPlane(bench, folder)
  try {
    await ask(plane.service, { path: '/v10/projects', body: JSON.stringify({ name: PROJECT }) })
    const { url } = await deployFolder(plane.service, content, { project: PROJECT })
    const files = await measureFiles(bench, { plane, host: url, folder, content })
    const deploys = await measureDeploys(bench, plane.service, { folder, project: PROJECT })
    const index = await measureIndex(bench, plane, content)
    return { files, deploys, index, domains: await measureDomains(bench) }
  } finally {
    await plane.stop()
  }
}

/** Text that no server makes smaller than it is by a table of a few words. */
function textOf(bytes: number): Buffer {
  return Buffer.from(Array.from({ length: bytes }, (_, at) => 32 + ((at * at * 7 + at * 31) % 95)))
}

type Place = { plane: Plane; host: string; folder: string; content: string }

async function measureFiles(bench: Bench, { plane, host, folder, content }: Place): Promise<FileResult[]> {
  const others: [string, Server][] = []
  if (has('caddy')) others.push(['Caddy', await startCaddy(folder, content)])
  if (has('nginx')) others.push(['nginx', await startNginx(folder, content)])
  const servers: [string, Server][] = [['berth sites', plane.sites], ...others]
  const found: FileResult[] = []
  try {
    for (const { title, file, bytes, isKept } of FILES) {
      const sides: Side[] = []
      for (const [, server] of servers) sides.push(await sideOf(server, { host, path: `/${file}`, bytes, isKept }))
      const rounds = await alternate({ ...bench, rounds: ROUNDS }, { name: title, connections: CONNECTIONS }, sides)
      const shown = servers.map(([name], at) => ({
        name,
        figures: medians(rounds[at]!),
        processor: at === 0 ? undefined : processorRatios(rounds[0]!, rounds[at]!),
      }))
      found.push({ title, isKept, servers: shown })
    }
  } finally {
    for (const [, server] of others) await stopServer(server)
  }
  return found
}

/** Throws where the server does not send the file. */
async function sideOf(
  server: Server,
  { host, path, bytes, isKept }: { host: string; path: string; bytes: number; isKept: boolean },
): Promise<Side> {
  const first = await visit(server, host, path)
  if (first.status !== 200 || first.bytes !== bytes)
    throw new Error(`${path} was answered ${first.status} with ${first.bytes} bytes`)
  const headers = { host, ...(isKept && { 'if-none-match': first.etag }) }
  if (isKept && (await visit(server, host, path, headers)).status !== 304) throw new Error(`${path} is sent again`)
  return {
    origin: server.origin,
    asked: async () => ({ method: 'GET', path, headers }),
    processorTime: () => processorTimeOf(server),
  }
}

/** Each of many deployments of one account is visited once, each by another visitor. */
async function measureIndex(bench: Bench, plane: Plane, content: string): Promise<SitesResult['index']> {
  bench.say(`${DEPLOYMENTS} deployments are made and visited`)
  for (let at = 0; at < DEPLOYMENTS; at++) {
    const { url } = await deployFolder(plane.service, content, { project: PROJECT, meta: { at: String(at) } })
    const headers = { 'x-forwarded-for': `10.0.${at >> 8}.${at & 255}` }
    const { status } = await visit(plane.sites, url, '/page.html', headers)
    if (status !== 200) throw new Error(`deployment ${at} was answered ${status}`)
  }
  return { deployments: DEPLOYMENTS, memory: memoryOf(plane.sites) }
}
