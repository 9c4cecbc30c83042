/** A sites server that knows 100,000 domains: how soon a change of one shows, and what it costs. */

import { Agent } from 'node:http'
import { join } from 'node:path'
import { ask, send } from '../ask.ts'
import { DOMAINS, hostOf, type Project, seedDomains } from '../check.ts'
import { memoryOf, processorTimeOf, stopServer } from '../children.ts'
import { type Bench, startService } from '../measure.ts'
import { type Spread, spread } from '../rounds.ts'
import { type Plane, planeSettings, startPlane } from './plane.ts'
import { visit } from './visit.ts'

const PROJECT = 'sites-of-many'
const SEEN = 20
const COUNTED = 300
const TIMEOUT_MS = 60_000

/** `felt`: milliseconds from the answer to a change until a visitor sees it. `cost`: processor time of the sites server for a change, in microseconds. */
export type ManyDomains = {
  domains: number
  felt: Spread
  cost: number | undefined
  memory: ReturnType<typeof memoryOf>
}

/** Measures over a store of its own. */
export async function measureDomains(bench: Bench): Promise<ManyDomains> {
  const folder = join(bench.folder, 'many')
  const env = planeSettings(bench, folder)
  const first = await startService('bin/berth.mjs', env)
  await ask(first, { path: '/v10/projects', body: JSON.stringify({ name: PROJECT }) })
  const project = JSON.parse((await ask(first, { path: `/v9/projects/${PROJECT}` })).body) as Project
  await stopServer(first)
  bench.say(`${DOMAINS} domains are made`)
  await seedDomains(env, project)
  const plane = await startPlane(bench, folder)
  try {
    await shows(plane, 0, 404)
    await redirect(plane, 0)
    await shows(plane, 0, 308)
    const felt: number[] = []
    for (let at = 1; at <= SEEN; at++) {
      await redirect(plane, at)
      const before = performance.now()
      await shows(plane, at, 308)
      felt.push(performance.now() - before)
    }
    return { domains: DOMAINS, felt: spread(felt), cost: await costOf(plane), memory: memoryOf(plane.sites) }
  } finally {
    await plane.stop()
  }
}

/** Without visitors meanwhile. */
async function costOf(plane: Plane): Promise<number | undefined> {
  const before = processorTimeOf(plane.sites)
  if (before === undefined) return undefined
  for (let at = 0; at < COUNTED; at++) await redirect(plane, SEEN + 1 + at)
  await shows(plane, SEEN + COUNTED, 308)
  return (processorTimeOf(plane.sites)! - before) / COUNTED
}

async function redirect({ service }: Plane, at: number): Promise<void> {
  const agent = new Agent({ keepAlive: true })
  const path = `/v9/projects/${PROJECT}/domains/${hostOf(at)}`
  const body = JSON.stringify({ redirect: hostOf(DOMAINS - 1), redirectStatusCode: 308 })
  const headers = { authorization: `Bearer ${service.token}` }
  const { status, body: text } = await send(service.origin, { method: 'PATCH', path, headers, body }, agent)
  agent.destroy()
  if (status !== 200) throw new Error(`the change of a domain was answered ${status}: ${text}`)
}

async function shows({ sites }: Plane, at: number, wanted: number): Promise<void> {
  const until = performance.now() + TIMEOUT_MS
  for (;;) {
    const { status } = await visit(sites, hostOf(at), '/')
    if (status === wanted) return
    if (performance.now() > until) throw new Error(`${hostOf(at)} was answered ${status} and not ${wanted}`)
  }
}
