/**
 * Acknowledged writes are read by the next request: by the writer and by another user, on the instance that wrote them and on
 * another one, while others ask for the same. On PostgreSQL with notifications that come 5 s late, or never. docs/architecture.md: Caching.
 */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { iterations } from '../../support/iterations.ts'
import { openLateProxy } from '../../support/servers/late-proxy.ts'
import { callerOf, type Engine, migratedDatabase, openWorld, type World } from '../../support/world.ts'

const WORKERS = 8
/** The ten thousand take some ten minutes on PostgreSQL. */
const READS = iterations(100, 500, 10_000)

type Ask = (
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
  url: string,
  body?: unknown,
  // biome-ignore lint/suspicious/noExplicitAny: an answer is whatever the service said; the assertion is the check
) => Promise<{ status: number; text: string; body: any }>

/** The same instances twice, for two users: each of these calls one instance as one user. */
type Place = {
  first: Ask[]
  second: Ask[]
  operator: Ask
  teamId: string
  secondId: string
  newToken(): Promise<Ask[]>
}

/** One instance over an embedded store, or two over one PostgreSQL. */
async function openInstances(t: TestContext, engine: Engine, url?: string): Promise<Place> {
  const worlds: World[] = [await openWorld(engine, url === undefined ? {} : { DATABASE_URL: url })]
  const BERTH_KEYS = join(worlds[0]!.folder, 'keys.json')
  if (url !== undefined) worlds.push(await openWorld(engine, { DATABASE_URL: url, BERTH_KEYS }))
  t.after(async () => {
    for (const world of worlds) await world.close()
  })
  const [{ credentials, operator, user }] = worlds as [World]
  const as = (token: string | undefined) => worlds.map((world) => callerOf(world, token).try as Ask)
  const mate = await user('mate')
  const { teamId } = credentials
  const operate = operator.try as Ask
  const placed = await operate('PUT', `/operator/v1/teams/${teamId}/members/${mate.id}`, { role: 'MEMBER' })
  assert.ok(placed.status < 300, placed.text)
  return {
    first: as(credentials.token),
    second: as(mate.token),
    operator: operate,
    teamId,
    secondId: mate.id,
    newToken: async () =>
      as((await operate('POST', '/operator/v1/tokens', { userId: credentials.userId, name: 'spare' })).body.token),
  }
}

/** Repeats a request until the store responds: a write without a response may be stored or not. */
async function insist(...[ask, method, url, body]: [Ask, ...Parameters<Ask>]): ReturnType<Ask> {
  for (let left = 20; ; left--) {
    const answer = await ask(method, url, body)
    if (answer.status !== 503 || left === 0) return answer
    // A cut connection is replaced meanwhile.
    await new Promise((done) => setTimeout(done, 100))
  }
}

/** Writes one thing after another, and has each read by one of the users on one of the instances. Returns how many were read. */
async function readWhatIsWritten({ first, second, teamId }: Place, worker: number, times: number): Promise<number> {
  const team = `teamId=${teamId}`
  const path = `/v9/projects/mine-${worker}`
  const any = (all: Ask[]) => all[Math.floor(Math.random() * all.length)]!
  const made = await insist(any(first), 'POST', `/v10/projects?${team}`, { name: `mine-${worker}` })
  assert.equal(made.status, 200, made.text)
  for (let n = 0; n < times; n++) {
    let acknowledged = false
    // Others ask for the same until the write is acknowledged: what they read before it must not be kept after it.
    const asked = [first, second].map(async (people) => {
      while (!acknowledged) for (const url of [path, `${path}/env`]) await any(people)('GET', `${url}?${team}`)
    })
    try {
      await writeAndRead(n, () => {
        acknowledged = true
      })
    } finally {
      acknowledged = true
      await Promise.all(asked)
    }
  }
  return times

  async function writeAndRead(n: number, onAcknowledged: () => void): Promise<void> {
    const said = `said-${worker}-${n}`
    const reader = any(n % 2 === 0 ? first : second)
    const kind = n % 4
    const written =
      kind < 2
        ? await insist(any(first), 'PATCH', `${path}?${team}`, { buildCommand: said })
        : await insist(any(first), 'POST', `${path}/env?upsert=true&${team}`, {
            ...{ key: 'KEY', value: 'v', type: 'encrypted', target: ['preview'], comment: said },
          })
    onAcknowledged()
    assert.ok(written.status < 300, written.text)
    const from = kind === 0 || kind === 3 ? path : kind === 1 ? '/v9/projects' : `${path}/env`
    const read = await insist(reader, 'GET', `${from}?${team}`)
    assert.ok(read.text.includes(`"${said}"`), `${from} after ${said}: ${read.status} ${read.text.slice(0, 300)}`)
  }
}

/** Ends access and restores it: a response that says that it ended is right, on every instance. */
async function endAccess({ first, second, operator, teamId, secondId, newToken }: Place, times: number): Promise<void> {
  const list = (ask: Ask) => ask('GET', `/v9/projects?teamId=${teamId}`)
  const member = `/operator/v1/teams/${teamId}/members/${secondId}`
  for (let n = 0; n < times; n++) {
    for (const ask of second) assert.equal((await list(ask)).status, 200)
    assert.ok((await operator('DELETE', member)).status < 300)
    for (const ask of second) assert.equal((await list(ask)).status, 403, 'a member who was removed')
    assert.ok((await operator('PUT', member, { role: 'MEMBER' })).status < 300)
    const token = await newToken()
    for (const ask of token) assert.equal((await list(ask)).status, 200)
    const tokens = (await first[0]!('GET', '/v5/user/tokens')).body.tokens as { id: string; name: string }[]
    const { id } = tokens.find(({ name }) => name === 'spare')!
    assert.ok((await first[0]!('DELETE', `/v3/user/tokens/${id}`)).status < 300)
    for (const ask of token) assert.equal((await list(ask)).status, 401, 'a token that was ended')
  }
}

async function run(place: Place): Promise<void> {
  const workers = Array.from({ length: WORKERS }, (_, at) => readWhatIsWritten(place, at, READS / WORKERS))
  const read = (await Promise.all(workers)).reduce((sum, one) => sum + one, 0)
  assert.equal(read, READS)
  await endAccess(place, iterations(3, 50))
}

test('on the embedded store', { timeout: 1_200_000 }, async (t) => run(await openInstances(t, 'sqlite')))

for (const [what, cuts] of [
  ['late', false],
  ['cut', true],
] as const) {
  test(`on two instances on PostgreSQL, with notifications ${what}`, { timeout: 1_200_000 }, async (t) => {
    const proxy = await openLateProxy(t, new URL(await migratedDatabase()), cuts)
    const place = await openInstances(t, 'postgres', proxy.url)
    await run(place)
    assert.ok(proxy.held() > 0, 'a notification came by')
  })
}
