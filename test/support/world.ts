/** A complete service for a test: its own store and users, and an HTTP client. Every test runs on both engines. */
import { randomBytes } from 'node:crypto'
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import { after, type TestContext, test } from 'node:test'
import pg from 'pg'
import { pino } from 'pino'
import { readConfig } from '../../src/config.ts'
import type { StartCredentials } from '../../src/operations/operator/bootstrap.ts'
import { logOptions } from '../../src/platform/base/log.ts'
import { openConnections } from '../../src/platform/db/postgres/open.ts'
import { openService, type Service } from '../../src/service.ts'
import { type Call, callOver, takeUnseen } from './call.ts'
import { dropKept, type Lent, lendDatabase } from './kept/databases.ts'
import { keptServer } from './kept/server.ts'
import { MIGRATED, storesFolder } from './postgres.ts'
import { type Engine, enginesOfNext, skipOn } from './stores/engines.ts'

export type { ApiResponse, Call, Method } from './call.ts'
export { ENGINES, type Engine } from './stores/engines.ts'

export type World = Omit<Service, 'credentials'> & {
  credentials: Required<StartCredentials>
  engine: Engine
  folder: string
  /** As the first user, on the personal account. */
  call: Call
  /** As the operator. */
  operator: Call
  /** With this bearer token (or none). */
  as(token: string | undefined): Call
  /** A new user's id and token. */
  user(name: string): Promise<{ id: string; token: string; call: Call }>
  /** Has the first user invite a user to the first team, and accepts for them. */
  join(user: { id: string; call: Call }, role: string): Promise<void>
  /** A new token of the first user, limited as requested. */
  token(wanted: object): Promise<Call>
  /** Everything the service logged so far, as text. */
  logged(): string
  /** Listens on a free port and returns the address. */
  listen(): Promise<string>
  /** Closes the service and leaves its store and folder, for a test that starts another one over them. `close` removes them. */
  stop(): Promise<void>
}

/** Factor for the time limits of PostgreSQL in tests: a delay on a busy machine is not an error. */
export const PATIENCE = '20'

/** For a test that hangs: no test comes near it, also on a busy machine. */
const TIMEOUT_MS = 300_000

/** Registers the test once per engine. The world is closed when the test ends, and must not have logged an error. */
export function onBothEngines(
  name: string,
  run: (world: World, t: TestContext) => Promise<void>,
  settings: Record<string, string> = {},
  engines: readonly Engine[] = enginesOfNext(),
): void {
  dropAfterwards()
  for (const engine of engines) {
    test(`${name} [${engine}]`, { timeout: TIMEOUT_MS, skip: skipOn(engine, engines) }, async (t) => {
      const world = await openWorldOver(await lendStore(engine, settings), engine, settings)
      takeUnseen()
      try {
        await run(world, t)
      } finally {
        await world.close()
      }
      const unseen = takeUnseen()
      if (unseen.length > 0)
        throw new Error(`the test inspected no response of these refused requests:\n${unseen.join('\n')}`)
      const faults = world
        .logged()
        .split('\n')
        .filter((line) => /"level":(50|60)/.test(line))
      if (faults.length > 0 && !t.name.includes('(logs an error)'))
        throw new Error(`the service logged errors:\n${faults.join('\n')}`)
    })
  }
}

/** Opens a service over a fresh store. */
export async function openWorld(engine: Engine, settings: Record<string, string> = {}): Promise<World> {
  const store = engine === 'postgres' && settings.DATABASE_URL === undefined ? await ownDatabase() : undefined
  return openWorldOver(store, engine, settings)
}

/** `store`: a database of PostgreSQL for this world; undefined where the store is a file, or is in the settings. */
async function openWorldOver(
  store: Lent | undefined,
  engine: Engine,
  settings: Record<string, string>,
): Promise<World> {
  const folder = mkdtempSync(join(storesFolder(), 'berth-test-'))
  const config = readConfig({
    BERTH_DATA: folder,
    DATABASE_URL: settings.DATABASE_URL ?? store?.url ?? migratedFile(folder),
    PORT: '0',
    BERTH_EDGE_PORT: '0',
    BERTH_TIMERS: 'off',
    BERTH_TEST_CLOCK: '1',
    // As often as a test likes; those about limits set them.
    BERTH_RATE_LIMITS: 'off',
    // No server responds there: a test that looks names up sets its own.
    BERTH_DNS_SERVERS: '127.0.0.1:1',
    BERTH_TEST_PATIENCE: PATIENCE,
    ...settings,
  })
  const lines: string[] = []
  const log = pino(logOptions('debug'), { write: (line: string) => void lines.push(line) })
  const onDiskError = (error: unknown) => {
    throw error
  }
  const parts = { newServer: keptServer, ...(store !== undefined && { connect: store.connect }) }
  const service = await openService(config, log, onDiskError, parts)
  const as = (token: string | undefined) => callerOf(service, token)
  const operator = as(service.credentials.operatorToken)
  let stopped: Promise<void> | undefined
  const stop = () => {
    stopped ??= service.close()
    return stopped
  }
  return {
    ...service,
    credentials: service.credentials as Required<StartCredentials>,
    engine,
    folder,
    as,
    operator,
    call: as(service.credentials.token),
    user: async (name) => {
      const made = await operator('POST', '/operator/v1/users', { email: `${name}@example.com`, username: name })
      const { token } = (await operator('POST', '/operator/v1/tokens', { userId: made.body.id })).body
      return { id: made.body.id, token, call: as(token) }
    },
    join: async (user, role) => {
      const path = `/v1/teams/${service.credentials.teamId}/members` as const
      const invited = await as(service.credentials.token!)('POST', path, { uid: user.id, role })
      const inviteCode = invited.body.inviteUrl.split('/').at(-1)
      await user.call('POST', `${path}/teams/join`, { inviteCode })
    },
    token: async (wanted) => {
      const body = { userId: service.credentials.userId, ...wanted }
      return as((await operator('POST', '/operator/v1/tokens', body)).body.token)
    },
    logged: () => lines.join(''),
    listen: () => service.app.listen({ host: '127.0.0.1', port: 0 }),
    stop: () => {
      // The next service is the only one that is connected to the store.
      if (stopped === undefined) store?.end()
      return stop()
    },
    close: async () => {
      await stop()
      await store?.release()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** A way to speak HTTP to a service, with this bearer token (or none). */
export function callerOf({ app }: Pick<Service, 'app'>, token: string | undefined): Call {
  return callOver(async (method, url, body, headers = {}) => {
    // A Blob brings its own type; all else is JSON.
    const payload = body instanceof Blob ? Buffer.from(await body.arrayBuffer()) : body
    const raw = typeof payload === 'string' || Buffer.isBuffer(payload)
    const answer = await app.inject({
      method,
      url,
      ...(body !== undefined && { payload: raw ? payload : JSON.stringify(payload) }),
      headers: {
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
        ...(body !== undefined && { 'content-type': body instanceof Blob ? body.type : 'application/json' }),
        ...headers,
      },
    })
    // JSON lines are not JSON.
    const json = /(?<!stream\+)json/.test(String(answer.headers['content-type'] ?? '')) && answer.payload !== ''
    return {
      status: answer.statusCode,
      headers: answer.headers,
      text: answer.payload,
      body: json ? JSON.parse(answer.payload) : undefined,
    }
  })
}

/** A store that is migrated and otherwise empty, as DATABASE_URL: a copy costs a tenth of the migrations. */
function migratedFile(folder: string): string {
  const file = join(folder, 'berth.db')
  copyFileSync(process.env.BERTH_TEST_SQLITE!, file)
  return `sqlite:${file}`
}

/** A new database with the newest schema, and without rows. */
export async function migratedDatabase(): Promise<string> {
  await dropUnused()
  return newDatabase(MIGRATED)
}

/** The store of a world of `onBothEngines`: of PostgreSQL one that worlds of its file had before it, where the settings say none. */
async function lendStore(engine: Engine, { DATABASE_URL }: Record<string, string>): Promise<Lent | undefined> {
  if (engine === 'sqlite' || DATABASE_URL !== undefined) return undefined
  return lendDatabase({ make: migratedDatabase, drop: (url) => void unused.push(url) })
}

/** A database that no other world has. */
async function ownDatabase(): Promise<Lent> {
  const url = await migratedDatabase()
  return { url, connect: openConnections, end: () => {}, release: async () => void unused.push(url) }
}

/** For the suite or file that registers the test. A hook per file would belong to its first suite only, and the rest of later ones would keep the process alive. */
function dropAfterwards(): void {
  after(() => dropKept((url) => void unused.push(url)))
}

/** A new database in the PostgreSQL of this test run: empty, or a copy of another one. */
export async function newDatabase(template?: string): Promise<string> {
  const name = `t${randomBytes(8).toString('hex')}`
  await askServer(`create database ${name}${template ? ` template ${template} strategy file_copy` : ''}`)
  return `${process.env.BERTH_TEST_POSTGRES}/${name}`
}

/** Databases of closed worlds. Their tests may still have connections: they are dropped when the next world opens. */
const unused: string[] = []

/** Hundreds of databases would fill the memory that they are in. */
async function dropUnused(): Promise<void> {
  for (const url of unused.splice(0)) await askServer(`drop database ${new URL(url).pathname.slice(1)} with (force)`)
}

/** The one connection of this process to the server of the run: opening one costs as much as a query on it. */
let server: Promise<pg.Client> | undefined
let asking = 0

async function askServer(statement: string): Promise<void> {
  server ??= openServer()
  const { connection } = (await server) as unknown as { connection: { stream: Socket } }
  // It ends with the process, and keeps the process alive only during a query.
  if (asking++ === 0) connection.stream.ref()
  try {
    await (await server).query(statement)
  } finally {
    if (--asking === 0) connection.stream.unref()
  }
}

async function openServer(): Promise<pg.Client> {
  const url = process.env.BERTH_TEST_POSTGRES
  if (url === undefined) throw new Error('run the tests with npm test: it starts the PostgreSQL they need')
  const client = new pg.Client({ connectionString: `${url}/postgres` })
  client.on('error', () => {
    server = undefined
  })
  await client.connect()
  return client
}
