/** The stores that are measured, each with the servers over it. */
import { mkdirSync } from 'node:fs'
import { Agent } from 'node:http'
import { join } from 'node:path'
import { openSqlite } from '../../src/platform/db/sqlite/open.ts'
import { send } from './ask.ts'
import { type Asked, fill } from './asked.ts'
import { CREATE, CROWD, PEER_CREATE, THOUSAND, VARIABLES } from './cases.ts'
import { type Server, startServer, stopServer } from './children.ts'
import { startService } from './measure.ts'
import type { Earlier } from './others.ts'
import { seedStore } from './seed.ts'

/** The server under load, and its authorization header, with placeholders. */
export type Opened = { server: Server; authorization: () => string }
export type Options = { folder: string; env: NodeJS.ProcessEnv; say: (line: string) => void }

const AT_ONCE = 50

/** Starts the service over a new store, and makes 1,000 projects with 10 variables each. `earlier`: the service as it was. */
export async function openThousand({ folder, env, say }: Options, earlier?: Earlier): Promise<Opened> {
  const data = join(folder, earlier ? 'earlier' : 'thousand')
  mkdirSync(data, { recursive: true })
  const service = await startService(earlier?.script ?? 'bin/berth.mjs', { ...env, BERTH_DATA: data }, earlier?.words)
  const opened = { server: service, authorization: () => `Bearer ${service.token}` }
  say(`${THOUSAND} projects with ${VARIABLES} variables each are made${earlier ? ' in the service as it was' : ''}`)
  await makeProjects(opened, '/v10/projects')
  return opened
}

/** Fills the peer as `openThousand` does the service. */
export async function fillPeer(server: Server, newNames: () => string): Promise<Opened> {
  const opened = { server, authorization: () => `Bearer ${newNames()}-{t}` }
  await makeProjects(opened, PEER_CREATE)
  return opened
}

/** Starts the service over 100,000 projects with 10 variables each, of 1,000 accounts. Embedded store only. */
export async function openCrowd({ folder, env, say }: Options): Promise<Opened> {
  const settings = { ...env, BERTH_DATA: join(folder, 'crowd') }
  await stopServer(await startService('bin/berth.mjs', settings))
  const onDiskError = (error: unknown) => {
    throw error
  }
  const db = await openSqlite({ file: join(settings.BERTH_DATA, 'berth.db'), onDiskError })
  const { projects, accounts } = CROWD
  await seedStore(db, { accounts, projectsEach: projects / accounts, variables: VARIABLES, hosts: false }, say)
  await db.close()
  const server = await startServer('bin/berth.mjs', settings)
  return { server, authorization: () => 'Bearer berth_{a}' }
}

async function makeProjects({ server, authorization }: Opened, path: string): Promise<void> {
  const environmentVariables = Array.from({ length: VARIABLES }, (_, at) => ({
    key: `VARIABLE_${at}`,
    value: `some-value-of-a-variable-of-usual-length-${at}`,
    type: 'encrypted',
    target: ['production'],
  }))
  const body = JSON.stringify({ name: 'seeded-project-{i}', environmentVariables })
  await makeAll(server, { method: 'POST', path, headers: { authorization: authorization() }, body }, THOUSAND)
}

/** Makes projects `<names>-00000000` and so on. */
export async function makeEmpty({ server, authorization }: Opened, names: string, count: number): Promise<void> {
  await makeAll(server, { ...CREATE(names), headers: { authorization: authorization() } }, count)
}

async function makeAll({ origin }: Server, asked: Asked, count: number): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE })
  const numbers = Array.from({ length: count }, (_, i) => i)
  const answers = await Promise.all(numbers.map((i) => send(origin, fill(asked, i), agent)))
  agent.destroy()
  const refused = answers.find(({ status }) => status !== 200)
  if (refused) throw new Error(`no project could be made: ${refused.status} ${refused.body}`)
}
