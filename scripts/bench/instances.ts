/** Several instances on one PostgreSQL: what they do together, what they lose to each other, and whether a name is ever given twice. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { openPostgres } from '../../src/db/postgres/open.ts'
import { ask } from './ask.ts'
import { CREATE } from './cases.ts'
import { stopServer } from './children.ts'
import { openLoader } from './load.ts'
import { startService } from './measure.ts'
import { newNames, spread } from './rounds.ts'
import type { ScaleOptions } from './scale.ts'
import { projectName, seedStore, tokenOf } from './seed.ts'

const INSTANCES = [1, 2, 4]
const CONNECTIONS = 32
const ROUNDS = 3
const ACCOUNTS = 20
const NAMES = 50
const RACERS = 20

type Instance = Awaited<ReturnType<typeof startService>>
/** Per second of all instances together; `lost`: transactions that were run again, by 100 creates. */
export type InstancesResult = {
  instances: number
  gets: number
  creates: number
  together: number
  lost: number
  lostTogether: number
  errors: number
}[]

/** Measures one, two and four instances in turns, with the same connections in sum. Throws when a name was given twice. */
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
  const load = async (some: Instance[], kind: 'get' | 'own' | 'together') => {
    const before = await lostBy(some)
    const figures = await Promise.all(
      some.map(({ origin }, at) => {
        const account = kind === 'together' ? 0 : at
        const headers = { authorization: `Bearer ${tokenOf(account)}` }
        const read = { method: 'GET', path: `/v9/projects/${projectName(account)}`, headers } as const
        const asked = kind === 'get' ? read : { ...CREATE(newNames()), headers }
        return loader.run({ origin, asked, connections: CONNECTIONS / some.length, seconds }, `load-${at}`)
      }),
    )
    const perSecond = figures.reduce((sum, one) => sum + one.perSecond, 0)
    const errors = figures.reduce((sum, one) => sum + one.errors, 0)
    return { perSecond, errors, lost: (100 * ((await lostBy(some)) - before)) / (perSecond * seconds) }
  }
  const found = INSTANCES.map(() => ({ get: [] as Loaded[], own: [] as Loaded[], together: [] as Loaded[] }))
  for (let round = 0; round < ROUNDS; round++) {
    say(`instances: round ${round + 1} of ${ROUNDS}`)
    for (const [at, count] of INSTANCES.entries()) {
      for (const kind of ['get', 'own', 'together'] as const)
        found[at]![kind].push(await load(all.slice(0, count), kind))
    }
  }
  await raceForNames(all)
  for (const instance of all) await stopServer(instance)
  const middle = (rounds: Loaded[], of: 'perSecond' | 'lost') => spread(rounds.map((round) => round[of])).median
  return found.map(({ get, own, together }, at) => ({
    instances: INSTANCES[at]!,
    gets: middle(get, 'perSecond'),
    creates: middle(own, 'perSecond'),
    together: middle(together, 'perSecond'),
    lost: middle(own, 'lost'),
    lostTogether: middle(together, 'lost'),
    errors: [...get, ...own, ...together].reduce((sum, { errors }) => sum + errors, 0),
  }))
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
