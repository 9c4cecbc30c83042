/** The edge with 100,000 domains of one project: `check` as a proxy asks it, for a random one each time, and how soon a pause is felt. */

import { join } from 'node:path'
import { chunks } from '../../src/platform/db/chunks.ts'
import { openPostgres } from '../../src/platform/db/postgres/open.ts'
import { openSqlite } from '../../src/platform/db/sqlite/open.ts'
import { ask } from './ask.ts'
import type { Asked } from './asked.ts'
import { memoryOf, stopServer, type Target } from './children.ts'
import type { Figures } from './load.ts'
import { type Bench, startService } from './measure.ts'
import { medians, type Spread, spread } from './rounds.ts'

export const DOMAINS = 100_000
const CONNECTIONS = 32
const ROUNDS = 3
const PAUSES = 10
const PROJECT = 'edge-of-many'

/** `start`: milliseconds from spawn to the first answer. `pause`: milliseconds from the answer of a pause to the first 503. */
export type CheckResult = {
  domains: number
  figures: Figures
  start: number
  pause: Spread
  memory: { now: number; most: number } | undefined
}

/** Measures over a store of its own. */
export async function measureCheck(bench: Bench): Promise<CheckResult> {
  const env = { ...bench.env, BERTH_DATA: join(bench.folder, 'edge'), BERTH_EDGE_PORT: '0' }
  const first = await startService('bin/berth.mjs', env)
  await ask(first, { path: '/v10/projects', body: JSON.stringify({ name: PROJECT }) })
  const project = JSON.parse((await ask(first, { path: `/v9/projects/${PROJECT}` })).body) as Project
  await stopServer(first)
  bench.say(`check: ${DOMAINS} domains are made`)
  await seedDomains(env, project)
  const before = performance.now()
  const service = await startService('bin/berth.mjs', env)
  try {
    const origin = service.edge
    if (origin === undefined) throw new Error('the service did not say where proxies ask')
    const start = performance.now() - before
    await load(bench, origin, 1)
    const rounds: Figures[] = []
    for (let round = 0; round < ROUNDS; round++) {
      bench.say(`check: round ${round + 1} of ${ROUNDS}`)
      rounds.push(await load(bench, origin, bench.seconds))
    }
    const pauses: number[] = []
    for (let at = 0; at < PAUSES + 1; at++) pauses.push(await feltAfter(service, origin, at % 2 === 0))
    return { domains: DOMAINS, figures: medians(rounds), start, pause: spread(pauses), memory: memoryOf(service) }
  } finally {
    await stopServer(service)
  }
}

export type Project = { id: string; accountId: string }

/** The name of a domain by its number. */
export const hostOf = (n: number) => `site-${String(n).padStart(8, '0')}.example.com`

/** Puts the domains into the store of `env`, whose service is stopped. All point to one deployment. */
export async function seedDomains(env: NodeJS.ProcessEnv, { id, accountId }: Project): Promise<void> {
  const fail = (error: unknown) => {
    throw error
  }
  const db =
    env.DATABASE_URL === undefined
      ? await openSqlite({ file: join(env.BERTH_DATA!, 'berth.db'), onDiskError: fail })
      : await openPostgres(env.DATABASE_URL, fail)
  const common = { account_id: accountId, project_id: id, created_stamp: 1, updated_at: 1 }
  const deployment = { id: 'dpl_bench', url: 'bench.example.net', name: PROJECT, target: 'production' } as const
  const state = { ready_state: 'READY', meta_json: '{}', upstream: 'http://10.0.0.1:3000', plan: 'pro' } as const
  await db.write((tx) =>
    tx
      .insertInto('deployment')
      .values({ account_id: accountId, project_id: id, created_stamp: 1, ...deployment, ...state })
      .execute(),
  )
  for (const numbers of chunks(Array.from({ length: DOMAINS }, (_, n) => n))) {
    const rows = numbers.map((n) => ({ ...common, name: hostOf(n), created_stamp: n + 1 }))
    await db.write(async (tx) => {
      const verified = { apex_name: 'example.com', challenge_token: 'x', verified_at: 1 }
      await tx
        .insertInto('project_domain')
        .values(rows.map((row) => ({ ...row, ...verified })))
        .execute()
      const leading = { deployment_id: deployment.id, target: deployment.target }
      await tx
        .insertInto('alias')
        .values(rows.map((row) => ({ ...row, ...leading })))
        .execute()
    })
  }
  await db.close()
}

/** Pauses or unpauses, and asks until it shows. */
async function feltAfter(service: Target, origin: string, paused: boolean): Promise<number> {
  const verb = paused ? 'pause' : 'unpause'
  const { status } = await ask(service, { path: `/v1/projects/${PROJECT}/${verb}`, body: '{}' })
  if (status !== 200) throw new Error(`${verb} answered ${status}`)
  const before = performance.now()
  for (;;) {
    const headers = { 'x-forwarded-host': hostOf(Math.floor(Math.random() * DOMAINS)) }
    const answer = await fetch(`${origin}/edge/v1/check`, { headers })
    await answer.text()
    if (answer.status === (paused ? 503 : 200)) return performance.now() - before
    if (performance.now() - before > 5000) throw new Error(`${verb} was not felt in 5 s: ${answer.status}`)
  }
}

/** As a proxy asks. */
function load({ loader }: Bench, origin: string, seconds: number): Promise<Figures> {
  const headers = {
    'x-forwarded-host': 'site-{n}.example.com',
    'x-forwarded-proto': 'https',
    'x-forwarded-uri': '/some/page?with=query',
    'user-agent': 'Mozilla/5.0',
  }
  const asked: Asked = { method: 'GET', path: '/edge/v1/check', headers, of: DOMAINS }
  return loader.run({ origin, asked, connections: CONNECTIONS, seconds })
}
