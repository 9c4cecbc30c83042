/** Several instances on one PostgreSQL: what they do together, what they lose to each other, and whether a name is ever given twice. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { openPostgres } from '../../src/platform/db/postgres/open.ts'
import { ask } from './ask.ts'
import { CREATE } from './cases.ts'
import { stopServer } from './children.ts'
import { hasHaproxy, startHaproxy } from './haproxy.ts'
import { openLoader } from './load.ts'
import { startService } from './measure.ts'
import { newNames, spread } from './rounds.ts'
import type { ScaleOptions } from './scale.ts'
import { projectName, seedStore, tokenOf } from './seed.ts'

const INSTANCES = [1, 2, 4]
const BEHIND_HAPROXY = [1, 2]
const KINDS = ['get', 'own', 'together', 'mixed'] as const
const CONNECTIONS = 32
const ROUNDS = 3
const ACCOUNTS = 20
const NAMES = 50
const RACERS = 20

type Instance = Awaited<ReturnType<typeof startService>>
type Kind = (typeof KINDS)[number]
/** Where requests go: to each instance, or to the HAProxy before them. */
type Setup = { title: string; instances: Instance[]; proxy: string | undefined }

/** Per second of all instances together; `lost`: transactions that were run again, by 100 writes. `mixed`: as many connections read as create. */
export type InstancesResult = {
  title: string
  gets: number
  creates: number
  together: number
  lost: number
  lostTogether: number
  mixed: number
  lostMixed: number
  errors: number
}[]

/** Measures one, two and four instances in turns, and one and two behind HAProxy, with the same connections in sum. Throws when a name was given twice. */
export async function measureInstances(
  { folder, env, newDatabase, say }: ScaleOptions,
  seconds: number,
): Promise<InstancesResult> {
  const data = join(folder, 'instances')
  mkdirSync(data, { recursive: true })
  const settings = { ...env, BERTH_DATA: data, BERTH_RATE_LIMITS: 'off', DATABASE_URL: await newDatabase!() }
  await stopServer(await startService('bin/berth.mjs', settings))
  const db = await openPostgres(settings.DATABASE_URL, () => {})
  await seedStore(db, { accounts: ACCOUNTS, projectsEach: 50, variables: 10, hosts: false })
  await db.close()
  const all: Instance[] = []
  for (let at = 0; at < Math.max(...INSTANCES); at++) all.push(await startService('bin/berth.mjs', settings))
  const loader = openLoader(folder)
  const proxies = hasHaproxy()
    ? await Promise.all(
        BEHIND_HAPROXY.map((count) =>
          startHaproxy(
            data,
            all.slice(0, count).map(({ origin }) => origin),
          ),
        ),
      )
    : []
  if (proxies.length === 0) say('HAProxy is not installed: no instances are measured behind it')
  const setups: Setup[] = [
    ...INSTANCES.map((count) => ({ title: String(count), instances: all.slice(0, count), proxy: undefined })),
    ...proxies.map(({ origin }, at) => {
      const count = BEHIND_HAPROXY[at]!
      return { title: `${count} behind HAProxy`, instances: all.slice(0, count), proxy: origin }
    }),
  ]
  const found = setups.map(() => ({ get: [], own: [], together: [], mixed: [] }) as Record<Kind, Loaded[]>)
  for (let round = 0; round < ROUNDS; round++) {
    say(`instances: round ${round + 1} of ${ROUNDS}`)
    for (const [at, setup] of setups.entries())
      for (const kind of KINDS) found[at]![kind].push(await load(loader, setup, kind, seconds))
  }
  await raceForNames(all)
  for (const proxy of proxies) await stopServer(proxy)
  for (const instance of all) await stopServer(instance)
  const middle = (rounds: Loaded[], of: 'perSecond' | 'lost') => spread(rounds.map((round) => round[of])).median
  return found.map(({ get, own, together, mixed }, at) => ({
    title: setups[at]!.title,
    gets: middle(get, 'perSecond'),
    creates: middle(own, 'perSecond'),
    together: middle(together, 'perSecond'),
    mixed: middle(mixed, 'perSecond'),
    lost: middle(own, 'lost'),
    lostTogether: middle(together, 'lost'),
    lostMixed: middle(mixed, 'lost'),
    errors: [...get, ...own, ...together, ...mixed].reduce((sum, { errors }) => sum + errors, 0),
  }))
}

/** Loads a set-up with 32 connections in sum, which are spread over its instances where no HAProxy does that. */
async function load(
  loader: ReturnType<typeof openLoader>,
  { instances, proxy }: Setup,
  kind: Kind,
  seconds: number,
): Promise<Loaded> {
  const before = await lostBy(instances)
  const origins = instances.map(({ origin }) => proxy ?? origin)
  const verbs: ('get' | 'create')[] = kind === 'mixed' ? ['get', 'create'] : [kind === 'get' ? 'get' : 'create']
  const connections = CONNECTIONS / origins.length / verbs.length
  const figures = await Promise.all(
    origins.flatMap((origin, at) => {
      const account = kind === 'together' ? 0 : at
      const headers = { authorization: `Bearer ${tokenOf(account)}` }
      return verbs.map(async (verb) => {
        const read = { method: 'GET', path: `/v9/projects/${projectName(account)}`, headers } as const
        const asked = verb === 'get' ? read : { ...CREATE(newNames()), headers }
        return { verb, ...(await loader.run({ origin, asked, connections, seconds }, `load-${verb}-${at}`)) }
      })
    }),
  )
  const sum = (some: typeof figures) => some.reduce((all, { perSecond }) => all + perSecond, 0)
  const writes = sum(figures.filter(({ verb }) => verb === 'create')) * seconds
  const lost = (await lostBy(instances)) - before
  return {
    perSecond: sum(figures),
    errors: figures.reduce((all, { errors }) => all + errors, 0),
    lost: writes === 0 ? 0 : (100 * lost) / writes,
  }
}

type Loaded = { perSecond: number; errors: number; lost: number }

async function lostBy(instances: Instance[]): Promise<number> {
  let lost = 0
  for (const { origin, credentials } of instances) {
    const { body } = await ask({ origin, token: credentials.operatorToken }, { path: '/metrics' })
    lost += Number(/^berth_races_lost_total (\d+)/m.exec(body)?.[1] ?? 0)
  }
  return lost
}

/** Many ask every instance at once for one name: exactly one may have it. */
async function raceForNames(all: Instance[]): Promise<void> {
  for (let n = 0; n < NAMES; n++) {
    const body = JSON.stringify({ name: `raced-${n}` })
    const racers = Array.from({ length: RACERS }, (_, at) =>
      ask({ origin: all[at % all.length]!.origin, token: tokenOf(1) }, { path: '/v10/projects', body }),
    )
    const statuses = (await Promise.all(racers)).map(({ status }) => status).sort()
    if (statuses[0] !== 200 || statuses.slice(1).some((status) => status !== 409))
      throw new Error(`the name raced-${n} was given otherwise than once: ${statuses}`)
  }
}
